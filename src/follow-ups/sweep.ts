import * as z from 'zod/mini';
import { ClosedError, JournalError } from '../errors.ts';
import { concernsClient } from '../idempotency/check.ts';
import { resolveOrigin } from '../idempotency/claim.ts';
import { waitForJournal } from '../journal/call-store.ts';
import { parseStoreKey } from '../journal/names.ts';
import { MAX_DUE_IN } from '../journal/store.ts';
import { getPause } from '../ledger/check.ts';
import { MAX_TIMEOUT_MS } from '../max-timeout.ts';
import { type OptionsShape, optionalNumber, optionalSignal, parseOptions } from '../parse-options.ts';
import { withDeadline } from '../timing.ts';
import {
  type DueRecord,
  postpone,
  report,
  type StepContext,
  type SweepContext,
  summarizeError,
  takeStep,
} from './step.ts';

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

const sweepOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    budget: optionalNumber(
      (budget) => budget > 0 && budget <= MAX_TIMEOUT_MS,
      'budget must be milliseconds, more than 0 and under 2^31.',
    ),
    signal: optionalSignal,
  } satisfies OptionsShape<SweepOptions>))();

/** @throws {ConfigurationError} if an option is unknown or cannot work. */
export function validateSweepOptions(options: SweepOptions): SweepOptions {
  return parseOptions(sweepOptionsSchema, options, {
    notAnObject: 'sweep takes an object, such as { budget: 20_000 }.',
  });
}

/** Records are held for this much longer than one check can take, in milliseconds. */
const LEASE_MARGIN = 10_000;

/** So many handlers run at once. Others wait for them, and checks do not. */
const MAX_HANDLERS = 64;

/** A handler that has not settled after this many milliseconds is reported, and holds back nothing any more. */
const SLOW_HANDLER = 60_000;

/** So many records can wait for handlers in a process: then no more are claimed, because each takes memory. */
const MAX_HELD = 1_000;

/** How long what a check found waits for that of others before it is recorded, in milliseconds: they share one commit then. */
const GROUP_WAIT = 10;

/** While handlers run, what becomes due is claimed this often, in milliseconds. */
const CLAIM_INTERVAL = 1_000;

/** The last part of the budget is for what is in flight: at most this many milliseconds, and at most a fifth. */
const MAX_RESERVE = 3_000;

/** The last part of that is for the journal, after checks in flight were cut off. */
const JOURNAL_SHARE = 0.1;

/** How long the journal is waited for after an abort, or after handlers that took longer than the budget, in milliseconds. */
const LATE_JOURNAL_TIMEOUT = 1_000;

interface SweepRules extends SweepOptions {
  /** Whether the sweep ends without the handlers that have not settled for a minute. @default false */
  leavesSlowSteps?: boolean | undefined;
}

