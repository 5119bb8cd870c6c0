import { nextTurn } from '../timing.ts';

/**
 * Lets the event loop process the closes of idle connections, before a charge is written to one of them.
 *
 * A process that was busy or frozen (a function between two calls) notices only then that the service has closed a
 * connection. A charge written to it before could not be distinguished from a charge that arrived.
 *
 * It takes two turns. In the first, the message itself can be ahead of the close, if the caller continues from a file, a
 * name lookup or another message.
 */
export async function flushSocketCloses(): Promise<void> {
  await nextTurn();
  await nextTurn();
}
