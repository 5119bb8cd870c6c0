/** What a failed import of MSW says. Node's own error tells where it was missed, not what to do. */
export function needsMsw(cause: unknown): Error {
  const message =
    'payment-collection-client/testing needs MSW, which could not be loaded. Install it: npm install --save-dev msw';
  return new Error(message, { cause });
}
