/** Every step of a journal on its store goes through here: its time limit, and what its errors become. */

import { ConfigurationError, JournalError } from '../errors.ts';
import { MAX_TIMEOUT_MS } from '../support/max-timeout.ts';
import { redactUnknownSecrets } from '../support/redact.ts';
import { sanitizeError } from '../support/sanitize-error.ts';
import { CallerAborted, DeadlineExceeded, withDeadline } from '../support/timing.ts';
import type { JournalStore } from './store.ts';

/**
 * How long a step is waited for, in milliseconds. It is less than 15 s, because a call that a step has failed can still have
 * to record that, and to read the order.
 */
export const JOURNAL_TIMEOUT = 11_000;

/** The limit after a step that hung, until any step of the store ends: the next one would most likely hang too. */
const TIMEOUT_AFTER_HANG = 1_000;

const hungStores = new WeakSet<JournalStore>();

const lateResults = new WeakMap<object, Promise<unknown>>();

/** Returns what the step that hung returns after all; `undefined` if the error is another one. */
export const getLateResult = (error: unknown) => lateResults.get(Object(error));

/** Runs a step of the store. @throws {JournalError} whatever else the store throws, and if it takes too long */
export async function callStore<T>(
  store: JournalStore,
  step: 'read' | 'written' | 'listed' | 'counted',
  run: () => Promise<T>,
): Promise<T> {
  const timeout = hungStores.has(store) ? TIMEOUT_AFTER_HANG : JOURNAL_TIMEOUT;
  const running = (async () => {
    try {
      return await run();
    } finally {
      hungStores.delete(store);
    }
  })();
  try {
    return await withDeadline(timeout, undefined, () => running);
  } catch (error) {
    if (error instanceof JournalError || error instanceof ConfigurationError) throw error;
    if (error instanceof DeadlineExceeded) {
      hungStores.add(store);
      const message = `The journal could not be ${step} (no response within ${timeout} ms).`;
      const hung = new JournalError(message, { retryable: true });
      lateResults.set(hung, running);
      throw hung;
    }
    const cause: Error & { code?: unknown } = sanitizeError(error, redactUnknownSecrets);
    // An AggregateError, of a name with several addresses, has no message.
    const reason = cause.message || cause.code || cause.name;
    throw new JournalError(`The journal could not be ${step} (${reason}).`, { cause, retryable: true });
  }
}

/** How long some steps of the journal are waited for, beside the limit that each of them has. */
export interface JournalWait {
  /** In milliseconds. */
  timeout?: number | undefined;
  end?: AbortSignal | undefined;
}

/**
 * Waits for some steps of the journal. It rejects with the reason of `end` once that is aborted, and what is under way ends by
 * itself.
 *
 * @throws {JournalError} if they take longer than `timeout`.
 */
export async function waitForJournal<T>(
  steps: () => Promise<T>,
  { timeout = Number.POSITIVE_INFINITY, end }: JournalWait,
): Promise<T> {
  try {
    return await withDeadline(Math.min(timeout, MAX_TIMEOUT_MS), end, steps);
  } catch (error) {
    if (error instanceof CallerAborted) throw error.reason;
    if (!(error instanceof DeadlineExceeded)) throw error;
    throw new JournalError(`The journal did not respond within ${timeout} ms. Try again.`, {
      operation: 'verify',
      retryable: true,
    });
  }
}
