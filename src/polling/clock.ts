/**
 * The time of all waits of a client, in milliseconds. It never goes back, also where a test puts fake timers in or takes
 * them out. It is never behind a timer that has fired, also where those are fake and `performance` is real: when a timer
 * fires, at least its delay has passed.
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

  /** A timer that was set for `moment` has fired. Real ones are up to 1 ms early, and that does not add up. */
  reach(moment: number): void {
    this.#reached = Math.max(this.#reached, moment);
  }
}