/** One sweep: it claims what is due, page by page, and does what is due for each record. */
export class Sweep {
  readonly #context: SweepContext;
  readonly #lease: number;
  /** Aborted when no further check must begin. */
  readonly #ending = new AbortController();
  /** Aborted when the checks in flight are cut off. */
  readonly #stop = new AbortController();
  /** Aborted when the budget is used up, and soon after an abort: the journal is not waited for any more. */
  readonly #over = new AbortController();
  readonly #tally = { checked: 0, read: 0, final: 0 };
  /** Every step of this sweep, and those of them that can hold it back. */
  readonly #steps = new Set<Promise<void>>();
  readonly #quickSteps = new Set<Promise<void>>();
  readonly #handlers = new Set<Promise<unknown>>();
  /** How many of the records might still be checked. */
  #checking = 0;
  /** How many checks that were refused with a 403 wait until it is known whether any payment can be read. */
  #denied = 0;
  #failure: { readonly error: unknown } | undefined;
  #service: Promise<string> | undefined;
  #calling = 0;
  /** The handlers that wait until others have settled. */
  #queued: (() => void)[] = [];
  #waiters: (() => void)[] = [];
  /** The steps that are about to record what they found, and when they do at the latest. */
  #group: (() => void)[] = [];
  #groupTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(context: SweepContext) {
    this.#context = context;
    this.#lease = Math.min(context.access.client.timeout + LEASE_MARGIN, MAX_DUE_IN);
  }

  async run({ budget, signal, leavesSlowSteps = false }: SweepRules): Promise<SweepResult> {
    const { closing } = this.#context.access;
    signal?.throwIfAborted();
    if (closing.aborted) throw new ClosedError('verify');
    const timers = budget === undefined ? [] : this.#setTimers(budget);
    const onAbort = () => {
      this.#fail(signal?.reason);
      // What is in flight is given back meanwhile.
      timers.push(setTimeout(() => this.#over.abort(signal?.reason), LATE_JOURNAL_TIMEOUT));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await this.#claimAll();
    } catch (error) {
      this.#fail(error);
    }
    await this.#waitForSteps(leavesSlowSteps);
    try {
      if (this.#failure) throw this.#failure.error;
      return await this.#createResult();
    } finally {
      signal?.removeEventListener('abort', onAbort);
      for (const timer of timers) clearTimeout(timer);
    }
  }

  #setTimers(budget: number) {
    const reserve = Math.min(MAX_RESERVE, budget / 5);
    return [
      setTimeout(() => this.#end(), budget - reserve),
      setTimeout(() => this.#abort(OUT_OF_BUDGET), budget - reserve * JOURNAL_SHARE),
      setTimeout(() => this.#over.abort(createTooSlowError()), budget),
    ];
  }

  /** Claims no more. What waits at a limit of the client is not sent. */
  #end(): void {
    this.#ending.abort(OUT_OF_BUDGET);
    this.#closeGroup();
    this.#onChange();
  }

  /** Ends the checks in flight too. */
  #abort(reason: unknown): void {
    this.#stop.abort(reason);
    for (const go of this.#queued.splice(0)) go();
    this.#end();
  }

  /** The first failure is what the sweep rejects with. */
  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#abort(error);
  }

  async #claimAll(): Promise<void> {
    const minPage = Math.ceil(this.#maxConcurrency / 2);
    while (!this.#ending.signal.aborted) {
      // The checks in flight decide whether a 403 is about one payment, or about the client.
      const limit = this.#denied > 0 ? 0 : this.#getRoom();
      const claimed = limit > 0 ? await this.#claimPage(limit) : 0;
      if (claimed === 0 && this.#quickSteps.size === 0) return;
      // A short page: nothing more is due for now.
      const isMoreDue = claimed === limit;
      await this.#waitUntil(() => this.#quickSteps.size === 0 || (isMoreDue && this.#getRoom() >= minPage));
    }
  }

  async #isDenied(): Promise<boolean> {
    this.#denied += 1;
    while (this.#tally.read === 0 && this.#checking > 0) await this.#nextChange();
    this.#denied -= 1;
    return this.#tally.read === 0;
  }

  get #maxConcurrency(): number {
    return this.#context.access.client.polling.maxConcurrency;
  }

  /** Returns how many records can be claimed now: enough for the checks, however many handlers run. */
  #getRoom(): number {
    // The next ones are claimed while the last ones are checked.
    const isBusy = this.#checking > this.#maxConcurrency / 2;
    return isBusy || this.#context.heldKeys.size >= MAX_HELD ? 0 : this.#maxConcurrency;
  }

  async #waitUntil(isSo: () => boolean): Promise<void> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#onChange();
    }, CLAIM_INTERVAL);
    while (!(isSo() || isLate || this.#ending.signal.aborted)) await this.#nextChange();
    clearTimeout(timer);
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
    });
  }

  #onChange(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }

  /** Waits for what was begun. Once the budget is used up, only for the handlers that were called. */
  async #waitForSteps(leavesSlowSteps: boolean): Promise<void> {
    const { signal } = this.#over;
    signal.addEventListener('abort', () => this.#onChange(), { once: true });
    const steps = leavesSlowSteps ? this.#quickSteps : this.#steps;
    while (steps.size > 0 && !signal.aborted) await this.#nextChange();
    if (steps.size === 0) return;
    const hadHandlers = this.#handlers.size > 0;
    while (this.#handlers.size > 0) await Promise.all(this.#handlers);
    // Their success is still to be recorded.
    const recorded = () => Promise.all(steps);
    if (hadHandlers) await withDeadline(LATE_JOURNAL_TIMEOUT, undefined, recorded).catch(() => {});
    if (steps.size > 0) this.#failure ??= { error: signal.reason };
  }

  /** Claims due records and starts a step for each. Returns how many there were. */
  async #claimPage(limit: number): Promise<number> {
    const { access, kind, records, heldKeys } = this.#context;
    const claimed = await this.#useJournal(() => records.claimDue({ kind, limit, lease: this.#lease }));
    for (const { key, found } of claimed) {
      // A step in progress makes its record due again when it ends.
      if (found && !heldKeys.has(key)) this.#startStep(key, found);
      const idempotencyKey = access.client.redactReference(parseStoreKey(key)?.id ?? key);
      if (!found) access.client.report({ type: 'follow_up', result: 'unreadable', idempotencyKey });
    }
    return claimed.length;
  }

  /** Resolves shortly, for all steps that wait at once; while no check is in flight, now. */
  #joinGroup(): Promise<void> {
    return new Promise((resolve) => {
      this.#group.push(resolve);
      if (this.#checking === 0 || this.#ending.signal.aborted) this.#closeGroup();
      else this.#groupTimer ??= setTimeout(() => this.#closeGroup(), GROUP_WAIT);
    });
  }

  #closeGroup(): void {
    clearTimeout(this.#groupTimer);
    this.#groupTimer = undefined;
    const group = this.#group;
    this.#group = [];
    for (const resolve of group) resolve();
  }

  #startStep(key: string, due: DueRecord): void {
    const { heldKeys, slowSteps } = this.#context;
    heldKeys.add(key);
    this.#checking += 1;
    let isChecking = true;
    const onChecked = () => {
      if (!isChecking) return;
      isChecking = false;
      this.#checking -= 1;
      this.#onChange();
    };
    const onSlow = () => {
      this.#quickSteps.delete(step);
      slowSteps.add(step);
      this.#onChange();
    };
    const step = this.#runStep(due, onChecked, onSlow).finally(() => {
      for (const steps of [this.#steps, this.#quickSteps, slowSteps]) steps.delete(step);
      heldKeys.delete(key);
      onChecked();
      this.#onChange();
    });
    this.#steps.add(step);
    this.#quickSteps.add(step);
  }

  /** Does what is due for one record. It resolves in every case: one record must not end the others. */
  async #runStep(due: DueRecord, onChecked: () => void, onSlow: () => void): Promise<void> {
    const context = (service: string): StepContext => ({
      ...this.#context,
      service,
      lease: this.#lease,
      stop: this.#stop.signal,
      sendUntil: this.#ending.signal,
      tally: this.#tally,
      onChecked,
      isDenied: () => this.#isDenied(),
      joinGroup: () => this.#joinGroup(),
      callHandler: (call, reportSlow) =>
        this.#callHandler(call, () => {
          reportSlow();
          onSlow();
        }),
    });
    try {
      const service = await this.#getService();
      this.#stop.signal.throwIfAborted();
      await takeStep(due, context(service));
    } catch (error) {
      await this.#handleError(due, context(''), error);
    }
  }

  /** Calls a handler once fewer than {@link MAX_HANDLERS} others run. */
  async #callHandler(call: () => unknown, onSlow: () => void): Promise<void> {
    if (this.#calling >= MAX_HANDLERS) await new Promise<void>((go) => this.#queued.push(go));
    this.#stop.signal.throwIfAborted();
    this.#calling += 1;
    let isCounted = true;
    const uncount = () => {
      if (!isCounted) return;
      isCounted = false;
      this.#calling -= 1;
      this.#queued.shift()?.();
    };
    const timer = setTimeout(() => {
      uncount();
      onSlow();
    }, SLOW_HANDLER);
    const called = (async () => await call())();
    const settled = called.catch(() => {});
    this.#handlers.add(settled);
    try {
      await called;
    } finally {
      clearTimeout(timer);
      uncount();
      this.#handlers.delete(settled);
    }
  }

  async #handleError(due: DueRecord, context: StepContext, error: unknown): Promise<void> {
    const giveBack = (pause?: number) => postpone(due, context, pause).catch(() => {});
    if (error instanceof JournalError) {
      // What is in flight might still be recorded.
      this.#failure ??= { error };
      this.#end();
    } else if (concernsClient(error)) {
      this.#fail(error);
      await giveBack();
    } else if (this.#ending.signal.aborted) {
      await giveBack();
    } else {
      report(context, due.name, { result: 'failed', error: summarizeError(error) });
      await giveBack(getPause(1, Math.random()));
    }
  }

  /** Asks for the API key only if anything is due. */
  #getService(): Promise<string> {
    this.#service ??= this.#resolveService();
    return this.#service;
  }

  async #resolveService(): Promise<string> {
    const { access } = this.#context;
    const call = { signal: this.#stop.signal, timeout: access.client.timeout };
    return (await resolveOrigin(access, call)).service;
  }

  async #createResult(): Promise<SweepResult> {
    const { checked, final } = this.#tally;
    const { kind, records } = this.#context;
    const { due, nextIn } = await this.#useJournal(() => records.countDue(kind));
    const wait = due > 0 ? 0 : nextIn;
    return { checked, final, due, nextAt: wait === null ? null : Math.ceil(Date.now() + wait) };
  }

  /** Runs a step of the journal until the budget is used up, or shortly, if handlers took longer. */
  #useJournal<T>(step: () => Promise<T>): Promise<T> {
    const { signal } = this.#over;
    return waitForJournal(step, signal.aborted ? { timeout: LATE_JOURNAL_TIMEOUT } : { end: signal });
  }
}

const createTooSlowError = () =>
  new JournalError('The journal did not respond within the budget of the sweep. What is due stays due.', {
    operation: 'verify',
    retryable: true,
  });

const OUT_OF_BUDGET = new Error('The budget of the sweep is used up.');
