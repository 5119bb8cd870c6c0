import { needsMsw } from './needs-msw.ts';

/** Stands in for `msw.ts` in the CommonJS build, which cannot wait at the top of a module. */
function load(): typeof import('msw') {
  try {
    return require('msw');
  } catch (cause) {
    throw needsMsw(cause);
  }
}

export const { http } = load();
