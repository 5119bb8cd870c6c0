import { needsUndici } from './needs-undici.ts';

/** Stands in for `undici.ts` in the CommonJS build, which cannot wait at the top of a module. */
function load(): typeof import('undici') {
  try {
    return require('undici');
  } catch (cause) {
    throw needsUndici(cause);
  }
}

export const { Agent } = load();
