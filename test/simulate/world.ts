/**
 * One world from a seed: processes of a shop on one database, customers, a cron job, webhooks, persons who resolve, and the service.
 * Start reading here. Things go wrong for a while, then everything heals and comes to an end. `invariants.ts` says what must hold,
 * and `swarm.ts` what can go wrong. All that happens is an event of `clock.ts`, which decides the order.
 */

import { stringField } from '../../src/support/untrusted.ts';
import { DAY, type Host, hosts, MINUTE, SECOND, useClock, VirtualClock } from './clock.ts';
import { askBeside, hear, planPresses, press, pressAgain } from './customers.ts';
import { SimulatedDatabase } from './database.ts';
import { describe, Facts } from './facts.ts';
import { invariants, type Occasions } from './invariants.ts';
import { SimulatedNetwork } from './network.ts';
import { Person } from './persons.ts';
import { Random } from './random.ts';
import { type Charge, isOpen, SimulatedService } from './service.ts';
import { leave, type Process, runSweeps, startProcess, startStray } from './shop.ts';
import { Swarm } from './swarm.ts';

/** For how long customers press and things go wrong. */
const BUSY_FOR = 12 * MINUTE;
/** So long after that, no call of that time is under way. */
const CALMS_WITHIN = 15 * MINUTE;
/** So much later, nothing that was recorded lies in the future by any clock. */
const CLOCKS_AGREE_WITHIN = 130 * MINUTE;
/** After how long, at the latest, everything has an end. */
const ENDS_WITHIN = 40 * DAY;
const MAX_ROUNDS = 500;

/** What a run showed. */
export interface WorldResult {
  /** What did not hold. */
  readonly violations: readonly { readonly name: string; readonly details: string }[];
  readonly trace: readonly string[];
  /** What happened how often: a fault that did not occur tests nothing. */
  readonly counts: Readonly<Record<string, number>>;
  readonly days: number;
  /** What can be left out: the faults that were on, and the calls of customers. */
  readonly parts: readonly string[];
}

export class World {
  readonly random: Random;
  readonly clock: VirtualClock;
  readonly swarm: Swarm;
  readonly facts = new Facts();
  readonly orders: readonly string[];
  readonly service: SimulatedService;
  readonly network: SimulatedNetwork;
  readonly database: SimulatedDatabase;
  readonly count: (what: string) => void;
  readonly #seed: number;
  readonly #without: ReadonlySet<string>;
  readonly #violations: { name: string; details: string }[] = [];
  readonly #trace: string[] = [];
  readonly #parts: string[];
  readonly #processes: Process[] = [];
  #started = 0;
  #isBusy = true;

  /** @param without what is left out, of what the seed decides: faults, and calls of customers. */
  constructor(seed: number, without: ReadonlySet<string> = new Set()) {
    this.#seed = seed;
    this.#without = without;
    this.random = Random.of(seed, 'world');
    this.clock = new VirtualClock(seed);
    this.swarm = new Swarm(seed, without);
    this.count = this.swarm.count;
    this.#parts = [...this.swarm.on];
    this.orders = ['o1', 'o2', 'o3'].slice(0, this.random.pick([1, 2, 2, 3]));
    this.service = new SimulatedService(seed, this);
    this.network = new SimulatedNetwork(seed, this);
    this.database = new SimulatedDatabase(seed, this);
  }

  // What its parts use

  readonly say = (line: string): void => {
    this.#trace.push(`${(this.clock.elapsed / 1000).toFixed(3).padStart(9)} ${line}`);
  };

  fail(name: string, details: string): void {
    this.say(`VIOLATED: ${name}: ${details}`);
    this.#violations.push({ name, details });
  }

