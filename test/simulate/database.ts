/** A database that is slow, fails before or after a commit, hangs, and has a clock of its own. */

import { type JournalStore, memoryStore, type RecordWrite } from '../../src/stores/index.ts';
import { createHost, type Host, hosts, type VirtualClock } from './clock.ts';
import { Random } from './random.ts';
import type { Swarm } from './swarm.ts';

/** What the database tells the world. */
export interface DatabaseListeners {
  readonly onHotSpot: (place: 'before a step' | 'after a step', host: Host) => void;
  readonly onDeleted: (keys: readonly string[]) => void;
}

/** The records, and the handles on them. */
export class SimulatedDatabase {
  /** Its clock. */
  readonly host: Host;
  /** It fails until this time. */
  awayUntil = 0;
  readonly #store = memoryStore();
  readonly #clock: VirtualClock;
  readonly #random: Random;
  readonly #swarm: Swarm;
  readonly #listeners: DatabaseListeners;
  /** How long a message takes at most, in milliseconds. */
  readonly #latency: number;
  readonly #writesAll: boolean;

  constructor(seed: number, clock: VirtualClock, swarm: Swarm, listeners: DatabaseListeners) {
    this.#clock = clock;
    this.#random = Random.of(seed, 'database');
    this.#swarm = swarm;
    this.#listeners = listeners;
    this.host = createHost('database', 1, this.#random.between(-5_000, 5_000));
    this.#latency = this.#random.pick([1, 5, 50, 400]);
    this.#writesAll = this.#random.chance(0.5) || swarm.on.has('database: a record is locked');
  }

  /** A handle for one process. */
  open(): JournalStore {
    const store = this.#store;
    const one: JournalStore = {
      read: (key) => this.#step(() => store.read(key)),
      write: (key, change) => this.#step(() => this.#write({ key, change })),
      list: (query) => this.#step(async () => (await store.list?.(query)) ?? []),
      count: () => this.#step(async () => (await store.count?.()) ?? { records: 0, attention: 0 }),
      claimDue: (claim) => this.#step(async () => (await store.claimDue?.(claim)) ?? { records: [], now: 0 }),
      countDue: (query) =>
        this.#step(async () => (await store.countDue?.(query)) ?? { due: 0, nextIn: null }),
      delete: (records) =>
        this.#step(async () => {
          // Only those that still have the version are deleted.
          const kept = await Promise.all(records.map(({ key }) => store.read(key)));
          const deleted = records.filter(({ version }, index) => kept[index]?.record?.version === version);
          this.#listeners.onDeleted(deleted.map(({ key }) => key));
          return (await store.delete?.(records)) ?? 0;
        }),
    };
    if (!this.#writesAll) return one;
    return { ...one, writeAll: (writes) => this.#step(() => this.#writeAll(writes)) };
  }

  async #write({ key, change }: RecordWrite): Promise<boolean> {
    const written = await this.#store.write(key, change);
    // A driver that lost the connection tries the statement again, and finds its own commit.
    return this.#swarm.happens('database: repeats a write', 0.03)
      ? await this.#store.write(key, change)
      : written;
  }

  async #writeAll(writes: readonly RecordWrite[]): Promise<(boolean | undefined)[]> {
    const results: (boolean | undefined)[] = [];
    for (const write of writes)
      results.push(
        this.#swarm.happens('database: a record is locked', 0.7) ? undefined : await this.#write(write),
      );
    return results;
  }

  #step<T>(work: () => Promise<T>): Promise<T> {
    const host = hosts.getStore();
    if (host) this.#listeners.onHotSpot('before a step', host);
    return new Promise((resolve, reject) => {
      // The message of a process that has just died or frozen has left or has not.
      const isStopped = host && (host.isDead || host.frozenUntil > this.#clock.now);
      if (!isStopped || this.#random.chance(0.5)) this.#send(host, work, resolve, reject);
      else if (!host.isDead) this.#clock.deliver(host, 0, () => resolve(this.#step(work)));
    });
  }

  #send<T>(
    host: Host | undefined,
    work: () => Promise<T>,
    resolve: (result: T) => void,
    reject: (error: unknown) => void,
  ): void {
    const swarm = this.#swarm;
    const answer = (give: () => void) => this.#clock.deliver(host, this.#takeLatency(), give);
    const fail = () =>
      answer(() => reject(Object.assign(new Error('connection lost'), { code: 'ECONNRESET' })));
    if (this.#clock.now < this.awayUntil) return void fail();
    if (swarm.happens('database: fails before the step', 0.02)) return void fail();
    const isUnheard = swarm.happens('database: never answers', 0.01);
    if (isUnheard && this.#random.chance(0.5)) return;
    const failsAfter = swarm.happens('database: fails after the commit', 0.02);
    const isLate = swarm.happens('database: commits late', 0.01);
    this.#clock.after(this.#takeLatency() + (isLate ? this.#random.between(500, 30_000) : 0), () => {
      const running = hosts.run(this.host, work);
      running.then((result) => {
        if (failsAfter) fail();
        else if (!isUnheard) answer(() => resolve(result));
      }, reject);
      if (host && !host.isDead) this.#listeners.onHotSpot('after a step', host);
    });
  }

  #takeLatency(): number {
    if (this.#swarm.happens('database: slow step', 0.02)) return this.#random.between(500, 14_000);
    return this.#random.next() * this.#latency;
  }
}
