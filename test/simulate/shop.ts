/** One process of the shop: the package as a shop uses it. */

import { createFollowUps } from '../../src/follow-ups/index.ts';
import { PaymentsClient } from '../../src/index.ts';
import { createOrderPayments } from '../../src/orders/index.ts';
import { createJournal } from '../../src/stores/index.ts';
import { createHost, hosts } from './clock.ts';
import type { Context, Process } from './context.ts';
import { MINUTE, REQUEST_TIMEOUT } from './facts.ts';

const polling = { initialDelay: 4_000, minDelay: 3_000, maxDelay: 15_000, timeout: 5 * MINUTE };
const logger = { debug() {}, info() {}, warn() {}, error() {} };

export function startProcess(world: Context, name: string): Process {
  const { random, facts } = world;
  // A quartz clock is wrong by some seconds a day.
  const host = createHost(name, 1 + (random.next() - 0.5) / 5_000, random.between(-3_000, 3_000));
  return hosts.run(host, () => {
    const journal = createJournal(world.database.open());
    const payments = new PaymentsClient({
      apiKey: 'sk_test_4vK9qLm2Xw7RtZ',
      baseUrl: 'https://payments.example/api/v1',
      timeout: REQUEST_TIMEOUT,
      journal,
      polling,
      fetch: world.service.fetch,
      logger,
    });
    const handle =
      <T>(handler: string, act: (call: T) => void) =>
      async (call: T) => {
        world.count(handler);
        if (world.swarm.happens('handler: throws', 0.2)) throw new Error(`${handler} fails`);
        act(call);
        const hangs = world.swarm.happens('handler: hangs', 0.1);
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
    const parts = {
      payments,
      journal,
      orders,
      followUps,
      runs: [],
      jobs: [],
      isLeaving: false,
    };
    // Its properties are those of the host, by which the clock knows it.
    return Object.assign(host, parts);
  });
}

/** It sweeps by itself until it is closed. */
export function runSweeps(world: Context, process: Process): void {
  world.do(process, async () => {
    const runs = [process.orders.run(), process.followUps.run()];
    process.runs.push(...runs);
    for (const run of runs)
      run.catch((error: unknown) => world.fail('run survives everything', `${process.name}: ${error}`));
  });
}

/** It leaves in order, as a deployment does: it closes, and ends its use of the database then. */
export async function leave(world: Context, process: Process): Promise<void> {
  if (process.isLeaving) return;
  process.isLeaving = true;
  world.say(`${process.name}: closes`);
  const startedAt = world.clock.readMonotonic(process);
  await process.payments.close();
  const hasGivenUp = world.clock.readMonotonic(process) - startedAt > 29_000;
  world.say(`${process.name}: is closed${hasGivenUp ? ', but calls are left' : ''}`);
  await Promise.all(process.jobs);
  if (!hasGivenUp) await assertLeft(world, process);
  process.isDead = true;
}

async function assertLeft(world: Context, process: Process): Promise<void> {
  let haveEnded = process.runs.length === 0;
  void Promise.all(process.runs).then(() => {
    haveEnded = true;
  });
  for (const key of await listUnrecorded(world, process).catch(() => []))
    world.fail('close waits until each outcome is recorded', key);
  // Steps that hang one after the other are given up by then.
  await new Promise<void>((resolve) => world.clock.deliver(process, 30_000, resolve));
  if (!haveEnded) world.fail('run resolves when the client closes', process.name);
  const left = world.clock.countTimersOf(process);
  if (left > 0) world.fail('close leaves no timer', `${process.name} has ${left}`);
}

/** The payments whose request this process has sent and not recorded. */
async function listUnrecorded({ service }: Context, { name, journal }: Process): Promise<string[]> {
  const own = new Set(service.posts.filter(({ sender }) => sender === name).map((post) => post.requestId));
  const keys: string[] = [];
  for await (const { key, requestIds } of journal.list({ state: 'begun' }))
    if (own.has(requestIds.at(-1) ?? '')) keys.push(key);
  return keys;
}
