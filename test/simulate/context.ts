/** What the parts of a world share: its seed, its clock, what went wrong, and the trace. */

import type { FollowUps } from '../../src/follow-ups/index.ts';
import type { PaymentsClient } from '../../src/index.ts';
import type { OrderPayments } from '../../src/orders/index.ts';
import type { Journal } from '../../src/stores/index.ts';
import { type Host, hosts, VirtualClock } from './clock.ts';
import type { SimulatedDatabase } from './database.ts';
import { describe, Facts } from './facts.ts';
import { invariants, type Occasions } from './invariants.ts';
import { Random } from './random.ts';
import type { SimulatedService } from './service.ts';
import { Swarm } from './swarm.ts';

/** One process of the shop. Its properties are those of the host, too, by which the clock knows it. */
export interface Process extends Host {
  readonly payments: PaymentsClient;
  readonly journal: Journal;
  readonly orders: OrderPayments;
  readonly followUps: FollowUps;
  /** What `run` returned. */
  readonly runs: Promise<unknown>[];
  /** What it does with its journal beside the client. */
  readonly jobs: Promise<unknown>[];
  /** It is being closed, or was: nothing new is asked of it. */
  isLeaving: boolean;
}

/** What did not hold. */
export interface Violation {
  readonly name: string;
  readonly details: string;
}

export abstract class Context {
  abstract readonly service: SimulatedService;
  abstract readonly database: SimulatedDatabase;
  readonly random: Random;
  readonly clock: VirtualClock;
  readonly swarm: Swarm;
  readonly facts: Facts;
  readonly orders: readonly string[];
  protected readonly violations: Violation[] = [];
  protected readonly trace: string[] = [];
  protected readonly processes: Process[] = [];
  /** What can be left out: the faults that are on, and the calls of customers. */
  protected readonly parts: string[] = [];
  readonly #without: ReadonlySet<string>;

  /** @param without what is left out, of what the seed decides: faults, and calls of customers. */
  constructor(seed: number, without: ReadonlySet<string>) {
    this.#without = without;
    this.random = Random.of(seed, 'world');
    this.clock = new VirtualClock(seed);
    this.swarm = new Swarm(seed, without);
    this.parts.push(...this.swarm.on);
    this.facts = new Facts(() => this.clock.now);
    this.orders = ['o1', 'o2', 'o3'].slice(0, this.random.pick([1, 2, 2, 3]));
  }

  say(line: string): void {
    this.trace.push(`${(this.clock.elapsed / 1000).toFixed(3).padStart(9)} ${line}`);
  }

  count = (what: string): void => this.swarm.count(what);

  isLeftOut(part: string): boolean {
    this.parts.push(part);
    return this.#without.has(part);
  }

  fail(name: string, details: string): void {
    this.say(`VIOLATED: ${name}: ${details}`);
    this.violations.push({ name, details });
  }

  /** Asks every invariant about what happened. */
  judge<Occasion extends keyof Occasions>(occasion: Occasion, subject: Occasions[Occasion]): void {
    const known = { service: this.service, facts: this.facts, now: this.clock.now };
    for (const [name, check] of Object.entries(invariants[occasion])) {
      const details = check(known, subject);
      if (details) this.fail(name, details);
    }
  }

  /** A process does something. What it rejects with is a line of the trace. */
  do(process: Process, act: () => Promise<unknown>): Promise<unknown> {
    return hosts.run(process, () =>
      act().catch((error: unknown) => this.say(`${process.name}: ${describe(error)}`)),
    );
  }

  /** As `do`, for a job of the shop's own that uses its journal: the shop waits for it before it ends the database. */
  doJob(process: Process, act: () => Promise<unknown>): void {
    process.jobs.push(this.do(process, act));
  }

  /** @param place from 0 to 1: the same one means the same process. */
  pickProcess(place = this.random.next()): Process | undefined {
    const present = this.processes.filter(({ isDead, isLeaving }) => !isDead && !isLeaving);
    return present[Math.floor(place * present.length)];
  }
}
