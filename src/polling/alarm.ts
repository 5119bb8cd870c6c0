import { LONGEST_TIMER } from '../longest-timer.ts';

/** One timer for a whole client, set to the earliest moment that anything is due. It rings early rather than late. */
export class Alarm {
  readonly #ring: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #at = Number.POSITIVE_INFINITY;

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  /** Rings at `moment`, on the clock of `performance.now()`, unless it will ring before that anyway. */
  setFor(moment: number, now: number): void {
    if (moment >= this.#at) return;
    clearTimeout(this.#timer);
    this.#at = moment;
    const delay = Math.min(LONGEST_TIMER, Math.max(0, Math.ceil(moment - now)));
    this.#timer = setTimeout(() => {
      this.#at = Number.POSITIVE_INFINITY;
      this.#ring();
    }, delay);
  }

  /** Nothing is due any more: a process that has nothing else to do can end. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#at = Number.POSITIVE_INFINITY;
  }
}
