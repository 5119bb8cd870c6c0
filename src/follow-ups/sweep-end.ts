import { JournalError } from '../errors.ts';

/** The last part of the budget is for what is in flight: at most this many milliseconds, and at most a fifth. */
const MAX_RESERVE = 3_000;

/** The last part of that is for the journal, after checks in flight were cut off. */
const JOURNAL_SHARE = 0.1;

/** How long the journal is waited for after an abort, or after handlers that took longer than the budget, in milliseconds. */
export const LATE_JOURNAL_TIMEOUT = 1_000;

/** How one sweep ends: it begins nothing more, then it cuts off what is in flight, and at last it leaves the journal. */
export class SweepEnd {
  readonly #begins = new AbortController();
  readonly #checks = new AbortController();
  readonly #journal = new AbortController();
  readonly #timers: ReturnType<typeof setTimeout>[] = [];
  readonly #signal: AbortSignal | undefined;
  #failure: { readonly error: unknown } | undefined;
  readonly #onAbort = () => {
    this.fail(this.#signal?.reason);
    // What is in flight is given back meanwhile.
    this.#timers.push(setTimeout(() => this.#journal.abort(this.#signal?.reason), LATE_JOURNAL_TIMEOUT));
  };

  constructor(budget: number | undefined, signal: AbortSignal | undefined) {
    this.#signal = signal;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (budget === undefined) return;
    const reserve = Math.min(MAX_RESERVE, budget / 5);
    this.#timers.push(
      setTimeout(() => this.#begins.abort(OUT_OF_BUDGET), budget - reserve),
      setTimeout(() => this.#cutOff(OUT_OF_BUDGET), budget - reserve * JOURNAL_SHARE),
      // An abort that came before is what the sweep rejects with.
      setTimeout(
        () => this.#journal.abort(this.#failure ? this.#failure.error : createTooSlowError()),
        budget,
      ),
    );
  }

  /** Aborted when nothing more is claimed, and no check begins. */
  get begins(): AbortSignal {
    return this.#begins.signal;
  }

  /** Aborted when the checks in flight are cut off. No handler is called after it. */
  get checks(): AbortSignal {
    return this.#checks.signal;
  }

  /** Aborted when the journal is not waited for any more: the budget is used up, or an abort was a while ago. */
  get journal(): AbortSignal {
    return this.#journal.signal;
  }

  /** Begins nothing more, and lets what is in flight be recorded. The first error is what the sweep rejects with. */
  failSoon(error: unknown): void {
    this.#failure ??= { error };
    this.#begins.abort(OUT_OF_BUDGET);
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#cutOff(error);
  }

  /** @throws what the sweep failed with */
  throwIfFailed(): void {
    if (this.#failure) throw this.#failure.error;
  }

  /** Leaves no timer and no listener. */
  release(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #cutOff(reason: unknown): void {
    this.#checks.abort(reason);
    this.#begins.abort(OUT_OF_BUDGET);
  }
}

const createTooSlowError = () =>
  new JournalError('The journal did not respond within the budget of the sweep. What is due stays due.', {
    operation: 'verify',
    retryable: true,
  });

const OUT_OF_BUDGET = new Error('The budget of the sweep is used up.');
