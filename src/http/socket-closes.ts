import { nextTurn } from '../support/timing.ts';

/**
 * Lets the event loop process the closes of idle connections, before a charge is written to one of them.
 *
 * A process that was busy or frozen (a function between two calls) notices only then that the service has closed a
 * connection. A charge written to it before could not be distinguished from a charge that arrived.
 *
 * It takes two whole turns, so three ends of one. In the first, the caller's own event can be ahead of the close, if it continues
 * from a file, a name lookup or a message. A socket that was found closed is destroyed at the end of a turn.
 */
export async function flushSocketCloses(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await nextTurn();
}
