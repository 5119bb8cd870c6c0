/**
 * When to ask next: pure functions of what they are given, with no clock and no randomness of their own. A durable
 * engine replays them safely; `waitForFinalStatus` uses the same ones.
 *
 * @module payment-collection-client/schedule
 */

import { MAX_TIMEOUT_MS } from './max-timeout.ts';

/** How a wait spaces its polls. All durations are in milliseconds. */
export interface Schedule {
  /**
   * The first check after the charge: sooner, hardly any customer has typed a PIN.
   *
   * @default 8_000
   */
  initialDelay?: number | undefined;
  /**
   * The shortest pause between two checks.
   *
   * @default 3_000
   */
  minDelay?: number | undefined;
  /**
   * The longest pause between two checks, unless the service asks for a longer one.
   *
   * @default 15_000
   */
  maxDelay?: number | undefined;
  /**
   * How long to ask at all, from the charge on. May be `Infinity`.
   *
   * @default 600_000
   */
  timeout?: number | undefined;
}

/** What {@link nextDelay} goes by. */
export interface NextDelayInput extends Schedule {
  /** Milliseconds since the charge. */
  elapsed: number;
  /** What the last answer asked for (`Retry-After`), in milliseconds. */
  retryAfter?: number | undefined;
  /**
   * A number from 0 to 1 that spreads the checks by up to 10 % either way: `Math.random()`, or the engine's own.
   *
   * @default 0.5, which is no spread
   */
  random?: number | undefined;
}

/** The {@link Schedule} where nothing else is said. */
export const defaultSchedule = {
  initialDelay: 8_000,
  minDelay: 3_000,
  maxDelay: 15_000,
  timeout: 600_000,
} as const;

/** Milliseconds of pause for each square root of a second since the charge. `npm run bench -- schedule` compares it. */
const GROWTH = 900;

/**
 * The pause before the next check in whole milliseconds, which any timer can hold, or `null` once the deadline has
 * passed.
 *
 * After the first check the pause is 0.9·√t seconds, t being the seconds since the charge. `random` changes it by up to
 * 10 %, and it stays within `minDelay` and `maxDelay`. It grows because a customer who has not typed a PIN for long is
 * less likely to do so in the next second. The last check falls on the deadline. Only that check can come sooner than
 * `minDelay`, if less time is left.
 *
 * @throws RangeError where `elapsed` is missing, or it or an option is no number.
 *
 * @example
 * ```ts
 * const { final, retryAfter } = await payments.check(reference);
 * const delay = final ? null : nextDelay({ elapsed: Date.now() - startedAt, retryAfter, random: Math.random() });
 * ```
 */
export function nextDelay(input: NextDelayInput): number | null {
  if (typeof input !== 'object' || input === null) throw noNumber();
  const {
    elapsed,
    retryAfter = 0,
    random = 0.5,
    initialDelay = defaultSchedule.initialDelay,
    minDelay = defaultSchedule.minDelay,
    maxDelay = defaultSchedule.maxDelay,
    timeout = defaultSchedule.timeout,
  } = input;
  // A missing start time, or the `null` that JSON makes of `Infinity`, read as "the deadline has passed", would give up an
  // order; a timer reads NaN as no pause.
  const given: unknown[] = [elapsed, retryAfter, random, initialDelay, minDelay, maxDelay, timeout];
  if (!given.every((value) => typeof value === 'number')) throw noNumber();
  const since = Math.max(0, elapsed);
  const remaining = Math.floor(timeout - since);
  const spread = 0.9 + 0.2 * random;
  const paced = Math.min(maxDelay, GROWTH * Math.sqrt(since / 1000) * spread);
  const wished = since < initialDelay ? initialDelay - since : paced;
  const delay = Math.min(MAX_TIMEOUT_MS, Math.ceil(Math.max(minDelay, wished, retryAfter)));
  if (Number.isNaN(remaining + delay)) throw noNumber();

  if (remaining <= 0) return null;
  if (delay >= remaining) return remaining;
  if (delay === MAX_TIMEOUT_MS || remaining - delay >= minDelay) return delay;
  // Too little would be left for another pause: share it out, so that the last check falls on the deadline.
  const half = Math.ceil(remaining / 2);
  return remaining > maxDelay && half >= Math.max(minDelay, retryAfter) ? half : remaining;
}

const noNumber = () => new RangeError('nextDelay: elapsed and every option must be milliseconds.');

/** The statuses after which nothing more is expected, unless a merchant says otherwise. */
export const defaultFinalStatuses = ['success', 'failed', 'abandoned'] as const;

/**
 * Whether a status is final: `success`, `failed` and `abandoned` are. A value that SPEC.md does not show never is.
 *
 * @param finalStatuses what counts as final instead: some services let an abandoned payment still succeed, and SPEC.md
 * does not say
 */
export function isFinal(status: string, finalStatuses: readonly string[] = defaultFinalStatuses): boolean {
  return finalStatuses.includes(status);
}
