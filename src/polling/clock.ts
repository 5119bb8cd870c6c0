import { MAX_TIMEOUT_MS } from '../support/max-timeout.ts';

/**
 * The monotonic time of all waits of a client, in milliseconds, and the one timer of the client.
 *
 * The time never goes back, even if a test installs or removes fake timers. It is never behind a timer that has fired,
 * even if timers are fake and `performance` is real. If `Date` is fake too, the time follows it: one step of a test can be
 * longer than the delay of the timer that fires in it.
 */
export class PollingClock {
  readonly #onWake: () => void;
  #lastRead = performance.now();
  #offset = 0;
  #reached = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  /** Whether timers and `Date` are fake, and `performance` is not. */
  #followsDate = false;
  /** The same instant by this clock and by `Date`. */
  #baseTime = 0;
  #baseWall = 0;

  /** How far the wall clock was ahead of this clock when {@link hasSlept} was last asked. */
  #wallLead = 0;

  /** `onWake` can be called earlier than the time that was asked for. */
  constructor(onWake: () => void) {
    this.#onWake = onWake;
  }

  now(): number {
    const read = performance.now();
    if (read < this.#lastRead) this.#offset += this.#lastRead - read;
    this.#lastRead = read;
    const time = Math.max(read + this.#offset, this.#reached);
    return this.#followsDate ? this.#followDate(time) : time;
  }

  #followDate(time: number): number {
    const wall = Date.now();
    const followed = this.#baseTime + wall - this.#baseWall;
    if (followed > time) this.#reached = followed;
    else this.#setBase(time, wall);
    return Math.max(time, followed);
  }

  #setBase(time: number, wall: number): void {
    // Up, so that a deadline is reached with the step of the test that ends there.
    this.#baseTime = Math.ceil(time);
    this.#baseWall = wall;
  }

  /** From here on, {@link hasSlept} tells of a sleep. */
  watchSleep(now: number): void {
    this.#wallLead = Date.now() - now;
  }

  /** Whether the machine has slept since this was last asked. */
  hasSlept(now: number): boolean {
    const before = this.#wallLead;
    this.watchSleep(now);
    return this.#wallLead - before >= SLEEP_THRESHOLD;
  }

  /** Wakes at `time` at the latest. It fires early rather than late. */
  wakeAt(time: number, now: number): void {
    if (time >= this.#wakeAt) return;
    this.#cancelTimer();
    this.#wakeAt = time;
    const delay = limitSleep(Math.max(0, Math.ceil(time - now)));
    const setAt = this.#lastRead;
    const wall = Date.now();
    if (!this.#followsDate) this.#setBase(now, wall);
    this.#timer = setTimeout(() => {
      this.#wakeAt = Number.POSITIVE_INFINITY;
      this.#detectFakes(delay, performance.now() - setAt, Date.now() - wall);
      // A real timer fires up to 1 ms early; that does not add up.
      this.#reached = Math.max(this.#reached, now + delay);
      this.#onWake();
    }, delay);
  }

  /** Takes how much time each clock says has passed when a timer fires. */
  #detectFakes(delay: number, passed: number, wallPassed: number): void {
    // After a busy turn a real timer can fire early too, but then `Date` agrees with `performance`.
    if (passed < delay / 2 && wallPassed >= delay) this.#followsDate = true;
    else if (delay >= MIN_PROOF && passed >= delay - 1) this.#followsDate = false;
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

/** The machine slept, or its clock was set, if the wall clock got ahead by this many milliseconds. */
const SLEEP_THRESHOLD = 10_000;

/** A timer of this many milliseconds that takes as long shows that timers are real. */
const MIN_PROOF = 1_000;

/**
 * A timer stands still while the machine sleeps. A long delay is cut short, so that the poller notices the sleep: to this
 * many milliseconds, or to a fraction of a very long delay.
 */
const MAX_TIMER_DELAY = 9_000;
const MIN_SLEEP_FRACTION = 1 / 64;

function limitSleep(delay: number): number {
  if (delay <= MAX_TIMER_DELAY) return delay;
  const limited = Math.max(Math.min(MAX_TIMER_DELAY, delay / 2), delay * MIN_SLEEP_FRACTION);
  return Math.min(MAX_TIMEOUT_MS, Math.ceil(limited));
}
