/** A 429 that does not say how long to wait, and those that say too little or too much. */
const PAUSE_UNTOLD = 5_000;
const SHORTEST_PAUSE = 1_000;
export const LONGEST_PAUSE = 60_000;

/** After a 429 the rate starts again at half of what it was, down to this part of the whole, */
const SLOWEST = 1 / 32;
/** and comes back by this part of the whole in each second. */
const RECOVERY_PER_SECOND = 0.1;

/**
 * How fast the polls of one client may go out: in no tenth of a second more than a tenth of the rate, so in no second
 * more than the rate. A 429 stops them all, and then the rate comes back gradually.
 *
 * All times are those of one monotonic clock, in milliseconds.
 */
export class Pace {
  /** The time between two polls at the full rate, on average. */
  readonly #interval: number;
  /** When the last few polls left, as a ring: as many as may leave at once. */
  readonly #recent: Float64Array;
  #oldest = 0;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** The part of the rate that was allowed when the last pause ended. */
  #fraction = 1;

  constructor(maxPerSecond: number) {
    const burst = Math.max(1, Math.floor(maxPerSecond / 10));
    // Whole bursts to the second: of a part of one, a second could see both ends.
    this.#interval = 1000 / (maxPerSecond < 1 ? maxPerSecond : burst * Math.floor(maxPerSecond / burst));
    this.#recent = new Float64Array(burst).fill(Number.NEGATIVE_INFINITY);
  }

  /** The earliest moment at which a poll may leave: `now`, or later. */
  readyAt(now: number): number {
    const fraction = this.#fractionAt(now);
    const whole = this.#burstOver(now, this.#recent.length, 1);
    if (fraction === 1) return Math.max(now, whole);
    // The bursts shrink with the rate, so that a service that refuses is asked by few.
    const part = this.#burstOver(now, Math.max(1, Math.floor(this.#recent.length * fraction)), fraction);
    return Math.max(now, this.#pausedUntil, whole, part);
  }

  /** When as many as `burst` may leave again, at that part of the rate. A test's fake clock may begin anew. */
  #burstOver(now: number, burst: number, fraction: number): number {
    const { length } = this.#recent;
    const left = this.#recent[(this.#oldest + length - burst) % length] ?? 0;
    return left > now ? now : left + (burst * this.#interval) / fraction;
  }

  /** Counts a poll that leaves. */
  take(now: number): void {
    this.#recent[this.#oldest] = now;
    this.#oldest = (this.#oldest + 1) % this.#recent.length;
  }

  /** The service answered 429. */
  pause(now: number, retryAfter = PAUSE_UNTOLD): void {
    // Requests that were under way together are refused together: that is one refusal, not many.
    if (now >= this.#pausedUntil) this.#fraction = Math.max(SLOWEST, this.#fractionAt(now) / 2);
    const pause = Math.min(Math.max(retryAfter, SHORTEST_PAUSE), LONGEST_PAUSE);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + pause);
  }

  #fractionAt(now: number): number {
    if (this.#fraction === 1) return 1;
    const recovered = (Math.max(0, now - this.#pausedUntil) / 1000) * RECOVERY_PER_SECOND;
    return Math.min(1, this.#fraction + recovered);
  }
}
