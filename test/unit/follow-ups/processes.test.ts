import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type JournalStore, memoryJournal } from '../../../src/stores/index.ts';
import { claimKey } from '../../helpers/claims.ts';
import { MINUTE, SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish, getService, getTimes, openShop, sweepFor } from '../../helpers/follow-ups.ts';
import { createHangingStore } from '../../helpers/hanging-store.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

/** Opens a shop with so many payments that are paid. */
async function openPaidShop(count: number, options: Parameters<typeof openShop>[0] = {}) {
  const shop = openShop(options);
  for (let order = 1; order <= count; order++) {
    shop.service.approve(await finish(shop.charge(`order-${order}`)));
  }
  await pass(8 * SECOND);
  return shop;
}

describe('several sweeps', () => {
  test.each([2, 5])('of %d processes check each payment once', async (count) => {
    const shop = await openPaidShop(200);
    const polling = { maxRequestsPerSecond: 1_000, maxConcurrency: 10 };
    const results = await finish(
      Promise.all(Array.from({ length: count }, () => shop.start({}, { polling }).sweep())),
    );
    expect(shop.gets).toHaveLength(200);
    expect(new Set(shop.finals.map(({ key }) => key)).size).toBe(200);
    expect(shop.finals).toHaveLength(200);
    expect(results.reduce((sum, { final }) => sum + final, 0)).toBe(200);
    for (const { checked } of results) expect(checked).toBeGreaterThan(0);
  });
});

test('calls a handler once if a notification comes while another process checks', async () => {
  let isSlow = true;
  const shop = await openPaidShop(1, {
    async intercept({ method }) {
      if (method === 'GET' && isSlow) await new Promise((resolve) => setTimeout(resolve, 2 * SECOND));
      return undefined;
    },
  });
  const calls: string[] = [];
  const start = (name: string) =>
    shop.start({
      async onFinal() {
        calls.push(name);
        await new Promise((resolve) => setTimeout(resolve, 2 * SECOND));
      },
    });
  const sweeping = start('slow').sweep();
  await pass(SECOND, 100);
  isSlow = false;
  const notified = start('notified');
  await finish(notified.notify(shop.gets[0]?.reference));
  await Promise.all([finish(notified.sweep()), finish(sweeping)]);
  expect(shop.gets).toHaveLength(2);
  expect(calls).toEqual(['notified']);
});

describe('a process that is killed during a check', () => {
  test('leaves its payments to others after the lease, with one more GET each', async () => {
    const shop = await openPaidShop(10, {
      async intercept({ method }) {
        if (method === 'GET') await new Promise((resolve) => setTimeout(resolve, SECOND));
        return undefined;
      },
    });
    const { store, hang } = createHangingStore(shop.store);
    const killed = shop.start({}, {}, memoryJournal({ store }));
    killed.sweep().catch(() => {});
    await pass(500, 100);
    // A process that is killed writes nothing any more.
    hang(() => true);
    const next = shop.start();
    await sweepFor(35 * SECOND, next);
    expect(shop.finals).toEqual([]);
    await sweepFor(15 * SECOND, next);
    expect(shop.finals).toHaveLength(10);
    expect(shop.gets).toHaveLength(20);
  });

  test('keeps its claims for as long as its checks take', async () => {
    let respond = false;
    const shop = await openPaidShop(1, {
      async intercept({ method }) {
        while (method === 'GET' && !respond) await new Promise((resolve) => setTimeout(resolve, SECOND));
        return undefined;
      },
    });
    const timeout = 300 * SECOND;
    const slow = shop.start({}, { timeout }).sweep();
    const other = shop.start();
    await sweepFor(4 * MINUTE, other, { step: 2_000 });
    expect(shop.gets).toHaveLength(1);
    respond = true;
    expect(await finish(slow)).toMatchObject({ final: 1 });
  });

  test('keeps its claims while the limit of the client holds its checks back', async () => {
    const shop = await openPaidShop(60);
    const polling = { maxRequestsPerSecond: 0.2 };
    const slow = shop.start({}, { polling }).sweep();
    await sweepFor(4 * MINUTE, shop.start(), { step: 2_000 });
    // All of them were claimed by the slow one.
    expect(shop.gets.length).toBeLessThanOrEqual(51);
    await finish(slow);
    expect(shop.gets).toHaveLength(60);
    expect(shop.finals).toHaveLength(60);
  });
});