  /** Asks every invariant about what happened. */
  readonly judge = <Occasion extends keyof Occasions>(
    occasion: Occasion,
    subject: Occasions[Occasion],
  ): void => {
    for (const [name, check] of Object.entries(invariants[occasion])) {
      const details = check(this, subject);
      if (details) this.fail(name, details);
    }
  };

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
    const present = this.#processes.filter(({ isDead, isLeaving }) => !isDead && !isLeaving);
    return present[Math.floor(place * present.length)];
  }

  // A world

  async run(): Promise<WorldResult> {
    useClock(this.clock);
    const onRejection = (reason: unknown) => this.fail('no rejection is unhandled', String(reason));
    process.on('unhandledRejection', onRejection);
    try {
      this.#plan();
      await this.clock.run(this.clock.now + BUSY_FOR);
      await this.#heal();
      await this.#bringToAnEnd();
      this.judge('end', { orders: this.orders });
    } catch (error) {
      if (!this.clock.isSpinning) throw error;
    } finally {
      // What was blocked rejects later.
      if (!this.clock.isSpinning) process.off('unhandledRejection', onRejection);
    }
    if (this.clock.isSpinning)
      this.fail('no process is blocked', 'something waits again and again for no time');
    return {
      violations: this.#violations,
      trace: this.#trace,
      counts: this.swarm.counts,
      days: this.clock.elapsed / DAY,
      parts: this.#parts,
    };
  }

  #plan(): void {
    for (let count = this.random.pick([2, 2, 3]); count > 0; count--) this.#start();
    const plans = Random.of(this.#seed, 'customers');
    for (const planned of planPresses(plans, this.orders, BUSY_FOR)) {
      this.#parts.push(planned.id);
      if (!this.#without.has(planned.id)) this.clock.after(planned.at, () => press(this, planned));
    }
    this.#everyOf(30 * SECOND, (process) => this.#sweep(process));
    this.#everyOf(MINUTE, (process) => this.#review(process));
    this.#everyOf(MINUTE, (process) => this.do(process, () => askBeside(this, process)));
    this.#everyOf(2 * MINUTE, (process) => this.harm(process, 0.5));
    if (this.swarm.happens('process: of another service')) startStray(this);
    // What the other service could be asked for stays.
    else this.#everyOf(5 * MINUTE, (process) => this.#prune(process));
  }

  /** Does something again and again while the world is busy. */
  every(interval: number, act: () => void): void {
    const again = () => {
      if (!this.#isBusy) return;
      act();
      this.clock.after(interval * (0.5 + this.random.next()), again);
    };
    this.clock.after(interval * this.random.next(), again);
  }

  #everyOf(interval: number, act: (process: Process) => void): void {
    this.every(interval, () => {
      const process = this.pickProcess();
      if (process) act(process);
    });
  }

  #start(): Process {
    const started = startProcess(this, `p${++this.#started}`);
    this.#processes.push(started);
    this.say(`${started.name} starts`);
    if (this.#isBusy && this.random.chance(0.5)) runSweeps(this, started);
    return started;
  }

  /** What is harmful is so at the worst moment: at a step of the database, or beside a request. */
  readonly harm = (host: Host, factor: number): void => {
    const process = this.#processes.find((item) => item === host);
    if (!process || process.isDead || process.frozenUntil > this.clock.now) return;
    const { swarm, random } = this;
    if (swarm.happens('process: dies', factor)) {
      this.say(`${host.name} dies`);
      host.isDead = true;
      this.facts.crashed.add(host);
      this.clock.after(random.between(0, 5_000), () => this.#start());
    } else if (swarm.happens('process: freezes', factor)) this.#freeze(host, false);
    // A clock that is set shortly before or after a sleep hides the sleep: nothing on that machine could tell.
    else if (this.clock.now - host.setAt > MINUTE && swarm.happens('process: sleeps', factor))
      this.#freeze(host, true);
    else if (this.clock.now - host.frozenUntil > MINUTE && swarm.happens('process: clock is set', factor)) {
      Object.assign(host, { ahead: random.between(-60, 60) * MINUTE, setAt: this.clock.now });
      this.say(`${host.name}: its clock is set to ${host.ahead} ms ahead`);
    } else if (swarm.happens('database: clock is set', factor)) {
      this.database.host.ahead = random.between(-60, 60) * MINUTE;
      this.facts.isDatabaseClockSet = true;
      this.say(`database: its clock is set to ${this.database.host.ahead} ms ahead`);
    } else if (swarm.happens('process: closes', factor)) {
      this.clock.after(random.between(0, 5_000), () => this.#start());
      this.do(process, () => leave(this, process));
    }
  };

  #freeze(host: Host, sleeps: boolean): void {
    const duration = this.random.pick([1_500, 15_000, 30_000, this.random.between(1_000, 5 * MINUTE)]);
    this.say(`${host.name} ${sleeps ? 'sleeps' : 'freezes'} for ${duration} ms`);
    this.clock.freeze(host, duration, sleeps);
    // Somebody notices, and does not wait until it is back.
    this.clock.after(this.random.between(0, duration), () => {
      const other = this.pickProcess();
      if (other) this.#review(other);
    });
  }

  #sweep(process: Process): void {
    const stop = new AbortController();
    this.clock.deliver(process, this.random.between(0, 20_000), () => stop.abort(new Error('stopped')));
    const budgets = [{ budget: 20_000 }, { budget: 500 }, {}, { signal: stop.signal }];
    this.do(process, async () => {
      await process.orders.sweep(this.random.pick(budgets));
      await process.followUps.sweep(this.random.pick(budgets));
    });
  }

  #review(process: Process): void {
    const thinks = this.random.pick([0, 0, 5_000, 60_000]);
    this.doJob(process, () => new Person(this, process, 'kofi').review(thinks));
    const other = this.random.chance(0.3) && this.pickProcess();
    if (other) this.doJob(other, () => new Person(this, other, 'ama').review(thinks));
  }

  #prune(process: Process): void {
    this.doJob(process, async () => {
      const before = this.#readPast(process) - this.random.between(0, 5 * MINUTE);
      const deleted = await process.journal.prune({ before });
      if (deleted === 0) return;
      this.count('happened: pruned');
      this.say(`${process.name}: prune deletes ${deleted}`);
    });
  }

  /** The time by the clock that is behind: one ahead of the database's is refused. */
  #readPast(process: Process): number {
    return Math.min(this.clock.readWall(process), this.clock.readWall(this.database.host));
  }

  hearDeleted(keys: readonly string[]): void {
    for (const key of keys) {
      const [kind, name = ''] = key.split(' ');
      if (kind === 'reference') continue;
      this.say(`${key} is deleted`);
      this.judge('deleted', { name });
      for (const { order, reference } of this.service.charges)
        if (order === name) this.facts.decide(reference);
      this.facts.forget(name);
    }
  }

  hearAccepted(charge: Charge): void {
    this.count('happened: charge');
    this.judge('accepted', charge);
    if (!this.swarm.happens('database: away')) return;
    const duration = this.random.between(2_000, 90_000);
    this.say(`database: is away for ${duration} ms`);
    this.database.awayUntil = this.clock.now + duration;
  }

  /** What a handler does beside its work: it presses again, lets a person decide, or closes its client. It might wait for that. */
  readonly callBack = async (process: Process, call: unknown): Promise<void> => {
    const order = stringField(Object(call), 'order');
    const calls: (() => unknown)[] = [
      () => order && pressAgain(this, process, order),
      () => new Person(this, process, 'yaw').review(0),
      () => this.random.chance(0.3) && leave(this, process),
    ];
    const called = this.do(process, async () => await this.random.pick(calls)());
    if (this.random.chance(0.5)) await called;
  };

  /** A webhook arrives. */
  readonly notify = (body: unknown, reference: string | undefined): void => {
    const process = this.pickProcess();
    if (!process) return;
    this.count('happened: webhook');
    this.do(process, async () => {
      const before = reference === undefined ? 0 : process.warnings;
      process.payments.notify(body);
      this.judge('notified', { body, reference, warned: process.warnings > before });
      await process.orders.notify(body);
      await process.followUps.notify(body);
    });
  };

  // The end

  async #heal(): Promise<void> {
    this.say('everything heals');
    this.#isBusy = false;
    this.swarm.isActive = false;
    this.database.awayUntil = 0;
    await this.clock.run(this.clock.now + CALMS_WITHIN);
    for (const { id, process, endedAt } of this.facts.presses.values())
      if (!process.isDead && endedAt === undefined) this.fail('every call ends', id);
    for (const charge of this.service.charges)
      if (isOpen(charge) && charge.movesLateAt === undefined)
        this.service.move(charge, this.random.pick(['success', 'failed', 'abandoned']));
    for (const process of this.#processes) {
      if (process.isDead) continue;
      this.do(process, () => leave(this, process));
      await this.clock.run(this.clock.now + 5 * MINUTE, () => process.isDead);
      if (!process.isDead) this.fail('close resolves', process.name);
      process.isDead = true;
    }
  }

  /** One process is left, which sweeps when it is asked to, until nothing is left to do. */
  async #bringToAnEnd(): Promise<void> {
    // A database that took no write has no table.
    if (this.facts.records.size === 0) return;
    await this.clock.run(this.clock.now + CLOCKS_AGREE_WITHIN);
    const end = this.clock.now + ENDS_WITHIN;
    const process = this.#start();
    for (let round = 0; ; round++) {
      const left = { nextAt: null as number | null, attention: 0 };
      const hasSwept = await this.#finish(process, async () => {
        const results = [await process.orders.sweep(), await process.followUps.sweep()];
        const times = results.flatMap((result) => result.nextAt ?? []);
        left.attention = (await process.journal.count()).attention;
        await new Person(this, process, 'kofi').review(0);
        left.nextAt = times.length > 0 ? Math.min(...times) : null;
      });
      if (!hasSwept) return;
      const isLate = ({ movesLateAt = 0 }: Charge) => movesLateAt > this.clock.now - MINUTE;
      if (left.nextAt === null && left.attention === 0 && !this.service.charges.some(isLate)) break;
      if (this.clock.now > end || round > MAX_ROUNDS)
        return this.fail('everything comes to an end', `${left.attention} are listed`);
      const wait = left.nextAt === null ? DAY : left.nextAt - this.clock.readWall(process);
      const pause = round < 60 ? MINUTE : DAY / 4;
      await this.clock.run(this.clock.now + Math.max(pause, Math.min(wait, DAY)));
    }
    await this.#finish(process, () => this.#readLast(process));
  }

  async #readLast(process: Process): Promise<void> {
    for (const order of this.orders) {
      const status = await process.orders.read(order);
      hear(this, 'the last read', this.clock.now, status);
      this.judge('last', status);
    }
    const deleted = await process.journal.prune({ before: this.#readPast(process) - 1 });
    const { records } = await process.journal.count();
    this.say(`pruned ${deleted}, left ${records}`);
    if (records > 0) this.fail('prune takes all that is over', `${records} records are left`);
  }

  async #finish(process: Process, act: () => Promise<void>): Promise<boolean> {
    let result: string | undefined;
    void hosts.run(process, act).then(
      () => {
        result = '';
      },
      (error: unknown) => {
        result = describe(error);
      },
    );
    await this.clock.run(this.clock.now + 10 * MINUTE, () => result !== undefined);
    if (result !== '') this.fail('a sweep of a healthy world ends well', result ?? 'it does not end');
    return result === '';
  }
}
