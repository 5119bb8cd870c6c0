/** One process of the shop: the package as a shop uses it. */

import { createFollowUps, type FollowUps } from '../../src/follow-ups/index.ts';
import { PaymentsClient } from '../../src/index.ts';
import { createOrderPayments, type OrderPayments } from '../../src/orders/index.ts';
import { createJournal, type Journal } from '../../src/stores/index.ts';
import { createHost, type Host, hosts } from './clock.ts';
import { MAX_AMOUNT, MINUTE, REQUEST_TIMEOUT } from './facts.ts';
import type { World } from './world.ts';

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
  /** How often it said that a notification had no reference. */
  warnings: number;
}

export const BASE_URL = 'https://payments.example/api/v1';

const polling = { initialDelay: 4_000, minDelay: 3_000, maxDelay: 15_000, timeout: 5 * MINUTE };
const logger = { debug() {}, info() {}, warn() {}, error() {} };

export function startProcess(world: World, name: string, baseUrl = BASE_URL): Process {
  const { random, facts } = world;
  // A quartz clock is wrong by some seconds a day.
  const host = createHost(name, 1 + (random.next() - 0.5) / 5_000, random.between(-3_000, 3_000));
  return hosts.run(host, () => {
    const journal = createJournal(world.database.open());
    const payments = new PaymentsClient({
      apiKey: 'sk_test_4vK9qLm2Xw7RtZ',
      baseUrl,
      timeout: REQUEST_TIMEOUT,
      maxAmount: MAX_AMOUNT,
      journal,
      polling,
      fetch: world.network.fetch,
      logger,
      onEvent: (event) => {
        if (event.type === 'warning' && event.code === 'no_reference') parts.warnings++;
      },
    });
    const handle =
      <T>(handler: string, act: (call: T) => void) =>
      async (call: T) => {
        world.count(`handler: ${handler}`);
        if (world.swarm.happens('handler: throws')) throw new Error(`${handler} fails`);
        act(call);
        const hangs = world.swarm.happens('handler: hangs');
        await new Promise<void>(
          (resolve) => void setTimeout(resolve, random.between(1, hangs ? 5 * MINUTE : 1_000)),
        );
      };
    const onAttention = handle<{ key: string; reason: string }>('onAttention', ({ key, reason }) =>
      world.say(`${name}: onAttention ${key} ${reason}`),
    );
    const orders = createOrderPayments({
      payments,
      journal,
      onPaid: handle('onPaid', ({ order, payment, transaction }) => {
        world.say(`${name}: onPaid ${order} ${payment.reference}`);
        facts.hearPaid({ order, reference: payment.reference ?? '', amount: payment.amount });
        world.judge('onPaid', { order, payment, transaction });
      }),
      onUnpaid: handle('onUnpaid', ({ order, payment }) => {
        world.say(`${name}: onUnpaid ${order} ${payment.reference}`);
        world.judge('onUnpaid', { order, payment });
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
    const parts = Object.assign(host, {
      payments,
      journal,
      orders,
      followUps,
      runs: [],
      jobs: [],
      isLeaving: false,
      warnings: 0,
    });
    return parts;
  });
}

/** It sweeps by itself until it is closed. */
export function runSweeps(world: World, process: Process): void {
  world.do(process, async () => {
    const runs = [process.orders.run(), process.followUps.run()];
    process.runs.push(...runs);
    for (const run of runs)
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
  const hasGivenUp = world.clock.readMonotonic(process) - startedAt > 29_000;
  world.say(`${process.name}: is closed${hasGivenUp ? ', but calls are left' : ''}`);
  await Promise.all(process.jobs);
  if (hasGivenUp) world.facts.crashed.add(process);
  else await assertLeft(world, process);
  process.isDead = true;
}

async function assertLeft(world: World, process: Process): Promise<void> {
  let haveEnded = process.runs.length === 0;
  void Promise.all(process.runs).then(() => {
    haveEnded = true;
  });
  for (const key of await listUnrecorded(world, process).catch(() => []))
    world.fail('close waits until each outcome is recorded', key);
  // Steps that hang one after the other are given up by then, by the clock of their process: its machine might sleep meanwhile.
  for (const pause of [30_000, 1_000]) await new Promise<void>((resolve) => void setTimeout(resolve, pause));
  if (!haveEnded) world.fail('run resolves when the client closes', process.name);
  const left = world.clock.countTimersOf(process);
  if (left > 0) world.fail('close leaves no timer', `${process.name} has ${left}`);
}

/** The payments whose request this process has sent and not recorded. */
async function listUnrecorded({ network }: World, { name, journal }: Process): Promise<string[]> {
  const own = new Set(
    network.posts.filter(({ sender }) => sender?.name === name).map((post) => post.requestId),
  );
  const keys: string[] = [];
  for await (const { key, requestIds } of journal.list({ state: 'begun' }))
    if (own.has(requestIds.at(-1) ?? '')) keys.push(key);
  return keys;
}
