/** The processes of the shop: the package as a shop uses it. */

import { createFollowUps } from '../../src/follow-ups/index.ts';
import { ConfigurationError, JournalError, PaymentsClient } from '../../src/index.ts';
import { createOrderPayments } from '../../src/orders/index.ts';
import { createJournal } from '../../src/stores/index.ts';
import { createHost, hosts, MINUTE, SECOND } from './clock.ts';
import { MAX_AMOUNT, REQUEST_TIMEOUT } from './facts.ts';
import type { World } from './world.ts';

export const BASE_URL = 'https://payments.example/api/v1';

const polling = { initialDelay: 4_000, minDelay: 3_000, maxDelay: 15_000, timeout: 5 * MINUTE };

/** During a deployment, processes with other options work on the same orders. */
const OPTIONS = [
  { polling },
  { polling, timeout: 5_000, maxRetries: 0 },
  { polling: { ...polling, finalStatuses: ['success', 'failed'] as const }, maxRetries: 5 },
  { polling: { initialDelay: 0, minDelay: 1_000, maxDelay: 60_000, timeout: 30_000 } },
];

const LEASES = [10_000, 10_000, 2_000, 30_000];

/** It rotates. All of them are of one mode. */
const API_KEYS = ['sk_test_4vK9qLm2Xw7RtZ', 'sk_test_8cB3nHy6Jd1PsF'];
const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** One process of the shop. Its properties are those of the host, too, by which the clock knows it. */
export type Process = ReturnType<typeof startProcess>;

export function startProcess(world: World, name: string, baseUrl = BASE_URL) {
  const { random, facts, clock } = world;
  // A quartz clock is wrong by some seconds a day.
  const host = createHost(name, 1 + (random.next() - 0.5) / 5_000, random.between(-3_000, 3_000));
  const handle =
    <T>(handler: string, act: (call: T) => void) =>
    async (call: T) => {
      world.count(`handler: ${handler}`);
      if (world.swarm.happens('handler: throws')) throw new Error(`${handler} fails`);
      act(call);
      if (world.swarm.happens('handler: calls back')) await world.callBack(process, call);
      await sleep(random.between(1, world.swarm.happens('handler: hangs') ? 5 * MINUTE : SECOND));
    };
  const onAttention = handle<{ key: string; reason: string }>('onAttention', ({ key, reason }) =>
    world.say(`${name}: onAttention ${key} ${reason}`),
  );
  const getApiKey = async () => {
    if (!world.swarm.happens('process: API key fails')) return random.pick(API_KEYS);
    if (random.chance(0.5)) throw new Error('no API key');
    return await new Promise<string>(() => {});
  };
  const process = hosts.run(host, () => {
    const journal = createJournal(world.database.open(), { lease: random.pick(LEASES) });
    const payments = new PaymentsClient({
      apiKey: getApiKey,
      baseUrl,
      timeout: REQUEST_TIMEOUT,
      maxAmount: MAX_AMOUNT,
      journal,
      ...random.pick(OPTIONS),
      fetch: world.network.fetch,
      logger,
      onEvent: (event) => {
        if (event.type === 'warning' && event.code === 'no_reference') process.warnings++;
      },
    });
    const orders = createOrderPayments({
      payments,
      journal,
      onPaid: handle('onPaid', (paid) => {
        const { order, payment } = paid;
        world.say(`${name}: onPaid ${order} ${payment.reference}`);
        facts.deliver(order, payment.reference ?? '', clock.now);
        world.judge('onPaid', paid);
      }),
      onUnpaid: handle('onUnpaid', (unpaid) => {
        world.say(`${name}: onUnpaid ${unpaid.order} ${unpaid.payment.reference}`);
        world.judge('onUnpaid', unpaid);
      }),
      onAttention,
    });
    const followUps = createFollowUps({
      payments,
      journal,
      onFinal: handle('onFinal', (final) => {
        world.say(`${name}: onFinal ${final.key} ${final.reference} ${final.transaction.status}`);
        facts.finals.add(`${final.reference} ${final.transaction.status}`);
        world.judge('onFinal', final);
      }),
      onAttention,
    });
    return Object.assign(host, {
      payments,
      journal,
      orders,
      followUps,
      /** What `run` returned. */
      runs: [] as Promise<unknown>[],
      /** What it does with its journal beside the client. */
      jobs: [] as Promise<unknown>[],
      /** It is being closed, or was: nothing new is asked of it. */
      isLeaving: false,
      /** How often it said that a notification had no reference. */
      warnings: 0,
    });
  });
  return process;
}

