/**
 * Follows each payment of a journal until its status is final: through restarts, from cron, from serverless functions, in
 * any number of processes.
 *
 * @module payment-collection-client/follow-ups
 */

import { type FollowUpsOptions, validateFollowUpsOptions } from './options.ts';
import type { SweepOptions, SweepResult } from './sweep.ts';
import { createSweeper, type RunOptions } from './sweeper.ts';

export type { FollowUpEvent } from '../events.ts';
export type { AttentionReason } from '../ledger/order.ts';
export type { FinalPayment, FollowUpsOptions, PaymentAttention } from './options.ts';
export type { SweepOptions, SweepResult } from './sweep.ts';
export type { RunOptions } from './sweeper.ts';

/** The follow-ups of one client: see {@link createFollowUps}. */
export interface FollowUps {
  /**
   * Checks every payment that is due, and calls the handlers: from cron, a job, or a serverless function. Any number can run
   * at the same time: each payment is checked by one of them.
   *
   * @throws {AuthenticationError} if the service refuses the API key. The payments stay due.
   * @throws {PermissionError} if the service allows no check. They are made again after a pause.
   * @throws {ConfigurationError} if an option cannot work, your `apiKey` function fails, or the store has no `claimDue`.
   * @throws {JournalError} if the journal failed. What was not recorded is done again.
   * @throws {ClosedError} if the client is closed.
   *
   * @example
   * ```ts
   * const { due } = await followUps.sweep({ budget: 20_000 });
   * if (due > 0) console.warn(`${due} payments are still due`);
   * ```
   */
  sweep(options?: SweepOptions): Promise<SweepResult>;
  /**
   * Sweeps for as long as the process runs, whenever a payment is due. It survives errors: each is an event `follow_up`
   * with the result `paused`. It resolves after `signal` was aborted or the client closed, once the handlers that were
   * called have ended.
   *
   * @throws {ConfigurationError} if an option cannot work, or if the store of the journal has no `claimDue`.
   *
   * @example
   * ```ts
   * const stop = new AbortController();
   * process.once('SIGTERM', () => stop.abort());
   * await followUps.run({ signal: stop.signal });
   * ```
   */
  run(options?: RunOptions): Promise<void>;
  /**
   * Makes a payment due now: a webhook arrived, in whichever process. It takes a reference, or the body of the webhook, parsed
   * or raw (text or bytes), of any form: the first ten references in it count. The notification is never believed, so
   * anyone can send one. It causes at most one extra check per second and reference. A payment that ended, was given up or was
   * closed is checked too. It wakes `run` and the waits of this process. A body without a reference is written to `logger`, or with
   * `console.error`, once. It never rejects: an error of the journal is an event `follow_up` with the result `failed`.
   */
  notify(referenceOrBody: unknown): Promise<void>;
}

/**
 * Creates the follow-ups of a client: each payment that was made under an `idempotencyKey` is checked until its status is
 * final. It is followed from the moment its charge is recorded, so no crash falls in between.
 *
 * @throws {ConfigurationError} if an option is unknown or cannot work.
 *
 * @example
 * ```ts
 * import { Pool } from 'pg';
 *
 * const journal = postgresJournal(new Pool());
 * const payments = new PaymentsClient({ journal });
 * const followUps = createFollowUps({
 *   payments,
 *   journal,
 *   onFinal: ({ key, transaction }) => console.log(key, transaction.status),
 *   onAttention: ({ key, reason }) => console.error(`ALERT: ${key} is ${reason}`),
 * });
 * await followUps.sweep({ budget: 20_000 });
 * ```
 */
export function createFollowUps(options: FollowUpsOptions): FollowUps {
  const { payments, journal, onFinal, onAttention } = validateFollowUpsOptions(options);
  return createSweeper({
    kind: 'key',
    payments,
    journal,
    findHandler: ({ handler, name: { id: key }, what, reference, transaction }) => {
      if (handler === 'onFinal')
        return reference === undefined || !transaction
          ? undefined
          : () => onFinal({ key, reference, transaction });
      if (what === undefined || what === 'success' || what === 'ended') return undefined;
      return () => onAttention({ key, ...(reference !== undefined && { reference }), reason: what });
    },
  });
}
