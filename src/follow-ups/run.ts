import { ClosedError, ConfigurationError, JournalError } from '../errors.ts';
import { concernsClient } from '../idempotency/check.ts';
import { linkSignals, sleep } from '../support/timing.ts';
import { type SweepContext, summarizeError } from './step.ts';
import { sweep } from './sweep.ts';

/** Other processes add payments, so what is due is looked for at least this often, in milliseconds. */
const MAX_RUN_SLEEP = 5_000;

/** So that what cannot be claimed keeps nobody busy, in milliseconds. */
const MIN_SLEEP = 50;

/** The sleeps of the runs of one `createFollowUps`. A payment that is due sooner shortens them. */
export class Sleeps {
  readonly #wakers = new Set<(delay: number) => void>();
  /** The earliest time that was asked for while nobody slept, by the wall clock. */
  #wakeAt = Number.POSITIVE_INFINITY;

  /** Ends every sleep in `delay` milliseconds at the latest. One that begins later, too. */
  wakeIn(delay: number): void {
    this.#wakeAt = Math.min(this.#wakeAt, Date.now() + delay);
    for (const wake of this.#wakers) wake(delay);
  }

  /** A sweep begins: it sees what is due now. */
  reset(): void {
    this.#wakeAt = Number.POSITIVE_INFINITY;
  }

  /** Sleeps for at most `longest` milliseconds. Rejects with the reason of `signal`. */
  async sleep(longest: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const either = linkSignals(signal, woken.signal, () => WOKEN);
    const timers: ReturnType<typeof setTimeout>[] = [];
    let left = longest;
    const wake = (delay: number) => {
      if (delay >= left) return;
      left = delay;
      timers.push(setTimeout(() => woken.abort(), delay));
    };
    this.#wakers.add(wake);
    wake(Math.max(0, this.#wakeAt - Date.now()));
    try {
      await sleep(longest, either.signal);
    } catch (reason) {
      if (reason !== WOKEN) throw reason;
    } finally {
      for (const timer of timers) clearTimeout(timer);
      either.release();
      this.#wakers.delete(wake);
    }
  }
}

const WOKEN = new Error('woken');

/** Sweeps until `own` is aborted, or the client is closed: it resolves then. It survives everything else. */
export async function runSweeps(
  context: SweepContext,
  own: AbortSignal | undefined,
  sleeps: Sleeps,
): Promise<void> {
  const { signal, release } = linkSignals(own, context.access.closing, () => new ClosedError('verify'));
  try {
    await repeatSweeps(context, signal, sleeps);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    release();
  }
  await Promise.all(context.slowSteps);
}

/** Rejects with the reason of `signal`, or if no later sweep can succeed. */
async function repeatSweeps(context: SweepContext, signal: AbortSignal, sleeps: Sleeps): Promise<never> {
  for (let failures = 0; ; ) {
    sleeps.reset();
    try {
      const { nextAt } = await sweep(context, { signal, leavesSlowSteps: true });
      failures = 0;
      const delay = Math.min(MAX_RUN_SLEEP, (nextAt ?? Number.POSITIVE_INFINITY) - Date.now());
      await sleeps.sleep(Math.max(MIN_SLEEP, delay), signal);
    } catch (error) {
      if (signal.aborted || isHopeless(error)) throw error;
      failures += 1;
      const delay = getFailurePause(error, failures);
      context.access.client.report({
        type: 'follow_up',
        result: 'paused',
        error: summarizeError(error),
        delay,
      });
      // A notification does not end this pause: anyone can send one.
      await sleep(delay, signal);
    }
  }
}

/** Whether no later sweep can succeed: the store lacks a method. Every other such error names its operation. */
function isHopeless(error: unknown): boolean {
  return error instanceof ConfigurationError && error.operation === undefined;
}

/** Returns the pause after a failure in milliseconds. A key or an option needs a person, a database comes back. */
function getFailurePause(error: unknown, failures: number): number {
  const [least, most] = concernsClient(error) ? [30_000, 300_000] : [1_000, 60_000];
  const isKnown = error instanceof JournalError || concernsClient(error);
  return Math.min(most, (isKnown ? least : 30_000) * 2 ** Math.min(failures - 1, 10));
}
