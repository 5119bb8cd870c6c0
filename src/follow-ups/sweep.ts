import { ClosedError, ConfigurationError, JournalError } from '../errors.ts';
import { digestService } from '../idempotency/fingerprint.ts';
import type { FollowUpRecord } from '../journal/journal.ts';
import { MAX_DUE_IN } from '../journal/store.ts';
import { MAX_TIMEOUT_MS } from '../max-timeout.ts';
import { validateSignal } from '../resolve-options.ts';
import { refuseUnknownOption } from '../unknown-option.ts';
import { isPlainObject } from '../untrusted.ts';
import { HeldRecord, withJournalTimeout } from './held-record.ts';
import type { FollowUpContext } from './options.ts';
import { getSlowPause } from './plan.ts';
import { concernsClient, describeError, report, takeStep } from './step.ts';

/** The options of `sweep`. */
export interface SweepOptions {
  /**
   * How long the sweep takes at most, in milliseconds: less than your cron job or serverless function can run. What is not
   * done by then is due in the next sweep. Handlers that were called are waited for, however long they take.
   *
   * @default until nothing is due
   */
  budget?: number | undefined;
  /**
   * Ends the sweep. It rejects with the signal's reason, once the handlers that were called have ended.
   *
   * @default none
   */
  signal?: AbortSignal | undefined;
}

/** What a sweep did, and what is left. */
export interface SweepResult {
  /** How many checks were made. */
  readonly checked: number;
  /** How many payments became final. */
  readonly final: number;
  /** How many payments are still due now. */
  readonly due: number;
  /** When the next payment is due, in milliseconds since 1970. `null` if there is none. */
  readonly nextAt: number | null;
}

const SWEEP_OPTIONS: Readonly<Record<keyof SweepOptions, true>> = { budget: true, signal: true };

/** @throws {ConfigurationError} if an option is unknown or cannot work. */
export function validateSweepOptions(options: SweepOptions): SweepOptions {
  if (!isPlainObject(options))
    throw new ConfigurationError('sweep takes an object, such as { budget: 20_000 }.');
  const { budget, signal, ...others } = options;
  refuseUnknownOption(others, SWEEP_OPTIONS);
  if (budget !== undefined && !(typeof budget === 'number' && budget > 0 && budget <= MAX_TIMEOUT_MS))
    throw new ConfigurationError('budget must be milliseconds, more than 0 and under 2^31.');
  return { budget, signal: validateSignal(signal) };
}

/** Records are held for this much longer than one check can take, in milliseconds. */
const LEASE_MARGIN = 10_000;

/** So many handlers can run, or hang, besides the checks: then no more records are claimed. */
const MAX_HANDLERS = 64;

/** While handlers run, what becomes due is claimed this often, in milliseconds. */
const CLAIM_INTERVAL = 1_000;

/** The last part of the budget is for what is in flight: at most this many milliseconds, and at most a fifth. */
const MAX_RESERVE = 3_000;

/** One sweep: it claims what is due, page by page, and does what is due for each record. */
export class Sweep {
  readonly #context: FollowUpContext;
  readonly #lease: number;
  readonly #stop = new AbortController();
  readonly #tally = { checked: 0, read: 0, final: 0 };
  readonly #steps = new Set<Promise<void>>();
  /** How many of the records might still be checked. */
  #checking = 0;
  #isEnding = false;
  #failure: { readonly error: unknown } | undefined;
  #service: Promise<string> | undefined;
  #onChange = () => {};

  constructor(context: FollowUpContext) {
    this.#context = context;
    this.#lease = Math.min(context.access.timeout + LEASE_MARGIN, MAX_DUE_IN);
  }

