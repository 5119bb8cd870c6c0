/** MSW, or why it could not be loaded. It is optional, and only `import` can load it: MSW 3 has nothing but ES modules. */
const loaded = await import('msw').catch((error: unknown) => ({ error }));

/** Returns MSW. The CommonJS build has `msw-commonjs.ts` in place of this file. */
export function loadMsw(): typeof import('msw') {
  if ('error' in loaded) throw loaded.error;
  return loaded;
}
