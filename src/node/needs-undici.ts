/** What a failed import of undici says. Node's own error tells where it was missed, not what to do. */
export function needsUndici(cause: unknown): Error {
  const message =
    'payment-collection-client/node needs undici, which could not be loaded. Install it: npm install undici';
  return new Error(message, { cause });
}
