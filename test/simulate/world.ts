/**
 * One world from a seed: processes of a shop on one database, customers, a cron job, webhooks, persons who resolve, and the service.
 * The service's own ledger is compared with what the shop was told, on the way and at the end.
 */

import { createFollowUps, type FollowUps } from '../../src/follow-ups/index.ts';
import { JournalError, PaymentsClient } from '../../src/index.ts';
import { type AttentionItem, type Journal, memoryJournal } from '../../src/journal/index.ts';
import { createOrderPayments, type OrderPayments, type OrderStatus } from '../../src/orders/index.ts';
import { type Host, hosts, Random, VirtualClock } from './clock.ts';
import { type Charge, SimulatedService, statusOf } from './service.ts';
import { SimulatedDatabase } from './store.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
/** For how long customers press and things go wrong. */
const BUSY_FOR = 20 * MINUTE;
/** After how long, at the latest, everything has an end. */
const ENDS_WITHIN = 40 * DAY;
/** A person decides only when no request of the payment can arrive any more. */
const PERSON_WAITS = 2 * MINUTE;

interface Process extends Host {
  readonly payments: PaymentsClient;
  readonly journal: Journal;
  readonly orderPayments: OrderPayments;
  readonly followUps: FollowUps;
}

interface Press {
  readonly id: string;
  readonly order: string;
  readonly startedAt: number;
  readonly startAnother: boolean;
  readonly amount: string;
}

/** What a run showed. */
export interface WorldResult {
  readonly problems: readonly string[];
  readonly log: readonly string[];
  /** What happened how often: a fault that did not occur tests nothing. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface WorldOptions {
  readonly seed: number;
  /** Overrides what the seed decides. */
  readonly faults?: number;
  readonly orders?: number;
}

const schedule = { initialDelay: 4_000, minDelay: 3_000, maxDelay: 15_000, timeout: 5 * MINUTE };

export class World {
  readonly random: Random;
  readonly clock: VirtualClock;
  readonly service: SimulatedService;
  readonly database: SimulatedDatabase;
  readonly problems: string[] = [];
  readonly log: string[] = [];
  readonly counts: Record<string, number> = {};
  readonly #processes: Process[] = [];
  readonly #presses = new Map<string, Press>();
  readonly #prices = new Map<string, Set<string>>();
  /** What persons decided about a transaction: paid back, or another one's. */
  readonly #decided = new Map<string, number>();
  readonly #delivered = new Map<string, string>();
  /** Since when the shop knows that an order is paid. */
  readonly #knownPaid = new Map<string, number>();
  readonly #finals = new Set<string>();
  readonly #setsClock: boolean;
  readonly #harmEvery: number;
  #started = 0;
  #isBusy = true;

  constructor({ seed, faults, orders = 3 }: WorldOptions) {
    this.random = new Random(seed);
    this.clock = new VirtualClock(this.random);
    const level = faults ?? this.random.pick([0, 0.02, 0.06, 0.15]);
    const say = (line: string) => this.say(line);
    this.service = new SimulatedService(
      this.clock,
      this.random,
      {
        faults: this.random.chance(0.8) ? level : 0,
        suppresses: this.random.pick(['none', 'none', 'equal', 'any'] as const),
      },
      say,
    );
    this.database = new SimulatedDatabase(this.clock, this.random, {
      faults: this.random.chance(0.7) ? level / 2 : 0,
      ahead: 0,
    });
    this.#setsClock = this.random.chance(0.2);
    this.#harmEvery = this.random.pick([MINUTE, 3 * MINUTE, 10 * MINUTE]);
    this.service.onAccepted = (charge) => this.#onAccepted(charge);
    this.service.onChanged = (charge) => this.#sendWebhook(charge);
    for (let order = 1; order <= orders; order++) this.#planOrder(`o${order}`);
    this.#planKey('k1');
  }

