/**
 * Limits how fast the polls of one client leave: in no tenth of a second more than a tenth of the rate, so in no second
 * more than the rate. A 429 pauses all polls, and afterwards the rate recovers gradually.
 *
 * Some services limit each reference by itself. So one poll of another reference, the probe, leaves during the pause. If
 * it is accepted, the pause ends, and the refused reference waits alone.
 *
 * All times are read from one monotonic clock, in milliseconds.
 */
export class RateLimiter {
  /** The time between two polls at the full rate, on average. */
  readonly #interval: number;
  /** When the last polls left, as a ring: as many as can leave at once. */
  readonly #recent: Float64Array;
  #oldest = 0;
  #pausedAt = Number.NEGATIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** When a probe can leave in this pause, and its reference while it is in flight. */
  #probeAt = Number.POSITIVE_INFINITY;
  #probe: string | undefined;
  /** Whether the last probe was refused too. There is no other probe until a request is accepted. */
  #refusesAll = false;
  readonly #refusals = new Refusals();
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
    return Math.max(now, Math.min(this.#pausedUntil, this.#probeAt), atFullRate, atReducedRate);
  }

  /** Returns the time at which `burst` polls can leave again, at that fraction of the rate. */
  #getBurstEnd(burst: number, fraction: number): number {
    const { length } = this.#recent;
    const leftAt = this.#recent[(this.#oldest + length - burst) % length] ?? 0;
    return leftAt + (burst * this.#interval) / fraction;
  }

  /** Returns until when no poll of this reference can leave after a 429 to it, not even for `notify`. */
  getHeldUntil(reference: string): number {
    return this.#refusals.getHeldUntil(reference);
  }

  /** Whether all polls are paused. A poll that can leave now is then the probe. */
  isPaused(now: number): boolean {
    return now < this.#pausedUntil;
  }

  /** Counts a poll that leaves. */
  recordRequest(now: number, reference: string): void {
    this.#recent[this.#oldest] = now;
    this.#oldest = (this.#oldest + 1) % this.#recent.length;
    if (!this.isPaused(now)) return;
    this.#probe = reference;
    this.#probeAt = Number.POSITIVE_INFINITY;
  }

  /** Records a 429 to a request about this reference, or about none. */
  onRateLimited(now: number, retryAfter: number | undefined, reference: string | undefined): void {
    const isProbe = reference !== undefined && reference === this.#probe;
    if (isProbe || reference === undefined) this.#probe = undefined;
    if (isProbe) this.#refusesAll = true;
    const backoff = limitRetryAfter(retryAfter);
    const isReferenceLimit =
      reference !== undefined && this.#refusals.recordRefusal(reference, now, now + backoff);
    if (isReferenceLimit && !isProbe) return;

    // Requests that were in flight together are refused together: that counts as one refusal.
    const isNew = !this.isPaused(now);
    if (isNew || isProbe) this.#fraction = Math.max(MIN_RATE_FRACTION, this.#getRateFraction(now) / 2);
    if (isNew) {
      this.#pausedAt = now;
      this.#probeAt = this.#refusesAll ? Number.POSITIVE_INFINITY : now + Math.min(PROBE_DELAY, backoff / 2);
    }
    if (reference === undefined) this.#probeAt = Number.POSITIVE_INFINITY;
    this.#pausedUntil = Math.max(this.#pausedUntil, now + backoff);
  }

  /** Records that the service accepted a poll which left at `leftAt`. */
  onAccepted(now: number, leftAt: number, reference: string): void {
    this.#refusals.recordAccepted(reference, leftAt);
    // A request that left before the refusal proves nothing about the limit since then.
    if (leftAt < this.#pausedAt) return;
    this.#refusesAll = false;
    if (reference !== this.#probe) return;
    this.#probe = undefined;
    if (!this.isPaused(now)) return;
    this.#pausedUntil = now;
    this.#refusals.expectReferenceLimits();
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

/** The probe leaves this long after a refusal, or in the middle of a shorter pause. In milliseconds. */
const PROBE_DELAY = 1_000;

/** The pause after a 429 without a Retry-After, and the bounds of one with it. In milliseconds. */
const DEFAULT_RETRY_AFTER = 5_000;
const MIN_BACKOFF = 1_000;
export const MAX_BACKOFF = 60_000;

/** Returns how long a 429 pauses polls, in milliseconds. */
export function limitRetryAfter(retryAfter = DEFAULT_RETRY_AFTER): number {
  return Math.min(Math.max(retryAfter, MIN_BACKOFF), MAX_BACKOFF);
}

/**
 * Tells a limit for each reference from a limit for the API key. The first refuses the same references again and again
 * while others are accepted; the second refuses any of them.
 */
class Refusals {
  /** When each reference was last refused, until when, and how often in a row while others were accepted. */
  readonly #refused = new Map<string, { at: number; until: number; count: number }>();
  /** When the latest accepted request left. */
  #acceptedAt = Number.NEGATIVE_INFINITY;
  #tolerance = 0;

  getHeldUntil(reference: string): number {
    return this.#refused.get(reference)?.until ?? Number.NEGATIVE_INFINITY;
  }

  /** Counts a 429. Returns whether it is the limit of this reference, so that no other reference has to wait. */
  recordRefusal(reference: string, now: number, until: number): boolean {
    const previous = this.#refused.get(reference);
    const isRepeated = previous !== undefined && previous.at < this.#acceptedAt;
    const count = isRepeated ? previous.count + 1 : 1;
    this.#refused.delete(reference);
    this.#refused.set(reference, { at: now, until, count });
    this.#forgetOldest();
    if (isRepeated) {
      if (count >= MIN_REPEATED) this.expectReferenceLimits();
      return true;
    }
    if (this.#tolerance < 1) {
      this.#tolerance = 0;
      return false;
    }
    this.#tolerance--;
    return true;
  }

  /** Counts an accepted request, which left at `leftAt`. */
  recordAccepted(reference: string, leftAt: number): void {
    this.#refused.delete(reference);
    this.#acceptedAt = Math.max(this.#acceptedAt, leftAt);
    if (this.#tolerance > 0)
      this.#tolerance = Math.min(MAX_TOLERANCE, this.#tolerance + TOLERANCE_PER_ACCEPTED);
  }

  /** Takes the next refusals for limits of their references: some references are refused while others are accepted. */
  expectReferenceLimits(): void {
    this.#tolerance = MAX_TOLERANCE;
  }

  #forgetOldest(): void {
    if (this.#refused.size <= MAX_REFUSED) return;
    for (const oldest of this.#refused.keys()) {
      this.#refused.delete(oldest);
      return;
    }
  }
}

/** A reference that is refused this often in a row, while others are accepted, shows that the limit is its own. */
const MIN_REPEATED = 3;

/**
 * While limits of references are expected, this many other references can be refused before a limit of the key is
 * assumed, and one more for every ten accepted requests.
 */
const MAX_TOLERANCE = 10;
const TOLERANCE_PER_ACCEPTED = 0.1;

/** How many refused references are remembered. */
const MAX_REFUSED = 1_000;
