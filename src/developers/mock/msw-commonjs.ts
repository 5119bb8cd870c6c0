/**
 * Returns MSW, for the CommonJS build. It is loaded only when it is needed: Jest cannot require an ES module without an
 * option of Node.
 */
export function loadMsw(): typeof import('msw') {
  return require('msw');
}
