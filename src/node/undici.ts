import { needsUndici } from './needs-undici.ts';

/** A static import could not be caught. `undici-commonjs.ts` is the twin of this for `require`. */
export const { Agent } = await import('undici').catch((cause: unknown) => {
  throw needsUndici(cause);
});
