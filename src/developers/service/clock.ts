import { MAX_TIMEOUT_MS } from '../../support/max-timeout.ts';

/** The latest time that a date can have, in epoch milliseconds. */
const MAX_DATE = 8.64e15;

interface Alarm {
  readonly at: number;
  readonly ring: () => void;
  timer?: ReturnType<typeof setTimeout>;
}

/**
 * The time of the service in memory, in epoch milliseconds. It follows `Date.now()`, so that a test's fake clock works,
 * and {@link advance} moves it ahead.
 */
export class Clock {
  #offset = 0;
  readonly #alarms = new Set<Alarm>();

  now(): number {
    return Date.now() + this.#offset;
  }

  /**
   * Calls `ring` once the time is `at`, or later. Such a timer does not keep a process alive.
   *
   * @returns a function that cancels it
   */
  schedule(at: number, ring: () => void): () => void {
    const alarm: Alarm = { at, ring };
    this.#alarms.add(alarm);
    this.#start(alarm);
    return () => this.#cancel(alarm);
  }

  /**
   * Moves the time ahead. What became due happens at once, in the order of its time.
   *
   * @throws {RangeError} if the milliseconds are negative, or lead to a time that no date can have
   */
  advance(milliseconds: number): void {
    const target = this.now() + milliseconds;
    if (!(milliseconds >= 0 && target <= MAX_DATE)) {
      throw new RangeError(`The time can be advanced by 0 or more milliseconds, not by ${milliseconds}.`);
    }
    for (let next = this.#findNext(target); next; next = this.#findNext(target)) {
      this.#offset += Math.max(next.at - this.now(), 0);
      this.#ring(next);
    }
    this.#offset += Math.max(target - this.now(), 0);
    for (const alarm of this.#alarms) this.#start(alarm);
  }

  clear(): void {
    for (const alarm of this.#alarms) this.#cancel(alarm);
  }

  #start(alarm: Alarm): void {
    clearTimeout(alarm.timer);
    const delay = Math.min(Math.max(alarm.at - this.now(), 0), MAX_TIMEOUT_MS);
    alarm.timer = setTimeout(() => {
      // The delay was too long for one timer, or the timer fired slightly early.
      if (this.now() < alarm.at) this.#start(alarm);
      else this.#ring(alarm);
    }, delay);
    if (typeof alarm.timer === 'object') alarm.timer.unref?.();
  }

  #ring(alarm: Alarm): void {
    this.#cancel(alarm);
    alarm.ring();
  }

  #cancel(alarm: Alarm): void {
    clearTimeout(alarm.timer);
    this.#alarms.delete(alarm);
  }

  #findNext(target: number): Alarm | undefined {
    let first: Alarm | undefined;
    for (const alarm of this.#alarms) {
      if (alarm.at <= target && (!first || alarm.at < first.at)) first = alarm;
    }
    return first;
  }
}
