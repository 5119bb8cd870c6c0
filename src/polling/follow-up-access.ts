import type { Transaction } from '../api/transaction.ts';
import type { Report } from '../events.ts';
import { resolveApiKey } from '../http/attempt.ts';
import type { Journal } from '../journal/journal.ts';
import type { Mode, PollingRules, ResolvedOptions } from '../options.ts';
import { detectMode } from '../resolve-options.ts';
import type { Poller } from './poller.ts';
import { resolveWait } from './resolve-wait.ts';

/** The same symbol in an ES module and in CommonJS. */
export const FOLLOW_UP_ACCESS: unique symbol = Symbol.for('payment-collection-client/follow-ups');

/** What `payment-collection-client/follow-ups` uses of a client, and nothing more. */
export interface FollowUpAccess {
  /** Of this interface: follow-ups of another version of the package refuse it. */
  readonly version: 1;
  readonly journal: Journal | undefined;
  readonly baseUrl: string;
  readonly rules: PollingRules;
  readonly maxConcurrency: number;
  /** How long one check can take, in milliseconds. */
  readonly timeout: number;
  readonly report: Report;
  /** Redacts the API key in a key, a reference or another id. */
  readonly redactId: (id: string) => string;
  /** Aborted when the client is closed. */
  readonly closing: AbortSignal;
  /** Returns the mode of the API key. */
  resolveMode(signal: AbortSignal): Promise<Mode>;
  /**
   * Checks once, within the limits of the client. Waits on the same reference share the check. It rejects with the error
   * of the check, also with a temporary one, and with the reason of `signal`.
   */
  check(reference: string, options: CheckOptions): Promise<CheckedTransaction>;
}

/** @throws {TransactionMismatchError} if the transaction is not as `expect` says, whatever its status. */
interface CheckOptions {
  readonly expect: { amount: string; currency: string };
  readonly signal: AbortSignal;
}

/** What one check returned. */
export interface CheckedTransaction {
  readonly transaction: Transaction;
  /** In milliseconds. */
  readonly retryAfter: number | undefined;
}

export function createFollowUpAccess(
  client: ResolvedOptions,
  poller: Poller,
  closing: AbortSignal,
): FollowUpAccess {
  const { journal, baseUrl, polling, timeout, report, redactReference } = client;
  const { rules, maxConcurrency } = polling;
  return {
    version: 1,
    journal,
    baseUrl,
    rules,
    maxConcurrency,
    timeout,
    report,
    redactId: redactReference,
    closing,
    resolveMode: async (signal) => detectMode(await resolveApiKey(client, 'verify', { timeout, signal })),
    check: (reference, options) =>
      new Promise((resolve) => {
        // The sweep bounds the time: the limits of the client can hold a check back for long.
        const wait = resolveWait(reference, { ...options, timeout: Number.POSITIVE_INFINITY }, rules);
        poller.add({ ...wait, until: 'response' }, (transaction, retryAfter) => {
          resolve(transaction instanceof Promise ? transaction : { transaction, retryAfter });
        });
      }),
  };
}
