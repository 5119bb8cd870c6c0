/**
 * Lets the event loop take in what has happened to idle connections meanwhile. A process that was busy or frozen (a
 * function between two calls) learns only then that the service has closed one; a charge written to it before that
 * could not be told from a charge that arrived.
 *
 * Two turns: in the first, the message itself may be ahead of that news, where the caller goes on from a file, a name
 * look-up or another message.
 */
export async function flushSocketCloses(): Promise<void> {
  if (typeof MessageChannel === 'undefined') return;
  await nextTurn();
  await nextTurn();
}

/**
 * A message channel, because a test's fake timers would never let a timer end. A new one each time, because a message
 * to a port that is just being served would still come in the same turn.
 */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
