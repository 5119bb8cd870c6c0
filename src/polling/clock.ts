/**
 * How far a timer may fire before `performance.now()` says so, in milliseconds. Real timers are up to 1 ms early; a test's
 * fake timers that leave `performance` real are early by their whole delay.
 */
const EARLY_TIMER = 10;

/**
 * The time of all waits of a client, in milliseconds. It never goes back, also where a test puts fake timers in or takes
 * them out, and it is never behind a timer that has fired: when one fires, at least its delay has passed.
 */
export class Clock {
  #read = performance.now();
  #ahead = 0;
  #reached = Number.NEGATIVE_INFINITY;

  now(): number {
    const read = performance.now();
    if (read < this.#read) this.#ahead += this.#read - read;
    this.#read = read;
    return Math.max(read + this.#ahead, this.#reached);
  }

  /** A timer that was set for `moment` has fired. */
  reach(moment: number): void {
    const early = moment - this.now();
    if (early <= 0) return;
    this.#reached = moment;
    // Real timers are early by less, and are no reason to run ahead for good.
    const lag = moment - (this.#read + this.#ahead);
    if (lag > EARLY_TIMER) this.#ahead += lag;
  }
}