export const sleep = (delay: number) => new Promise<void>((resolve) => void setTimeout(resolve, delay));

/** It sweeps by itself until it is closed. */
export function runSweeps(world: World, process: Process): void {
  world.do(process, async () => {
    process.runs.push(process.orders.run(), process.followUps.run());
    for (const run of process.runs)
      run.catch((error: unknown) => world.fail('run survives everything', `${process.name}: ${error}`));
  });
}

/** It leaves in order, as a deployment does: it closes, and ends its use of the database then. */
export async function leave(world: World, process: Process): Promise<void> {
  if (process.isLeaving) return;
  process.isLeaving = true;
  world.say(`${process.name}: closes`);
  const startedAt = world.clock.readMonotonic(process);
  await process.payments.close();
  const hasGivenUp = world.clock.readMonotonic(process) - startedAt > 29 * SECOND;
  world.say(`${process.name}: is closed${hasGivenUp ? ', but calls are left' : ''}`);
  await Promise.all(process.jobs);
  if (hasGivenUp) world.facts.crashed.add(process);
  else {
    let haveEnded = process.runs.length === 0;
    void Promise.all(process.runs).then(() => {
      haveEnded = true;
    });
    const unrecorded = await listUnrecorded(world, process).catch(() => []);
    // Steps that hang one after the other are given up by then, by the clock of their process: its machine might sleep meanwhile.
    for (const pause of [30 * SECOND, SECOND]) await sleep(pause);
    world.judge('left', { process, unrecorded, haveEnded });
  }
  process.isDead = true;
}

/** The payments whose request this process has sent and not recorded. */
async function listUnrecorded({ network }: World, { name, journal }: Process): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key, requestIds } of journal.list({ state: 'begun' }))
    if (network.posts.some((post) => post.sender?.name === name && post.requestId === requestIds.at(-1)))
      keys.push(key);
  return keys;
}

/** A client of another service that was given the journal of this one: it must be refused before anything is checked or written. */
export function startStray(world: World): void {
  const stray = startProcess(world, 'stray', 'https://other.example/api/v1');
  const price = { amount: '10.00', currency: 'GHS', customer_email: 'o.o@example.com' };
  const momo = { ...price, phone: '0244123456', network: 'mtn' } as const;
  const again = { ...momo, amount: '12.00' };
  const calls: Record<string, (order: string) => Promise<unknown>> = {
    charge: (order) => stray.orders.charge(order, momo),
    'charge with startAnother': (order) => stray.orders.charge(order, again, { startAnother: true }),
    'charge with wrong input': (order) => stray.orders.charge(order, { ...momo, phone: '' }),
    checkout: (order) => stray.orders.checkout(order, price),
    wait: (order) => stray.orders.wait(order, { timeout: 30_000 }),
    read: (order) => stray.orders.read(order),
    key: () => stray.payments.chargeMobileMoney(momo, { idempotencyKey: 'k1' }),
  };
  world.every(20 * SECOND, () =>
    world.do(stray, async () => {
      if (world.random.chance(0.2)) await Promise.all([stray.orders.sweep(), stray.followUps.sweep()]);
      const order = world.random.pick(world.orders);
      const [what, call] = world.random.pick(Object.entries(calls));
      // The first who asks decides whose an order is.
      const known = await stray.journal.read(what === 'key' ? 'k1' : `${order}/1`);
      if (!known) return;
      const result = await call(order).catch((error: unknown) => error);
      const isRefused = result instanceof ConfigurationError || result instanceof JournalError;
      world.judge('strayed', { what: `${what} ${order}`, result, isRefused });
    }),
  );
}
