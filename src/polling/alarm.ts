import { MAX_TIMEOUT_MS } from '../longest-timer.ts';

/**
 * A timer stands still while the machine sleeps, so a long one rings in between to let that be noticed: after 9 s, in
 * milliseconds, or after this part of a very long one.
 */
const LONGEST_UNNOTICED = 9_000;
const UNNOTICED_PART = 1 / 64;

function delayUntil(moment: number, now: number): number {
  const delay = Math.max(0, Math.ceil(moment - now));
  if (delay <= LONGEST_UNNOTICED) return delay;
  const inBetween = Math.max(Math.min(LONGEST_UNNOTICED, delay / 2), delay * UNNOTICED_PART);
  return Math.min(MAX_TIMEOUT_MS, Math.ceil(inBetween));
}

/** One timer for a whole client, set to the earliest moment that anything is due. It rings early rather than late. */
export class WakeTimer {
  readonly #onWake: (moment: number) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #at = Number.POSITIVE_INFINITY;

  /** `ring` gets the moment that has been reached: that of the alarm, or an earlier one. */
  constructor(ring: (moment: number) => void) {
    this.#onWake = ring;
  }

  /** Rings at `moment`, on the clock that `now` is read from, unless it will ring before that anyway. */
  scheduleAt(moment: number, now: number): void {
    if (moment >= this.#at) return;
    clearTimeout(this.#timer);
    this.#at = moment;
    const delay = delayUntil(moment, now);
    this.#timer = setTimeout(() => {
      this.#at = Number.POSITIVE_INFINITY;
      this.#onWake(now + delay);
    }, delay);
  }

  /** Nothing is due any more: a process that has nothing else to do can end. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#at = Number.POSITIVE_INFINITY;
  }
}