  async run({ budget, signal }: SweepOptions): Promise<SweepResult> {
    const { closing } = this.#context.access;
    signal?.throwIfAborted();
    if (closing.aborted) throw new ClosedError('verify');
    const onAbort = () => this.#fail(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const timers = budget === undefined ? [] : this.#setTimers(budget);
    try {
      await this.#claimAll();
    } catch (error) {
      this.#fail(error);
    } finally {
      await Promise.all(this.#steps);
      for (const timer of timers) clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
    if (this.#failure) throw this.#failure.error;
    return await this.#createResult();
  }

  #setTimers(budget: number) {
    return [
      setTimeout(() => this.#end(), budget - Math.min(MAX_RESERVE, budget / 5)),
      setTimeout(() => this.#abort(OUT_OF_BUDGET), budget),
    ];
  }

  /** Claims no more. */
  #end(): void {
    this.#isEnding = true;
    this.#onChange();
  }

  /** Ends the checks in flight too. */
  #abort(reason: unknown): void {
    this.#stop.abort(reason);
    this.#end();
  }

  /** The first failure is what the sweep rejects with. */
  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#abort(error);
  }

  async #claimAll(): Promise<void> {
    const minPage = Math.ceil(this.#context.access.maxConcurrency / 2);
    while (!this.#isEnding) {
      const limit = this.#getRoom();
      const claimed = limit > 0 ? await this.#claimPage(limit) : 0;
      if (claimed === 0 && this.#steps.size === 0) return;
      // A short page: nothing more is due for now.
      const isMoreDue = claimed === limit;
      await this.#waitUntil(() => this.#steps.size === 0 || (isMoreDue && this.#getRoom() >= minPage));
    }
  }

  /** Returns how many records can be claimed now: enough for the checks, however many handlers run. */
  #getRoom(): number {
    const { maxConcurrency } = this.#context.access;
    return Math.min(maxConcurrency - this.#checking, maxConcurrency + MAX_HANDLERS - this.#steps.size);
  }

  async #waitUntil(isSo: () => boolean): Promise<void> {
    let isLate = false;
    while (!(isSo() || isLate || this.#isEnding)) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => {
          isLate = true;
          resolve();
        }, CLAIM_INTERVAL);
        this.#onChange = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#onChange = () => {};
  }

  /** Claims due records and starts a step for each. Returns how many there were. */
  async #claimPage(limit: number): Promise<number> {
    const { access, journal, heldKeys } = this.#context;
    let unreadable: readonly string[] = [];
    const onUnreadable = (keys: readonly string[]) => {
      unreadable = keys;
    };
    const claim = { limit, lease: this.#lease, onUnreadable };
    const records = await withJournalTimeout(() => journal.followUps.claimDue(claim));
    // A step in progress makes its record due again when it ends.
    for (const found of records) if (!heldKeys.has(found.key)) this.#startStep(found);
    for (const key of unreadable)
      access.report({ type: 'follow_up', result: 'unreadable', idempotencyKey: access.redactId(key) });
    return records.length + unreadable.length;
  }

  #startStep(found: FollowUpRecord): void {
    const { heldKeys } = this.#context;
    heldKeys.add(found.key);
    this.#checking += 1;
    let isChecking = true;
    const onChecked = () => {
      if (!isChecking) return;
      isChecking = false;
      this.#checking -= 1;
      this.#onChange();
    };
    const step = this.#runStep(found, onChecked).finally(() => {
      this.#steps.delete(step);
      heldKeys.delete(found.key);
      onChecked();
      this.#onChange();
    });
    this.#steps.add(step);
  }

  /** Does what is due for one record. It resolves in every case: one record must not end the others. */
  async #runStep(found: FollowUpRecord, onChecked: () => void): Promise<void> {
    const held = new HeldRecord(this.#context.journal.followUps, found, this.#lease);
    try {
      const service = await this.#getService();
      this.#stop.signal.throwIfAborted();
      const stop = this.#stop.signal;
      await takeStep(held, { ...this.#context, service, stop, tally: this.#tally, onChecked });
    } catch (error) {
      await this.#handleError(held, error);
    } finally {
      held.release();
    }
  }

  async #handleError(held: HeldRecord, error: unknown): Promise<void> {
    if (error instanceof JournalError) {
      // What is in flight might still be recorded.
      this.#failure ??= { error };
      this.#end();
    } else if (concernsClient(error)) {
      this.#fail(error);
      await held.giveBack();
    } else if (this.#stop.signal.aborted) {
      await held.giveBack();
    } else {
      report(held, this.#context, { result: 'failed', error: describeError(error) });
      await held.finish(held.followUp, getSlowPause(1, Math.random())).catch(() => {});
    }
  }

  /** Asks for the API key only if anything is due. */
  #getService(): Promise<string> {
    const { baseUrl, resolveMode } = this.#context.access;
    this.#service ??= resolveMode(this.#stop.signal).then((mode) => digestService(baseUrl, mode));
    return this.#service;
  }

  async #createResult(): Promise<SweepResult> {
    const { checked, final } = this.#tally;
    const { due, nextIn } = await withJournalTimeout(() => this.#context.journal.followUps.countDue());
    const wait = due > 0 ? 0 : nextIn;
    return { checked, final, due, nextAt: wait === null ? null : Math.ceil(Date.now() + wait) };
  }
}

const OUT_OF_BUDGET = new Error('The budget of the sweep is used up.');
