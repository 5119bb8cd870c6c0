/**
 * Lets the event loop take in what has happened to idle connections meanwhile. A process that was busy or frozen (a
 * function between two calls) learns only then that the service has closed one; a charge written to it before that
 * could not be told from a charge that arrived.
 *
 * A message channel, because a test's fake timers would never let a timer end.
 */
export function noticeClosedConnections(): Promise<void> {
  if (typeof MessageChannel === 'undefined') return Promise.resolve();
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
