import { MAX_TIMEOUT_MS } from '../max-timeout.ts';

/**
 * The monotonic time of all waits of a client, in milliseconds. It never goes back, even if a test installs or removes
 * fake timers. It is never behind a timer that has fired, even if timers are fake and `performance` is real.
 */
export class Clock {
  #lastRead = performance.now();
  #offset = 0;
  #reached = Number.NEGATIVE_INFINITY;

  now(): number {
    const read = performance.now();
    if (read < this.#lastRead) this.#offset += this.#lastRead - read;
    this.#lastRead = read;
    return Math.max(read + this.#offset, this.#reached);
  }

  /** Records that a timer for `time` has fired. A real timer fires up to 1 ms early; that does not add up. */
  advanceTo(time: number): void {
    this.#reached = Math.max(this.#reached, time);
  }
}

/** The one timer of a client, set to the earliest time at which anything is due. It fires early rather than late. */
export class WakeTimer {
  readonly #onWake: (time: number) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;

  /** `onWake` gets the time that has been reached. It can be earlier than the time that was asked for. */
  constructor(onWake: (time: number) => void) {
    this.#onWake = onWake;
  }

  /** Wakes at `time` at the latest, by the clock that `now` was read from. */
  scheduleAt(time: number, now: number): void {
    if (time >= this.#wakeAt) return;
    this.#cancelTimer();
    this.#wakeAt = time;
    const delay = limitSleep(Math.max(0, Math.ceil(time - now)));
    this.#timer = setTimeout(() => {
      this.#wakeAt = Number.POSITIVE_INFINITY;
      this.#onWake(now + delay);
    }, delay);
  }

  /** Removes the timer, so that a process with nothing else to do can exit. */
  clear(): void {
    this.#cancelTimer();
    this.#wakeAt = Number.POSITIVE_INFINITY;
  }

  /** The fake timers of Node 22.0 throw an error for `undefined`. */
  #cancelTimer(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
  }
}

/**
 * A timer stands still while the machine sleeps. A long delay is cut short, so that the poller notices the sleep: to this
 * many milliseconds, or to a fraction of a very long delay.
 */
const MAX_SLEEP = 9_000;
const MIN_SLEEP_FRACTION = 1 / 64;

function limitSleep(delay: number): number {
  if (delay <= MAX_SLEEP) return delay;
  const limited = Math.max(Math.min(MAX_SLEEP, delay / 2), delay * MIN_SLEEP_FRACTION);
  return Math.min(MAX_TIMEOUT_MS, Math.ceil(limited));
}
