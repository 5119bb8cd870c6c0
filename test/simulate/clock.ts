/**
 * Virtual time. Every timer belongs to the process that set it: a frozen process runs none until it thaws, a dead one none ever. All
 * that reaches a process comes by a timer, so it neither computes nor hears anything meanwhile.
 */

import { AsyncLocalStorage } from 'node:async_hooks';

/** A process of the shop, as its timers see it. */
export interface Host {
  readonly name: string;
  isDead: boolean;
  frozenUntil: number;
}

interface Timer {
  readonly id: number;
  at: number;
  readonly order: number;
  readonly run: () => void;
  readonly host: Host | undefined;
  readonly every: number | undefined;
}

/** Numbers that are the same for the same seed: mulberry32. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };

  chance = (probability: number): boolean => this.next() < probability;

  between = (least: number, most: number): number => Math.round(least + this.next() * (most - least));

  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.next() * items.length)];
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  }
}

/** What runs now. */
export const hosts = new AsyncLocalStorage<Host | undefined>();

const realImmediate = setImmediate;
const START = Date.UTC(2026, 10, 1);

export class VirtualClock {
  now = START;
  readonly #timers = new Map<number, Timer>();
  readonly #random: Random;
  #ids = 0;
  #ahead = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Milliseconds since the world began. */
  get elapsed(): number {
    return this.now - START;
  }

  /** Runs work, as far as it goes at once, by a clock that is ahead. */
  shift<T>(ahead: number, work: () => T): T {
    this.#ahead = ahead;
    const result = work();
    this.#ahead = 0;
    return result;
  }

  set(run: () => void, delay = 0, host = hosts.getStore(), every?: number): number {
    const id = ++this.#ids;
    const at = this.now + Math.max(0, Number(delay) || 0);
    // Timers of one time fire in any order.
    this.#timers.set(id, { id, at, order: this.#random.next(), run, host, every });
    return id;
  }

  clear(id: unknown): void {
    this.#timers.delete(Number(id));
  }

  /** The timers that a process has not cleared. */
  countTimersOf = (host: Host) => [...this.#timers.values()].filter((timer) => timer.host === host).length;

  /** Replaces the clocks, timers and random numbers of this thread. */
  install(): void {
    const handleOf = (id: number) => ({ unref() {}, ref() {}, [Symbol.toPrimitive]: () => id });
    const random = this.#random;
    Object.assign(globalThis, {
      setTimeout: (run: () => void, delay?: number) => handleOf(this.set(run, delay)),
      setInterval: (run: () => void, delay = 1) => handleOf(this.set(run, delay, hosts.getStore(), delay)),
      clearTimeout: (id: unknown) => id !== undefined && this.clear(id),
      clearInterval: (id: unknown) => id !== undefined && this.clear(id),
    });
    Date.now = () => Math.floor(this.now + this.#ahead);
    performance.now = () => this.elapsed;
    Math.random = random.next;
    let ids = 0;
    crypto.randomUUID = () => `00000000-0000-4000-8000-${(++ids).toString(16).padStart(12, '0')}`;
  }

  /** Lets time pass, timer by timer, until a time, or until a condition holds. */
  async run(until: number, isOver = () => false): Promise<void> {
    await settle();
    while (!isOver()) {
      const timer = this.#takeNext(until);
      if (!timer) break;
      this.now = Math.max(this.now, timer.at);
      if (timer.every !== undefined) this.#timers.set(timer.id, { ...timer, at: this.now + timer.every });
      hosts.run(timer.host, timer.run);
      await settle();
    }
    if (!isOver()) this.now = Math.max(this.now, until);
  }

  #takeNext(until: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers.values()) {
      if (timer.host?.isDead) this.#timers.delete(timer.id);
      else {
        if (timer.host && timer.host.frozenUntil > timer.at) timer.at = timer.host.frozenUntil;
        if (!next || timer.at < next.at || (timer.at === next.at && timer.order < next.order)) next = timer;
      }
    }
    if (!next || next.at > until) return undefined;
    this.#timers.delete(next.id);
    return next;
  }
}

/** Runs everything that needs no time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => realImmediate(resolve));
}
