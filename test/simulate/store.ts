/** A database that is slow, fails before or after a commit, and hangs. */

import { type JournalStore, memoryStore } from '../../src/journal/index.ts';
import { hosts, type Random, type VirtualClock } from './clock.ts';

export interface StoreRules {
  faults: number;
  /** How far the clock of the database is ahead of the others, in milliseconds. It can be set. */
  ahead: number;
}

/** The records, and the handles on them. */
export class SimulatedDatabase {
  readonly store = memoryStore();
  readonly rules: StoreRules;
  readonly #clock: VirtualClock;
  readonly #random: Random;

  constructor(clock: VirtualClock, random: Random, rules: StoreRules) {
    this.#clock = clock;
    this.#random = random;
    this.rules = rules;
  }

  /** A handle for one process. */
  open(): JournalStore {
    const { store } = this;
    return {
      read: (key) => this.#step(() => store.read(key)),
      write: (key, change) => this.#step(() => store.write(key, change)),
      list: (query) => this.#step(async () => (await store.list?.(query)) ?? []),
      count: () => this.#step(async () => (await store.count?.()) ?? { records: 0, attention: 0 }),
      claimDue: (claim) => this.#step(async () => (await store.claimDue?.(claim)) ?? { records: [], now: 0 }),
      countDue: (query) =>
        this.#step(async () => (await store.countDue?.(query)) ?? { due: 0, nextIn: null }),
      delete: (records) => this.#step(async () => (await store.delete?.(records)) ?? 0),
    };
  }

  #step<T>(work: () => Promise<T>): Promise<T> {
    const random = this.#random;
    const host = hosts.getStore();
    const fault = random.chance(this.rules.faults) ? random.pick(FAULTS) : undefined;
    return new Promise((resolve, reject) => {
      const answer = (give: () => void) => this.#clock.set(give, this.#latency(), host);
      const fail = () =>
        answer(() => reject(Object.assign(new Error('connection lost'), { code: 'ECONNRESET' })));
      this.#clock.set(
        () => {
          if (fault === 'before') return void fail();
          if (fault === 'never') return;
          this.#clock
            .shift(this.rules.ahead, work)
            .then(
              (result) =>
                fault === 'after' ? fail() : fault === 'unheard' ? undefined : answer(() => resolve(result)),
              reject,
            );
        },
        this.#latency(),
        undefined,
      );
    });
  }

  #latency(): number {
    const random = this.#random;
    if (random.chance(this.rules.faults / 4)) return random.between(500, 14_000);
    return random.chance(0.2) ? random.between(1, 40) : random.between(0, 3);
  }
}

const FAULTS = ['before', 'before', 'after', 'after', 'never', 'unheard'] as const;
