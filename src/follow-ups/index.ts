/**
 * Follows each payment of a journal until its status is final: through restarts, from cron, from serverless functions, in
 * any number of processes.
 *
 * @module payment-collection-client/follow-ups
 */

import { ConfigurationError } from '../errors.ts';
import { validateSignal } from '../resolve-options.ts';
import { refuseUnknownOption } from '../unknown-option.ts';
import { isPlainObject } from '../untrusted.ts';
import { notifyFollowUps } from './notify.ts';
import { type FollowUpsOptions, resolveFollowUpsOptions } from './options.ts';
import { runSweeps, Sleeps } from './run.ts';
import { Sweep, type SweepOptions, type SweepResult, validateSweepOptions } from './sweep.ts';

export type { AttentionReason, FollowUpEvent } from '../events.ts';
export type { FinalPayment, FollowUpsOptions, PaymentAttention } from './options.ts';
export type { SweepOptions, SweepResult } from './sweep.ts';

/** The follow-ups of one client: see {@link createFollowUps}. */
export interface FollowUps {
  /**
   * Checks every payment that is due, and calls the handlers: from cron, a job, or a serverless function. Any number can run
   * at the same time: each payment is checked by one of them.
   *
   * @throws {AuthenticationError} if the service refuses the API key. The payments stay due.
   * @throws {PermissionError} if the service allows no check. The payments stay due.
   * @throws {ConfigurationError} if an option cannot work, or if the store of the journal has no `claimDue`.
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
   * with the result `paused`. It resolves after `signal` was aborted, once the handlers that were called have ended.
   *
   * @throws {ConfigurationError} if an option cannot work, or if the store of the journal has no `claimDue`.
   * @throws {ClosedError} once the client is closed.
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
   * Makes a payment due now: a webhook arrived, in whichever process. The notification is never believed, so anyone can send
   * one. It causes at most one extra check per second and reference. It wakes `run` and the waits of this process. It never
   * rejects: an error of the journal is an event `follow_up` with the result `failed`.
   */
  notify(reference: string): Promise<void>;
}

/** The options of `run`. */
export interface RunOptions {
  /** Ends the run. @default none: it ends with the client */
  signal?: AbortSignal | undefined;
}

/**
 * Creates the follow-ups of a client: each payment that was made under an `idempotencyKey` is checked until its status is
 * final. It is followed from the moment its charge is recorded, so no crash falls in between.
 *
 * @throws {ConfigurationError} if an option is unknown or cannot work.
 *
 * @example
 * ```ts
 * const journal = postgresJournal(pool);
 * const payments = new PaymentsClient({ journal });
 * const followUps = createFollowUps({
 *   payments,
 *   journal,
 *   onFinal: ({ key, transaction }) => orders.settle(key, transaction.status),
 *   onAttention: ({ key, reason }) => alert(`payment ${key}: ${reason}`),
 * });
 * await followUps.sweep({ budget: 20_000 });
 * ```
 */
export function createFollowUps(options: FollowUpsOptions): FollowUps {
  const context = resolveFollowUpsOptions(options);
  const { payments } = options;
  const sleeps = new Sleeps();
  return {
    sweep: async (sweepOptions = {}) => new Sweep(context).run(validateSweepOptions(sweepOptions)),
    run: async (runOptions = {}) => runSweeps(context, validateRunOptions(runOptions), sleeps),
    async notify(reference) {
      payments.notify(reference);
      const dueIn = await notifyFollowUps(context, reference);
      if (dueIn !== null) sleeps.wakeIn(dueIn);
    },
  };
}

const RUN_OPTIONS: Readonly<Record<keyof RunOptions, true>> = { signal: true };

/** @throws {ConfigurationError} if an option is unknown or cannot work. */
function validateRunOptions(options: RunOptions): AbortSignal | undefined {
  if (!isPlainObject(options)) throw new ConfigurationError('run takes an object, such as { signal }.');
  const { signal, ...others } = options;
  refuseUnknownOption(others, RUN_OPTIONS);
  return validateSignal(signal);
}