  say(line: string): void {
    this.log.push(`${(this.clock.elapsed / 1000).toFixed(3)} ${line}`);
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  fail(problem: string): void {
    this.say(`PROBLEM ${problem}`);
    this.problems.push(problem);
  }

  async run(): Promise<WorldResult> {
    this.clock.install();
    const onRejection = (reason: unknown) => this.fail(`unhandled rejection: ${String(reason)}`);
    process.on('unhandledRejection', onRejection);
    try {
      this.#start();
      this.#start();
      this.#every(30 * SECOND, () => this.#sweep());
      this.#every(45 * SECOND, () => this.#review());
      this.#every(this.#harmEvery, () => this.#harm());
      await this.clock.run(this.clock.now + BUSY_FOR);
      await this.#heal();
      await this.#bringToAnEnd();
      this.#checkEnd();
      await this.#leave();
    } finally {
      process.off('unhandledRejection', onRejection);
    }
    return { problems: this.problems, log: this.log, counts: this.counts };
  }

  // Processes

  #start(): Process {
    const host: Host = { name: `p${++this.#started}`, isDead: false, frozenUntil: 0 };
    const started = hosts.run(host, () => {
      const journal = memoryJournal({ store: this.database.open() });
      const payments = new PaymentsClient({
        apiKey: 'sk_test_4vK9qLm2Xw7RtZ',
        baseUrl: 'https://payments.example/api/v1',
        journal,
        polling: schedule,
        fetch: this.service.fetch,
        logger: { debug() {}, info() {}, warn() {}, error() {} },
      });
      const handle =
        <T>(name: string, act: (call: T) => void) =>
        async (call: T) => {
          if (this.random.chance(this.service.rules.faults)) throw new Error(`${name} fails`);
          act(call);
          await new Promise<void>((resolve) => void setTimeout(resolve, this.random.between(1, 3_000)));
        };
      const orderPayments = createOrderPayments({
        payments,
        journal,
        onPaid: handle('onPaid', ({ order, payment, transaction }) =>
          this.#onPaid(order, payment.reference ?? '', transaction.amount, payment.amount),
        ),
        onUnpaid: handle('onUnpaid', ({ order }) => this.say(`onUnpaid ${order}`)),
        onAttention: handle('onAttention', ({ key, reason }) => this.say(`onAttention ${key} ${reason}`)),
      });
      const followUps = createFollowUps({
        payments,
        journal,
        onFinal: handle('onFinal', ({ key, reference, transaction: { status } }) => {
          this.say(`onFinal ${key} ${reference} ${status}`);
          this.#finals.add(`${reference} ${status}`);
          const charge = this.service.find(reference);
          if (!charge?.history.some((item) => item.status === status))
            this.fail(`onFinal tells ${status} of ${reference}`);
        }),
        onAttention: handle('onAttention', ({ key, reason }) => this.say(`onAttention ${key} ${reason}`)),
      });
      // Its properties are those of the host, by which the clock knows it.
      return Object.assign(host, { payments, journal, orderPayments, followUps });
    });
    this.#processes.push(started);
    this.say(`${host.name} starts`);
    if (this.random.chance(0.5))
      this.#in(started, async () => {
        void started.orderPayments.run().catch((error: unknown) => this.fail(`run rejects: ${error}`));
        void started.followUps.run().catch((error: unknown) => this.fail(`run rejects: ${error}`));
      });
    return started;
  }

  get #alive(): Process[] {
    return this.#processes.filter(({ isDead }) => !isDead);
  }

  #in(host: Process, act: () => Promise<unknown>): void {
    hosts.run(host, () => void act().catch((error: unknown) => this.say(`${host.name}: ${describe(error)}`)));
  }

  #every(interval: number, act: () => void): void {
    const again = () => {
      if (!this.#isBusy) return;
      act();
      this.clock.set(again, interval * (0.5 + this.random.next()), undefined);
    };
    this.clock.set(again, interval, undefined);
  }

  /** A process dies or freezes. */
  #harm(): void {
    const host = this.random.pick(this.#alive);
    if (this.service.rules.faults === 0) return;
    if (this.random.chance(0.3)) {
      this.say(`${host.name} dies`);
      this.count('death');
      host.isDead = true;
      this.#start();
    } else if (this.random.chance(0.4)) {
      const duration = this.random.between(2_000, 5 * MINUTE);
      this.say(`${host.name} freezes for ${duration}`);
      this.count('freeze');
      host.frozenUntil = this.clock.now + duration;
    } else if (this.#setsClock) {
      const { rules } = this.database;
      rules.ahead = this.random.between(-60, 60) * MINUTE;
      this.say(`the clock of the database is ahead by ${rules.ahead}`);
      this.count('clock');
    }
  }

  #sweep(): void {
    const host = this.random.pick(this.#alive);
    this.#in(host, async () => {
      await host.orderPayments.sweep({ budget: 20_000 });
      await host.followUps.sweep({ budget: 20_000 });
    });
  }

  #sendWebhook({ reference }: Charge): void {
    const times = this.random.pick([0, 1, 1, 2]);
    for (let time = 0; time < times; time++)
      this.clock.set(
        () => {
          const host = this.random.pick(this.#alive);
          this.count('webhook');
          this.#in(host, async () => {
            await host.orderPayments.notify({ data: { reference } });
            await host.followUps.notify(reference);
          });
        },
        this.random.between(0, 20_000),
        undefined,
      );
  }

  // Customers

  #planOrder(order: string): void {
    const { random, clock } = this;
    this.#prices.set(order, new Set());
    const begins = random.between(0, 5 * MINUTE);
    let at = begins;
    for (let press = random.between(2, 7); press > 0; press--) {
      clock.set(() => this.#press(order), at, undefined);
      at += random.chance(0.4) ? random.between(0, 400) : random.between(1_000, 4 * MINUTE);
    }
  }

  #press(order: string): void {
    const { random } = this;
    const host = random.pick(this.#alive);
    const press: Press = {
      id: `${order}-${this.#presses.size + 1}`,
      order,
      startedAt: this.clock.now,
      startAnother: random.chance(0.25),
      amount: random.chance(0.85) ? '10.00' : '12.00',
    };
    this.#presses.set(press.id, press);
    this.#prices.get(order)?.add(press.amount);
    const price = {
      amount: press.amount,
      currency: 'GHS',
      customer_email: `${order}.${press.id}@example.com`,
    };
    const isPage = random.chance(0.2);
    const phone = random.pick(['0244123456', '0244123457']);
    const abort = new AbortController();
    if (random.chance(0.15))
      this.clock.set(() => abort.abort(new Error('the customer left')), random.between(0, 3_000), host);
    const options = { startAnother: press.startAnother, signal: abort.signal };
    this.count('press');
    this.say(
      `${host.name}: press ${press.id} ${press.amount} ${isPage ? 'page' : phone} ${press.startAnother ? 'startAnother' : ''}`,
    );
    this.#in(host, async () => {
      const { orderPayments } = host;
      const status = isPage
        ? await orderPayments.checkout(order, price, options)
        : await orderPayments.charge(order, { ...price, phone, network: 'mtn' }, options);
      this.#hear(`press ${press.id}`, status, press.startedAt);
      if (random.chance(0.5)) {
        const startedAt = this.clock.now;
        this.#hear(`wait ${press.id}`, await orderPayments.wait(order, { timeout: 90_000 }), startedAt);
      }
      const startedAt = this.clock.now;
      this.#hear('read', await orderPayments.read(order), startedAt);
    });
  }

  #planKey(key: string): void {
    const { random } = this;
    for (let time = random.between(1, 5); time > 0; time--)
      this.clock.set(
        () => {
          const host = random.pick(this.#alive);
          this.say(`${host.name}: charge under ${key}`);
          this.#in(host, async () => {
            const result = await host.payments.chargeMobileMoney(
              {
                amount: '10.00',
                customer_email: `${key}.${key}@example.com`,
                phone: '0244123458',
                network: 'mtn',
              },
              { idempotencyKey: key },
            );
            this.say(`${key}: ${result.reference} replayed ${result.replayed}`);
          });
        },
        random.between(0, 8 * MINUTE),
        undefined,
      );
  }

  // What must hold on the way

  #onAccepted(charge: Charge): void {
    this.count('charge');
    const earlier = this.service.charges.filter((other) => other.order === charge.order && other !== charge);
    const press = this.#presses.get(charge.press);
    const open = earlier.filter(({ reference }) => !this.#decided.has(reference));
    if (!press) {
      if (open.length > 0) this.fail(`${charge.order} is charged again: ${charge.reference}`);
      return;
    }
    const paidSince = this.#knownPaid.get(charge.order) ?? Number.POSITIVE_INFINITY;
    if (paidSince < press.startedAt)
      this.fail(`${charge.order} is charged after it was known to be paid: ${charge.reference}`);
    if (press.startAnother) return;
    for (const other of open) {
      const { startAnother = false } = this.#presses.get(other.press) ?? {};
      // It was begun beside this one.
      if (startAnother && this.#isSentAfter(other, press)) continue;
      if (!wasEndedSince(other, press.startedAt - SECOND))
        this.fail(`${charge.reference} is made while ${other.reference} of ${charge.order} might be paid`);
    }
  }

  #isSentAfter(charge: Charge, { startedAt }: Press): boolean {
    return this.service.posts.some(
      ({ reference, sentAt }) => reference === charge.reference && sentAt >= startedAt,
    );
  }

  #hear(what: string, status: OrderStatus, since: number): void {
    const { order, state } = status;
    const payment = 'payment' in status ? `${status.payment.key} ${status.payment.reference ?? '-'}` : '';
    this.say(
      `${what} of ${order}: ${state} ${payment} ${'reason' in status ? status.reason : ''} ${'error' in status && status.error ? describe(status.error) : ''}`,
    );
    this.count(state);
    if (state === 'paid') {
      const charge = this.service.find(status.payment.reference ?? '');
      if (!charge?.history.some((item) => item.status === 'success'))
        this.fail(`${order} is said to be paid`);
      this.#knownPaid.set(
        order,
        Math.min(this.#knownPaid.get(order) ?? Number.POSITIVE_INFINITY, this.clock.now),
      );
    }
    if (state === 'unpaid') this.#hearUnpaid(what, order, since);
  }

  /** Nothing that was sent before the call might be charged: each was seen to end, or a person decided. */
  #hearUnpaid(what: string, order: string, since: number): void {
    for (const post of this.service.posts) {
      const charge = this.service.find(post.reference ?? '');
      if (post.order !== order || post.sentAt >= since || !charge || this.#decided.has(charge.reference))
        continue;
      // It was answered with the charge of another order.
      if (charge.order !== order) continue;
      if (!wasEndedSince(charge, 0))
        this.fail(`${what} says that ${order} is unpaid, and ${charge.reference} might be paid`);
    }
  }

  #onPaid(order: string, reference: string, amount: string, asked: string): void {
    this.say(`onPaid ${order} ${reference}`);
    this.count('onPaid');
    const charge = this.service.find(reference);
    if (!charge || !charge.history.some(({ status }) => status === 'success'))
      this.fail(`onPaid of ${order} for ${reference}, which is not paid`);
    if (charge && charge.amount !== amount)
      this.fail(`onPaid of ${order} says ${amount}, and ${charge.amount} was paid`);
    if (charge && charge.amount !== asked && !this.#accepted.has(reference))
      this.fail(`onPaid of ${order} for ${charge.amount} instead of ${asked}`);
    const before = this.#delivered.get(order);
    if (before !== undefined && before !== reference)
      this.fail(`onPaid of ${order} for ${before}, then for ${reference}`);
    for (const [other, by] of this.#delivered)
      if (by === reference && other !== order) this.fail(`${reference} pays ${other} and ${order}`);
    this.#delivered.set(order, reference);
    this.#knownPaid.set(
      order,
      Math.min(this.#knownPaid.get(order) ?? Number.POSITIVE_INFINITY, this.clock.now),
    );
  }

  readonly #accepted = new Set<string>();

  // Persons

  #review(): void {
    const host = this.random.pick(this.#alive);
    for (let persons = this.random.pick([1, 1, 2]); persons > 0; persons--)
      this.#in(host, async () => {
        const items: AttentionItem[] = [];
        for await (const item of host.journal.listAttention()) items.push(item);
        for (const item of items) await this.#decide(host, item);
      });
  }

  async #decide(host: Process, item: AttentionItem): Promise<void> {
    const { key, reason, reference } = item;
    const resolution = this.#chooseResolution(item);
    if (resolution === undefined) return;
    const note = { by: 'kofi', reason: 'looked into it' };
    const shown = typeof resolution === 'string' ? resolution : resolution.reference;
    this.say(`${host.name}: a person resolves ${key} (${reason}, ${reference ?? '-'}): ${shown}`);
    this.count(`resolved ${reason}`);
    // From the moment at which it might be written.
    const isDealtWith = resolution === 'closed' && reference !== undefined && reason !== 'shared_reference';
    try {
      if (resolution === 'accepted' && reference) this.#accepted.add(reference);
      if (isDealtWith) this.#countDecision(reference, 1);
      await host.payments.resolve(key, resolution, note);
    } catch (error) {
      this.say(`${host.name}: ${key} is not resolved: ${describe(error)}`);
      // A refusal changed nothing, so the money still has to be accounted for.
      if (isDealtWith && error instanceof JournalError && !error.retryable)
        this.#countDecision(reference, -1);
      const isOthers =
        typeof resolution !== 'string' &&
        error instanceof JournalError &&
        /belongs to another/.test(error.message);
      if (isOthers) await host.payments.resolve(key, 'closed', note);
    }
  }

  #countDecision(reference: string, by: 1 | -1): void {
    const count = (this.#decided.get(reference) ?? 0) + by;
    if (count > 0) this.#decided.set(reference, count);
    else this.#decided.delete(reference);
  }

  /** A person who looks into it at the service decides by what is true there. */
  #chooseResolution({ key, reason, reference, requestIds, since }: AttentionItem) {
    const charge = reference === undefined ? undefined : this.service.find(reference);
    if (this.clock.now + this.database.rules.ahead - since < PERSON_WAITS) return undefined;
    switch (reason) {
      case 'unresolved': {
        if (charge) return { reference: charge.reference };
        const made = this.service.posts.filter(
          (post) => requestIds.includes(post.requestId) && post.reference,
        );
        const [found] = made.filter((post) => !this.#decided.has(post.reference ?? ''));
        if (made.length > 1) this.say(`${key} has sent ${made.length} charges`);
        return found?.reference ? { reference: found.reference } : 'not_charged';
      }
      case 'shared_reference':
      case 'paid_twice':
        return 'closed';
      case 'price_changed':
        return this.random.pick(['accepted', 'closed'] as const);
      case 'mismatch':
        return charge && statusOf(charge) === 'success'
          ? this.random.pick(['accepted', 'closed'] as const)
          : undefined;
      case 'gone':
        return charge ? undefined : 'closed';
      default:
        return undefined;
    }
  }

  // The end

  async #heal(): Promise<void> {
    this.say('everything heals');
    this.#isBusy = false;
    this.service.rules.faults = 0;
    this.database.rules.faults = 0;
    for (const host of this.#alive) host.frozenUntil = 0;
    await this.clock.run(this.clock.now + 15 * MINUTE);
    for (const charge of this.service.charges) {
      const status = statusOf(charge);
      if (status === 'pending' || status === 'processing')
        this.service.move(charge, this.random.pick(['success', 'failed', 'abandoned']));
    }
    // Those that ran are closed: from here on sweeps are called.
    for (const host of this.#alive) {
      this.#in(host, () => host.payments.close());
      await this.clock.run(this.clock.now + MINUTE);
      if (this.clock.countTimersOf(host) > 0)
        this.fail(`${host.name} leaves ${this.clock.countTimersOf(host)} timers`);
      host.isDead = true;
    }
  }

  async #bringToAnEnd(): Promise<void> {
    const end = this.clock.now + ENDS_WITHIN;
    for (;;) {
      const host = this.#startQuiet();
      let nextAt: number | null = null;
      let isOver = false;
      let failure: unknown;
      this.#in(host, async () => {
        try {
          const results = [await host.orderPayments.sweep(), await host.followUps.sweep()];
          const times = results.flatMap((result) => result.nextAt ?? []);
          nextAt = times.length > 0 ? Math.min(...times) : null;
          const before = await host.journal.count();
          for await (const item of host.journal.listAttention()) await this.#decide(host, item);
          const after = await host.journal.count();
          this.#left = after.attention;
          if (before.attention > 0 && nextAt === null) nextAt = this.clock.now + MINUTE;
        } catch (error) {
          failure = error;
        }
        isOver = true;
      });
      await this.clock.run(this.clock.now + 10 * MINUTE, () => isOver);
      if (!isOver) return this.fail('a sweep does not end');
      if (failure) return this.fail(`a sweep fails: ${describe(failure)}`);
      if (nextAt === null && this.#left === 0) return;
      if (this.clock.now > end) return this.fail(`does not end: ${this.#left} need a person, due ${nextAt}`);
      await this.clock.run(Math.max(this.clock.now + MINUTE, nextAt ?? 0));
      host.isDead = true;
    }
  }

  #left = 0;

  /** A process that only sweeps when it is asked to. */
  #startQuiet(): Process {
    const chance = this.random.chance;
    this.random.chance = () => false;
    const started = this.#start();
    this.random.chance = chance;
    return started;
  }

  #checkEnd(): void {
    const winners = new Set(this.#delivered.values());
    for (const charge of this.service.charges) {
      if (statusOf(charge) !== 'success') continue;
      const { reference, order } = charge;
      const isKey = !this.#prices.has(order);
      const isTold = isKey ? this.#finals.has(`${reference} success`) : winners.has(reference);
      if (!isTold && !this.#decided.has(reference))
        this.fail(`${reference} of ${order} is paid, and nobody hears of it`);
    }
  }

  async #leave(): Promise<void> {
    const host = this.#startQuiet();
    let isOver = false;
    this.#in(host, async () => {
      for (const order of this.#prices.keys()) {
        const status = await host.orderPayments.read(order);
        this.say(`end: ${order} ${status.state}`);
        if (status.state === 'in_review' || status.state === 'processing')
          this.fail(`${order} ends ${status.state}`);
        if ((status.state === 'paid') !== this.#delivered.has(order))
          this.fail(`${order} is ${status.state}, delivered: ${this.#delivered.get(order)}`);
      }
      const deleted = await host.journal.prune({ before: this.clock.now - 1 });
      const { records } = await host.journal.count();
      this.say(`pruned ${deleted}, left ${records}`);
      if (records > 0) this.fail(`${records} records cannot be pruned`);
      isOver = true;
    });
    await this.clock.run(this.clock.now + 10 * MINUTE, () => isOver);
    if (!isOver) this.fail('the end is not reached');
  }
}

/** Whether a charge could not be paid, as far as the service says, at any time since. */
function wasEndedSince({ history }: Charge, since: number): boolean {
  return history.some(({ status }, index) => {
    const next = history[index + 1];
    return (status === 'failed' || status === 'abandoned') && (next === undefined || next.at >= since);
  });
}

const describe = (error: unknown) =>
  error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 200) : String(error);
