/** A 429 that does not say how long to wait, and those that say too little or too much. */
const DEFAULT_RETRY_AFTER = 5_000;
const MIN_BACKOFF = 1_000;
export const MAX_BACKOFF = 60_000;

/** A probe leaves so long after a refusal, in the middle of a shorter pause. */
const FIRST_PROBE = 1_000;

/** How long a 429 holds back what it is about, in milliseconds. */
export function pauseFor(retryAfter = DEFAULT_RETRY_AFTER): number {
  return Math.min(Math.max(retryAfter, MIN_BACKOFF), MAX_BACKOFF);
}

/** After a 429 the rate starts again at half of what it was, down to this part of the whole, */
const MIN_RATE_FRACTION = 1 / 32;
/** and comes back by this part of the whole in each second. */
const RECOVERY_PER_SECOND = 0.1;

/**
 * How fast the polls of one client may go out: in no tenth of a second more than a tenth of the rate, so in no second
 * more than the rate. A 429 stops them all, and then the rate comes back gradually.
 *
 * Some services limit each reference by itself. So one poll of another reference, the probe, leaves within the pause: if
 * it is accepted, the pause ends, and the refused reference waits alone.
 *
 * All times are those of one monotonic clock, in milliseconds.
 */
export class RateLimiter {
  /** The time between two polls at the full rate, on average. */
  readonly #interval: number;
  /** When the last few polls left, as a ring: as many as may leave at once. */
  readonly #recent: Float64Array;
  #oldest = 0;
  #pausedAt = Number.NEGATIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** From when on a probe may leave in this pause, and what it asks about while it is under way. */
  #probeAt = Number.POSITIVE_INFINITY;
  #probe: string | undefined;
  /** Whether the last probe was refused too: all are, so there is no other until one is accepted. */
  #refusesAll = false;
  readonly #refusals = new Refusals();
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
    const fraction = this.#rateFractionAt(now);
    const whole = this.#burstOver(this.#recent.length, 1);
    if (fraction === 1) return Math.max(now, whole);
    // The bursts shrink with the rate, so that a service that refuses is asked by few.
    const part = this.#burstOver(Math.max(1, Math.floor(this.#recent.length * fraction)), fraction);
    return Math.max(now, Math.min(this.#pausedUntil, this.#probeAt), whole, part);
  }

  /** Until when no poll of this reference may leave, not even for a hint: after a 429 to it. */
  heldUntil(reference: string): number {
    return this.#refusals.heldUntil(reference);
  }

  /** Whether a poll that may leave now is a probe. */
  isPaused(now: number): boolean {
    return now < this.#pausedUntil;
  }

  /** When as many as `burst` may leave again, at that part of the rate. */
  #burstOver(burst: number, fraction: number): number {
    const { length } = this.#recent;
    const left = this.#recent[(this.#oldest + length - burst) % length] ?? 0;
    return left + (burst * this.#interval) / fraction;
  }

  /** Counts a poll that leaves. */
  recordRequest(now: number, reference: string): void {
    this.#recent[this.#oldest] = now;
    this.#oldest = (this.#oldest + 1) % this.#recent.length;
    if (!this.isPaused(now)) return;
    this.#probe = reference;
    this.#probeAt = Number.POSITIVE_INFINITY;
  }

  /** The service answered 429, to a request about this reference or to one about none. */
  onRateLimited(now: number, retryAfter: number | undefined, reference: string | undefined): void {
    const isProbe = reference !== undefined && reference === this.#probe;
    if (isProbe || reference === undefined) this.#probe = undefined;
    if (isProbe) this.#refusesAll = true;
    const backOff = pauseFor(retryAfter);
    const concernsOnly =
      reference !== undefined && this.#refusals.concernsOnly(reference, now, now + backOff);
    if (concernsOnly && !isProbe) return;

    // Requests that were under way together are refused together: that is one refusal, not many.
    const isNew = !this.isPaused(now);
    if (isNew || isProbe) this.#fraction = Math.max(MIN_RATE_FRACTION, this.#rateFractionAt(now) / 2);
    if (isNew) {
      this.#pausedAt = now;
      this.#probeAt = this.#refusesAll ? Number.POSITIVE_INFINITY : now + Math.min(FIRST_PROBE, backOff / 2);
    }
    if (reference === undefined) this.#probeAt = Number.POSITIVE_INFINITY;
    this.#pausedUntil = Math.max(this.#pausedUntil, now + backOff);
  }

  /** The service answered something else to a poll that left at that moment. */
  onAccepted(now: number, left: number, reference: string): void {
    this.#refusals.accepted(reference, left);
    // What left before the refusal says nothing about what is refused since.
    if (left < this.#pausedAt) return;
    this.#refusesAll = false;
    if (reference !== this.#probe) return;
    this.#probe = undefined;
    if (!this.isPaused(now)) return;
    this.#pausedUntil = now;
    this.#refusals.expectOnSome();
  }

  #rateFractionAt(now: number): number {
    if (this.#fraction === 1) return 1;
    const recovered = (Math.max(0, now - this.#pausedUntil) / 1000) * RECOVERY_PER_SECOND;
    return Math.min(1, this.#fraction + recovered);
  }
}

/** A reference that was refused this often in a row, while others were not, shows that the limit is not the key's. */
const REPEATED = 3;

/**
 * Once the limit is taken to be the reference's, so many references may be refused for the first time before that is
 * doubted, and one more for every ten requests that are accepted.
 */
const TOLERATED = 10;
const TOLERATED_PART = 0.1;

/** How many refused references are remembered. */
const MOST_REMEMBERED = 1_000;

/**
 * Tells a limit of the reference from a limit of the key: the first refuses the same references again and again while
 * others are accepted, the second refuses any of them.
 */
class Refusals {
  /** When each reference was last refused, until when, and how often in a row while others were accepted. */
  readonly #refused = new Map<string, { at: number; until: number; times: number }>();
  /** When the latest request left that was accepted. */
  #acceptedAt = Number.NEGATIVE_INFINITY;
  #tolerance = 0;

  /** Until when no request about this reference may leave, whatever asks for it. */
  heldUntil(reference: string): number {
    return this.#refused.get(reference)?.until ?? Number.NEGATIVE_INFINITY;
  }

  /** Counts a 429. Returns whether it is the limit of this reference, so that no other needs to wait. */
  concernsOnly(reference: string, now: number, until: number): boolean {
    const before = this.#refused.get(reference);
    const again = before !== undefined && before.at < this.#acceptedAt;
    const times = again ? before.times + 1 : 1;
    this.#refused.delete(reference);
    this.#refused.set(reference, { at: now, until, times });
    this.#forgetOldest();
    if (again) {
      if (times >= REPEATED) this.expectOnSome();
      return true;
    }
    if (this.#tolerance < 1) {
      this.#tolerance = 0;
      return false;
    }
    this.#tolerance--;
    return true;
  }

  /** Counts a request that was not refused, and that left at that moment. */
  accepted(reference: string, left: number): void {
    this.#refused.delete(reference);
    this.#acceptedAt = Math.max(this.#acceptedAt, left);
    if (this.#tolerance > 0) this.#tolerance = Math.min(TOLERATED, this.#tolerance + TOLERATED_PART);
  }

  /** Others are accepted while some references are refused: from here on a few more of those are no surprise. */
  expectOnSome(): void {
    this.#tolerance = TOLERATED;
  }

  #forgetOldest(): void {
    if (this.#refused.size <= MOST_REMEMBERED) return;
    for (const oldest of this.#refused.keys()) {
      this.#refused.delete(oldest);
      return;
    }
  }
}
