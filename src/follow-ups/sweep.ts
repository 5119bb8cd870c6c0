import * as z from 'zod/mini';
import { ClosedError, JournalError } from '../errors.ts';
import { concernsClient } from '../idempotency/check.ts';
import { resolveOrigin } from '../idempotency/claim.ts';
import { waitForJournal } from '../journal/call-store.ts';
import { parseStoreKey } from '../journal/names.ts';
import { MAX_DUE_IN } from '../journal/store.ts';
import { getPause } from '../ledger/check.ts';
import { type OptionsShape, optionalNumber, optionalSignal, parseOptions } from '../parse-options.ts';
import { MAX_TIMEOUT_MS } from '../support/max-timeout.ts';
import { HandlerCalls } from './handler-calls.ts';
import {
  type DueRecord,
  postpone,
  report,
  type StepContext,
  type SweepContext,
  summarizeError,
  takeStep,
} from './step.ts';
import { type StepProgress, Steps } from './steps.ts';
import { LATE_JOURNAL_TIMEOUT, SweepEnd } from './sweep-end.ts';

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

/** So many records can wait for handlers in a process: then no more are claimed, because each takes memory. */
const MAX_HELD = 1_000;

/** While handlers run, what becomes due is claimed this often, in milliseconds. */
const CLAIM_INTERVAL = 1_000;

interface SweepRules extends SweepOptions {
  /** Whether the sweep ends without the handlers that have not settled for a minute. @default false */
  leavesSlowSteps?: boolean | undefined;
}

/** Does what is due now, and resolves with what is left: it claims page by page, and takes a step for each record. */
export async function sweep(context: SweepContext, rules: SweepRules): Promise<SweepResult> {
  rules.signal?.throwIfAborted();
  if (context.access.closing.aborted) throw new ClosedError('verify');
  const end = new SweepEnd(rules.budget, rules.signal);
  try {
    return await new Sweep(context, end).run(rules.leavesSlowSteps ?? false);
  } finally {
    end.release();
  }
}

class Sweep {
  readonly #context: SweepContext;
  readonly #lease: number;
  readonly #end: SweepEnd;
  readonly #steps: Steps;
  readonly #handlers: HandlerCalls;
  readonly #tally = { checked: 0, read: 0, final: 0 };
  /** How many checks that were refused with a 403 wait until it is known whether any payment can be read. */
  #denied = 0;
  #service: Promise<string> | undefined;

  constructor(context: SweepContext, end: SweepEnd) {
    this.#context = context;
    this.#lease = Math.min(context.access.client.timeout + LEASE_MARGIN, MAX_DUE_IN);
    this.#end = end;
    this.#steps = new Steps(context.slowSteps, [end.begins, end.journal]);
    this.#handlers = new HandlerCalls(end.checks);
  }

  async run(leavesSlowSteps: boolean): Promise<SweepResult> {
    await this.#claimAll().catch((error: unknown) => this.#end.fail(error));
    await this.#waitForSteps(leavesSlowSteps);
    this.#end.throwIfFailed();
    return await this.#createResult();
  }

  async #claimAll(): Promise<void> {
    const minPage = Math.ceil(this.#maxConcurrency / 2);
    while (!this.#end.begins.aborted) {
      const limit = this.#getRoom();
      const claimed = limit > 0 ? await this.#claimPage(limit) : 0;
      if (claimed === 0 && this.#steps.quick === 0) return;
      // A short page: nothing more is due for now.
      const isMoreDue = claimed === limit;
      const isDone = () => this.#steps.quick === 0 || this.#end.begins.aborted;
      await this.#steps.waitUntil(
        () => isDone() || (isMoreDue && this.#getRoom() >= minPage),
        CLAIM_INTERVAL,
      );
    }
  }

  /** Whether no payment can be read, as far as the checks in flight show. */
  async #isDenied(): Promise<boolean> {
    this.#denied += 1;
    await this.#steps.waitUntil(() => this.#tally.read > 0 || this.#steps.checking === 0);
    this.#denied -= 1;
    return this.#tally.read === 0;
  }

  get #maxConcurrency(): number {
    return this.#context.access.client.polling.maxConcurrency;
  }

  /** Returns how many records can be claimed now: enough for the checks, however many handlers run. */
  #getRoom(): number {
    // The next ones are claimed while the last ones are checked.
    const isBusy = this.#steps.checking > this.#maxConcurrency / 2;
    // The checks in flight decide whether a 403 is about one payment, or about the client.
    return isBusy || this.#denied > 0 || this.#context.heldKeys.size >= MAX_HELD ? 0 : this.#maxConcurrency;
  }

  /** Waits for what was begun. Once the journal is left, only for the handlers that were called. */
  async #waitForSteps(leavesSlowSteps: boolean): Promise<void> {
    const { journal } = this.#end;
    const isDone = () => (leavesSlowSteps ? this.#steps.quick : this.#steps.size) === 0;
    await this.#steps.waitUntil(() => isDone() || journal.aborted);
    if (isDone()) return;
    if (this.#handlers.size > 0) {
      await this.#handlers.waitForAll();
      // Their success is still to be recorded.
      await this.#steps.waitUntil(isDone, LATE_JOURNAL_TIMEOUT);
    }
    if (!isDone()) this.#end.fail(journal.reason);
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

  #startStep(key: string, due: DueRecord): void {
    const { heldKeys } = this.#context;
    heldKeys.add(key);
    this.#steps.start((progress) => this.#takeStep(due, progress).finally(() => heldKeys.delete(key)));
  }

  /** Does what is due for one record. It resolves in every case: one record must not end the others. */
  async #takeStep(due: DueRecord, { onChecked, onSlow }: StepProgress): Promise<void> {
    const context = (service: string): StepContext => ({
      ...this.#context,
      service,
      lease: this.#lease,
      stop: this.#end.checks,
      sendUntil: this.#end.begins,
      tally: this.#tally,
      onChecked,
      isDenied: () => this.#isDenied(),
      joinGroup: () => this.#steps.joinGroup(),
      callHandler: (call, reportSlow) =>
        this.#handlers.call(call, () => {
          reportSlow();
          onSlow();
        }),
    });
    try {
      const service = await this.#getService();
      this.#end.checks.throwIfAborted();
      await takeStep(due, context(service));
    } catch (error) {
      await this.#handleError(due, context(''), error);
    }
  }

  async #handleError(due: DueRecord, context: StepContext, error: unknown): Promise<void> {
    const giveBack = (pause?: number) => postpone(due, context, pause).catch(() => {});
    if (error instanceof JournalError) {
      // What is in flight might still be recorded.
      this.#end.failSoon(error);
    } else if (concernsClient(error)) {
      this.#end.fail(error);
      await giveBack();
    } else if (this.#end.begins.aborted) {
      await giveBack();
    } else {
      report(context, due.name, { result: 'failed', error: summarizeError(error) });
      await giveBack(getPause(1, Math.random()));
    }
  }

  /** Asks for the API key only if anything is due. */
  #getService(): Promise<string> {
    const { access } = this.#context;
    const call = { signal: this.#end.checks, timeout: access.client.timeout };
    this.#service ??= resolveOrigin(access, call).then(({ service }) => service);
    return this.#service;
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
    const end = this.#end.journal;
    return waitForJournal(step, end.aborted ? { timeout: LATE_JOURNAL_TIMEOUT } : { end });
  }
}
