/** A 429 that does not say how long to wait, and one that says too much. */
const PAUSE_UNTOLD = 5_000;
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
  readonly #maxPerSecond: number;
  /** When the last few polls left, as a ring: as many as may leave at once. */
  readonly #recent: Float64Array;
  #oldest = 0;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** The part of the rate that was allowed when the last pause ended. */
  #fraction = 1;

  constructor(maxPerSecond: number) {
    this.#maxPerSecond = maxPerSecond;
    this.#recent = new Float64Array(Math.max(1, Math.floor(maxPerSecond / 10))).fill(
      Number.NEGATIVE_INFINITY,
    );
  }

  /** The earliest moment at which a poll may leave: `now`, or later. */
  readyAt(now: number): number {
    const window = (this.#recent.length * 1000) / (this.#maxPerSecond * this.#fractionAt(now));
    const burstOver = (this.#recent[this.#oldest] ?? now) + window;
    return Math.max(now, this.#pausedUntil, burstOver);
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
    this.#pausedUntil = Math.max(this.#pausedUntil, now + Math.min(retryAfter, LONGEST_PAUSE));
  }

  #fractionAt(now: number): number {
    if (this.#fraction === 1) return 1;
    const recovered = (Math.max(0, now - this.#pausedUntil) / 1000) * RECOVERY_PER_SECOND;
    return Math.min(1, this.#fraction + recovered);
  }
}
