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
export class Refusals {
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
