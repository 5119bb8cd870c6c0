/**
 * When to check next: pure functions of their arguments, with no clock and no randomness of their own. A durable engine
 * replays them safely. `waitForFinalStatus` uses the same functions.
 *
 * @module payment-collection-client/schedule
 */

import { MAX_TIMEOUT_MS } from './support/max-timeout.ts';

/** How a wait spaces its polls. All durations are in milliseconds. */
export interface Schedule {
  /**
   * When the first check is due after the charge, even if that is sooner than `minDelay`. Hardly any customer has typed a
   * PIN sooner than the default.
   *
   * @default 8_000
   */
  initialDelay?: number | undefined;
  /**
   * The shortest delay between two checks.
   *
   * @default 3_000
   */
  minDelay?: number | undefined;
  /**
   * The longest delay between two checks, unless the service asks for a longer one.
   *
   * @default 15_000
   */
  maxDelay?: number | undefined;
  /**
   * The deadline, counted from the charge. It can be `Infinity`.
   *
   * @default 600_000
   */
  timeout?: number | undefined;
}

/** The input of {@link nextDelay}: the schedule's options and the state of the wait. */
export interface NextDelayInput extends Schedule {
  /** Milliseconds since the charge. */
  elapsed: number;
  /** The `Retry-After` of the last response, in milliseconds. @default 0 */
  retryAfter?: number | undefined;
  /**
   * A number from 0 to 1 that changes the delay by up to 10 % either way: `Math.random()`, or the engine's own.
   *
   * @default 0.5, which changes nothing
   */
  random?: number | undefined;
}

/** The default {@link Schedule}. */
export const defaultSchedule = {
  initialDelay: 8_000,
  minDelay: 3_000,
  maxDelay: 15_000,
  timeout: 600_000,
} as const;

/** Milliseconds of delay for each square root of a second since the charge. Compared by `npm run bench -- schedule`. */
const GROWTH = 900;

/**
 * Returns the delay before the next check, or `null` after the deadline. It is in whole milliseconds, and any timer can
 * hold it.
 *
 * Until `initialDelay` has passed since the charge, it returns what is left of it. After that the delay is 0.9·√t
 * seconds, where t is the seconds since the charge. `random` changes it by up to 10 %. It stays between `minDelay` and
 * `maxDelay`. It grows because a customer who has not typed a PIN for long is
 * less likely to do so in the next second. The last check is due at the deadline. Only that check can come sooner than
 * `minDelay`, if less time is left.
 *
 * @throws {RangeError} if `elapsed` is missing, or if it or an option is not a number.
 *
 * @example
 * ```ts
 * const delay = nextDelay({ elapsed: 20_000, random: Math.random() }); // 20 s after the charge
 * ```
 */
export function nextDelay(input: NextDelayInput): number | null {
  if (typeof input !== 'object' || input === null) throw notANumber();
  const {
    elapsed,
    retryAfter = 0,
    random = 0.5,
    initialDelay = defaultSchedule.initialDelay,
    minDelay = defaultSchedule.minDelay,
    maxDelay = defaultSchedule.maxDelay,
    timeout = defaultSchedule.timeout,
  } = input;
  // A start time that is missing, or the `null` that JSON makes of `Infinity`, must not read as "the deadline has passed":
  // the order would be given up. A timer reads NaN as no delay.
  const given: unknown[] = [elapsed, retryAfter, random, initialDelay, minDelay, maxDelay, timeout];
  if (!given.every((value) => typeof value === 'number')) throw notANumber();
  const since = Math.max(0, elapsed);
  const remaining = Math.floor(timeout - since);
  const spread = 0.9 + 0.2 * random;
  const paced = Math.min(maxDelay, GROWTH * Math.sqrt(since / 1000) * spread);
  const isFirst = since < initialDelay;
  const wanted = isFirst ? initialDelay - since : paced;
  // An `initialDelay` below `minDelay` is meant: no check came before it.
  const least = isFirst && initialDelay < minDelay ? 0 : minDelay;
  const delay = Math.min(MAX_TIMEOUT_MS, Math.ceil(Math.max(least, wanted, retryAfter)));
  if (Number.isNaN(remaining + delay)) throw notANumber();

  if (remaining <= 0) return null;
  if (delay >= remaining) return remaining;
  if (delay === MAX_TIMEOUT_MS || remaining - delay >= least) return delay;
  // Too little would remain for another delay: split the rest in two, so that the last check is due at the deadline.
  const half = Math.ceil(remaining / 2);
  return remaining > maxDelay && half >= Math.max(minDelay, retryAfter) ? half : remaining;
}

const notANumber = () => new RangeError('nextDelay: elapsed and every option must be milliseconds.');

/** The final statuses, unless `finalStatuses` names others. */
export const defaultFinalStatuses = ['success', 'failed', 'abandoned'] as const;

/**
 * Returns whether a status is final: `success`, `failed` or `abandoned`. An unrecognised status never is.
 *
 * @param finalStatuses the statuses that are final instead. With some services an abandoned payment can still succeed.
 */
export function isFinal(status: string, finalStatuses: readonly string[] = defaultFinalStatuses): boolean {
  return finalStatuses.includes(status);
}
