import type { NormalizedOptions } from '../options.ts';

type Limits = Pick<NormalizedOptions['polling'], 'maxConcurrency' | 'maxRequestsPerSecond'>;

/**
 * What holds the polls of one client back: their rate, and how many are in flight. All times are read from one monotonic clock, in
 * milliseconds.
 */
export class PollLimits {
  readonly #rate: RateLimiter;
  readonly #limits: Limits;
  #inFlight = 0;
  #heldBackUntil = Number.NEGATIVE_INFINITY;
  /** When a poll last ended while `maxConcurrency` was reached. */
  #wasFullUntil = Number.NEGATIVE_INFINITY;

  constructor(
    { maxConcurrency, maxRequestsPerSecond }: Limits,
    rate = new RateLimiter(maxRequestsPerSecond),
  ) {
    this.#limits = { maxConcurrency, maxRequestsPerSecond };
    this.#rate = rate;
  }

  /** Returns limits of the same rate, with slots of their own. */
  shareRate(): PollLimits {
    return new PollLimits(this.#limits, this.#rate);
  }

  /** Records a 429 to any call of the client. */
  onRateLimited(now: number, retryAfter: number | undefined): void {
    this.#rate.onRateLimited(now, retryAfter);
  }

  get #hasFreeSlot(): boolean {
    return this.#inFlight < this.#limits.maxConcurrency;
  }

  canStart(now: number): boolean {
    if (!this.#hasFreeSlot) return false;
    return this.#rate.getNextStart(now) <= now;
  }

  recordStart(now: number): void {
    this.#rate.recordRequest(now);
    this.#inFlight++;
  }

  recordEnd(now: number): void {
    if (!this.#hasFreeSlot) this.#wasFullUntil = now;
    this.#inFlight--;
  }

  /** Returns when a poll that is due at `dueAt` can start. `undefined`: once another poll has ended. */
  planStart(dueAt: number, now: number): number | undefined {
    const hasSlot = this.#hasFreeSlot;
    const allowedAt = this.#rate.getNextStart(now);
    if (!hasSlot || allowedAt > Math.max(dueAt, now))
      this.#heldBackUntil = Math.max(
        this.#heldBackUntil,
        Math.ceil(hasSlot ? allowedAt : Math.max(allowedAt, now + 1)),
      );
    return hasSlot ? Math.max(dueAt, allowedAt) : undefined;
  }

  /** Whether a limit might be why a poll that was due at `dueAt` has not started until `deadline`. */
  canHaveHeldBack(dueAt: number, deadline: number): boolean {
    // A poll that ends at the deadline can free a slot in this very tick, too late for a check.
    return dueAt < this.#heldBackUntil || !this.#hasFreeSlot || this.#wasFullUntil >= deadline;
  }
}

/**
 * Limits how fast the polls of one client leave: in no second more than the rate, and at once no more than a tenth of it.
 * A 429 to any call pauses all polls, and afterwards the rate comes back gradually.
 */
export class RateLimiter {
  /** The time between two polls at the full rate, on average. */
  readonly #interval: number;
  /** When the last polls left, as a ring: as many as can leave at once. */
  readonly #recent: Float64Array;
  #oldest = 0;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** The fraction of the rate that was allowed when the last pause ended. */
  #fraction = 1;

  constructor(maxPerSecond: number) {
    const burst = Math.max(1, Math.floor(maxPerSecond / 10));
    // Whole bursts for each second: with a part of one, a second could contain both ends of it.
    this.#interval = 1000 / (maxPerSecond < 1 ? maxPerSecond : burst * Math.floor(maxPerSecond / burst));
    this.#recent = new Float64Array(burst).fill(Number.NEGATIVE_INFINITY);
  }

  /** Returns the earliest time at which a poll can leave: `now`, or later. */
  getNextStart(now: number): number {
    const fraction = this.#getRateFraction(now);
    const atFullRate = this.#getBurstEnd(this.#recent.length, 1);
    if (fraction === 1) return Math.max(now, atFullRate);
    // The bursts shrink with the rate, so that a service that refuses gets few requests at once.
    const burst = Math.max(1, Math.floor(this.#recent.length * fraction));
    const atReducedRate = this.#getBurstEnd(burst, fraction);
    return Math.max(now, this.#pausedUntil, atFullRate, atReducedRate);
  }

  /** Returns the time at which `burst` polls can leave again, at that fraction of the rate. */
  #getBurstEnd(burst: number, fraction: number): number {
    const { length } = this.#recent;
    const leftAt = this.#recent[(this.#oldest + length - burst) % length] ?? 0;
    return leftAt + (burst * this.#interval) / fraction;
  }

  recordRequest(now: number): void {
    this.#recent[this.#oldest] = now;
    this.#oldest = (this.#oldest + 1) % this.#recent.length;
  }

  /** Records a 429 to any call of the client. */
  onRateLimited(now: number, retryAfter: number | undefined): void {
    const backoff = limitRetryAfter(retryAfter);
    // Requests that were in flight together are refused together: that counts as one refusal.
    if (now >= this.#pausedUntil)
      this.#fraction = Math.max(MIN_RATE_FRACTION, this.#getRateFraction(now) / 2);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + backoff);
  }

  #getRateFraction(now: number): number {
    if (this.#fraction === 1) return 1;
    const recovered = (Math.max(0, now - this.#pausedUntil) / 1000) * RECOVERY_PER_SECOND;
    return Math.min(1, this.#fraction + recovered);
  }
}

/** After a 429 the rate starts again at half of what it was, but at no less than this fraction of the full rate. */
const MIN_RATE_FRACTION = 1 / 32;
/** The fraction of the full rate that comes back in each second. */
const RECOVERY_PER_SECOND = 0.1;

/** The pause after a 429 without a Retry-After, and the bounds of one with it. In milliseconds. */
const DEFAULT_RETRY_AFTER = 5_000;
const MIN_BACKOFF = 1_000;
export const MAX_BACKOFF = 60_000;

/** Returns how long a 429 pauses polls, in milliseconds. */
export function limitRetryAfter(retryAfter = DEFAULT_RETRY_AFTER): number {
  return Math.min(Math.max(retryAfter, MIN_BACKOFF), MAX_BACKOFF);
}