test('counts a check for what it found if another process went on meanwhile', async () => {
  const shop = await openPaidShop(2, {
    async intercept({ method }) {
      if (method === 'GET') await new Promise((resolve) => setTimeout(resolve, 5 * SECOND));
      return undefined;
    },
  });
  let isCutOff = false;
  const write: JournalStore['write'] = async (key, change) => {
    if (isCutOff) throw new Error('no route to the database');
    return shop.store.write(key, change);
  };
  const journal = memoryJournal({ store: { ...shop.store, write } });
  // The second check leaves after 50 s, the lease is 40 s.
  const slow = shop.start({}, { polling: { maxRequestsPerSecond: 0.02 } }, journal);
  const sweeping = slow.sweep();
  await pass(6 * SECOND, 50);
  isCutOff = true;
  await sweepFor(45 * SECOND, shop.start(), { step: 1_000 });
  expect(shop.finals).toHaveLength(2);
  isCutOff = false;
  expect(await finish(sweeping)).toMatchObject({ checked: 2, final: 1 });
  expect(shop.finals).toHaveLength(2);
  expect(shop.gets).toHaveLength(3);
});

test('records no check of a transaction that a person took from the key meanwhile', async () => {
  const shop = openShop({
    async intercept({ method }) {
      if (method === 'GET') await new Promise((resolve) => setTimeout(resolve, 5 * SECOND));
      return undefined;
    },
  });
  const journal = shop.openJournal();
  await claimKey(journal, 'order-1', { service: await getService() });
  await pass(11 * SECOND);
  const note = { by: 'ama', reason: 'found it' };
  await finish(journal.resolve('order-1', { reference: 'TXN-000099' }, note));
  shop.service.fault('verify', { kind: 'status', status: 404 }, { times: Number.POSITIVE_INFINITY });
  const sweeping = shop.start().sweep({ budget: 20 * SECOND });
  await pass(SECOND);
  await finish(journal.resolve('order-1', 'not_charged', note));
  await finish(sweeping);
  expect(shop.gets).toMatchObject([{ reference: 'TXN-000099' }]);
  expect(await journal.read('order-1')).toMatchObject({ state: 'not_charged', checkedAt: undefined });
  expect(shop.attentions).toEqual([]);
});

describe('a wait in the same process', () => {
  test('shares its polls with the follow-up', async () => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    const { payments, ...followUps } = shop.start();
    const expectedAt = Date.now();
    const wait = payments.waitForFinalStatus(reference, { startedAt: expectedAt });
    shop.service.settleAfter(reference, 30 * SECOND, 'success');
    const stop = new AbortController();
    const running = followUps.run({ signal: stop.signal });
    await pass(MINUTE, 50);
    expect((await wait).status).toBe('success');
    expect(shop.finals).toHaveLength(1);
    const alone = openShop();
    alone.service.settleAfter('next', 30 * SECOND, 'success');
    await finish(alone.charge('order-1'));
    await sweepFor(MINUTE, alone.start());
    expect(shop.gets.length).toBeLessThanOrEqual(getTimes(alone).length + 1);
    stop.abort();
    await finish(running);
  });
});

test('keeps the rate and the concurrency of the client', async () => {
  let [current, most] = [0, 0];
  const shop = await openPaidShop(60, {
    async intercept({ method }) {
      if (method !== 'GET') return undefined;
      most = Math.max(most, ++current);
      await new Promise((resolve) => setTimeout(resolve, 700));
      current -= 1;
      return undefined;
    },
  });
  const polling = { maxRequestsPerSecond: 10, maxConcurrency: 5 };
  await finish(shop.start({}, { polling }).sweep());
  expect(most).toBe(5);
  const times = getTimes(shop);
  expect(times).toHaveLength(60);
  for (const at of times)
    expect(times.filter((time) => time >= at && time < at + SECOND).length).toBeLessThanOrEqual(10);
});

test('pauses for a 429, as waits do, and checks each payment once', async () => {
  let count = 0;
  const shop = await openPaidShop(20, {
    async intercept({ method }) {
      if (method !== 'GET' || ++count !== 3) return undefined;
      return new Response('', { status: 429, headers: { 'retry-after': '7' } });
    },
  });
  const polling = { maxConcurrency: 2 };
  await sweepFor(2 * MINUTE, shop.start({}, { polling }));
  expect(shop.finals).toHaveLength(20);
  expect(shop.gets).toHaveLength(21);
});

test('reports a poll for each check, and no wait', async () => {
  const shop = await openPaidShop(3);
  await finish(shop.start().sweep());
  const types = shop.events.map(({ type }) => type);
  expect(types.filter((type) => type === 'poll')).toHaveLength(3);
  expect(types).not.toContain('wait');
});
