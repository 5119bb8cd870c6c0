/** A database that is slow, fails before or after a commit, hangs, and has a clock of its own. */

import { DatabaseSync } from 'node:sqlite';
import { type JournalStore, memoryStore, type RecordWrite } from '../../src/stores/index.ts';
import { createConnectionRunner } from '../../src/stores/sqlite/connection.ts';
import { createSqliteStore } from '../../src/stores/sqlite/store.ts';
import { wrapStore } from '../helpers/wrapped-store.ts';
import { createHost, type Host, hosts } from './clock.ts';
import { Random } from './random.ts';
import type { World } from './world.ts';

/** The records, and the handles on them. */
export class SimulatedDatabase {
  /** Its clock. */
  readonly host: Host;
  /** It fails until this time. */
  awayUntil = 0;
  readonly #world: World;
  readonly #random: Random;
  readonly #store: JournalStore;
  /** How long a message takes at most, in milliseconds. */
  readonly #latency: number;
  readonly #writesAll: boolean;

  constructor(seed: number, world: World) {
    this.#world = world;
    this.#random = Random.of(seed, 'database');
    this.host = createHost('database', 1, this.#random.between(-5_000, 5_000));
    this.#latency = this.#random.pick([1, 5, 50, 400]);
    this.#writesAll = this.#random.chance(0.5) || world.swarm.on.has('database: a record is locked');
    const isSqlite = this.#random.chance(0.1);
    this.#store = isSqlite
      ? createSqliteStore(createConnectionRunner(new DatabaseSync(':memory:')), 'journal')
      : memoryStore();
    if (isSqlite) world.count('database: SQLite');
  }

  /** A handle for one process. */
  open(): JournalStore {
    const store: JournalStore = {
      ...this.#store,
      write: (key, change) => this.#write({ key, change }),
      writeAll: (writes) => this.#writeAll(writes),
      delete: async (records) => {
        // Only those that still have the version are deleted.
        const kept = await Promise.all(records.map(({ key }) => this.#store.read(key)));
        const deleted = records.filter(({ version }, index) => kept[index]?.record?.version === version);
        this.#world.hearDeleted(deleted.map(({ key }) => key));
        return (await this.#store.delete?.(records)) ?? 0;
      },
    };
    if (!this.#writesAll) delete store.writeAll;
    return wrapStore(store, (_, run) => this.#step(run));
  }

  async #write({ key, change }: RecordWrite): Promise<boolean> {
    this.#world.judge('written', { key, text: change.text });
    const written = await this.#store.write(key, change);
    if (written) this.#world.facts.records.set(key, change.text);
    // A driver that lost the connection tries the statement again, and finds its own commit.
    const isRepeated = this.#world.swarm.happens('database: repeats a write');
    return isRepeated ? await this.#store.write(key, change) : written;
  }

  async #writeAll(writes: readonly RecordWrite[]): Promise<(boolean | undefined)[]> {
    const results: (boolean | undefined)[] = [];
    for (const write of writes) {
      const isLocked = this.#world.swarm.happens('database: a record is locked');
      results.push(isLocked ? undefined : await this.#write(write));
    }
    return results;
  }

  #step(work: () => Promise<unknown>): Promise<unknown> {
    const host = hosts.getStore();
    if (host) this.#world.harm(host, 0.003);
    return new Promise((resolve, reject) => {
      // The message of a process that has just died or frozen has left or has not.
      const isStopped = host && (host.isDead || host.frozenUntil > this.#world.clock.now);
      if (!isStopped || this.#random.chance(0.5)) this.#send(host, work, resolve, reject);
      else if (!host.isDead) this.#world.clock.deliver(host, 0, () => resolve(this.#step(work)));
    });
  }

  #send(
    host: Host | undefined,
    work: () => Promise<unknown>,
    resolve: (result: unknown) => void,
    reject: (error: unknown) => void,
  ): void {
    const { swarm, clock, harm } = this.#world;
    const answer = (give: () => void) => clock.deliver(host, this.#takeLatency(), give);
    const fail = () =>
      answer(() => reject(Object.assign(new Error('connection lost'), { code: 'ECONNRESET' })));
    if (clock.now < this.awayUntil || swarm.happens('database: fails before the step')) return void fail();
    const isUnheard = swarm.happens('database: never answers');
    if (isUnheard && this.#random.chance(0.5)) return;
    const failsAfter = swarm.happens('database: fails after the commit');
    const isLate = swarm.happens('database: commits late');
    clock.after(this.#takeLatency() + (isLate ? this.#random.between(500, 30_000) : 0), () => {
      const running = hosts.run(this.host, work);
      running.then((result) => {
        if (failsAfter) fail();
        else if (!isUnheard) answer(() => resolve(result));
      }, reject);
      if (host && !host.isDead) harm(host, 0.003);
    });
  }

  #takeLatency(): number {
    if (this.#world.swarm.happens('database: slow step')) return this.#random.between(500, 14_000);
    return this.#random.next() * this.#latency;
  }
}
