import { needsMsw } from './needs-msw.ts';

/** A static import could not be caught. `msw-commonjs.ts` is the twin of this for `require`. */
export const { http } = await import('msw').catch((cause: unknown) => {
  throw needsMsw(cause);
});
