import { ClosedError, ConfigurationError, JournalError } from '../errors.ts';
import { linkSignals, sleep } from '../timing.ts';
import type { FollowUpContext } from './options.ts';
import { concernsClient, describeError } from './step.ts';
import { Sweep } from './sweep.ts';

/** Other processes add payments, so what is due is looked for at least this often, in milliseconds. */
const MAX_SLEEP = 5_000;

/** So that what cannot be claimed keeps nobody busy, in milliseconds. */
const MIN_SLEEP = 50;

/** Wakes runs that sleep. */
export class Wakers {
  readonly #wakers = new Set<() => void>();
  #count = 0;

  /** How often they were woken. */
  get count(): number {
    return this.#count;
  }

  wakeAll(): void {
    this.#count += 1;
    for (const wake of this.#wakers) wake();
  }

  /** Sleeps until it is woken, or for `delay` milliseconds. Rejects with the reason of `signal`. */
  async sleep(delay: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const wake = () => woken.abort(WOKEN);
    const either = linkSignals(signal, woken.signal, () => WOKEN);
    this.#wakers.add(wake);
    try {
      await sleep(delay, either.signal);
    } catch (reason) {
      if (reason !== WOKEN) throw reason;
    } finally {
      either.release();
      this.#wakers.delete(wake);
    }
  }
}

const WOKEN = new Error('woken');

/** Sweeps until `own` is aborted, or the client is closed. It survives everything else. */
export async function runSweeps(
  context: FollowUpContext,
  own: AbortSignal | undefined,
  wakers: Wakers,
): Promise<void> {
  const { closing } = context.access;
  const { signal, release } = linkSignals(own, closing, () => new ClosedError('verify'));
  try {
    await repeatSweeps(context, signal, wakers);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    release();
  }
  if (!own?.aborted) throw new ClosedError('verify');
}

/** Rejects with the reason of `signal`, or if no later sweep can succeed. */
async function repeatSweeps(context: FollowUpContext, signal: AbortSignal, wakers: Wakers): Promise<never> {
  for (let failures = 0; ; ) {
    const wakeCount = wakers.count;
    try {
      const { nextAt } = await new Sweep(context).run({ signal });
      failures = 0;
      const delay = Math.min(MAX_SLEEP, (nextAt ?? Number.POSITIVE_INFINITY) - Date.now());
      if (wakers.count === wakeCount) await wakers.sleep(Math.max(MIN_SLEEP, delay), signal);
    } catch (error) {
      if (signal.aborted || isHopeless(error)) throw error;
      failures += 1;
      const delay = getPause(error, failures);
      context.access.report({ type: 'follow_up', result: 'paused', error: describeError(error), delay });
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
function getPause(error: unknown, failures: number): number {
  const [least, most] = concernsClient(error) ? [30_000, 300_000] : [1_000, 60_000];
  const isKnown = error instanceof JournalError || concernsClient(error);
  return Math.min(most, (isKnown ? least : 30_000) * 2 ** Math.min(failures - 1, 10));
}
