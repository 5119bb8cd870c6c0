import { beforeEach, describe, expect, test, vi } from 'vitest';
import { getRecords } from '../../../src/journal/core.ts';
import { nextDelay } from '../../../src/schedule.ts';
import { createJournal, memoryStore } from '../../../src/stores/index.ts';
import { MINUTE, SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass, turns } from '../../helpers/fake-timers.ts';
import { finish, getTimes, loseCharge, openShop, sweepFor } from '../../helpers/follow-ups.ts';
import { EMAIL } from '../../helpers/service.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

/** A check leaves up to so much later than it is due, in milliseconds: the turns of the fake clock. */
const TURNS = 25;

test('delivers a payment that became final, once', async () => {
  const shop = openShop();
  const reference = await finish(shop.charge('order-1'));
  const { sweep, journal } = shop.start();
  expect(await finish(sweep())).toMatchObject({ checked: 0, final: 0, due: 0 });
  await pass(8 * SECOND);
  shop.service.approve(reference);
  expect(await finish(sweep())).toEqual({ checked: 1, final: 1, due: 0, nextAt: null });
  expect(shop.finals).toMatchObject([{ key: 'order-1', reference, status: 'success', email: EMAIL }]);
  await pass(MINUTE);
  expect(await finish(sweep())).toEqual({ checked: 0, final: 0, due: 0, nextAt: null });
  expect(shop.gets).toHaveLength(1);
  expect(await journal.read('order-1')).toMatchObject({ status: 'success', nextCheckAt: undefined });
  expect(vi.getTimerCount()).toBe(0);
});

test.each(['success', 'failed', 'abandoned'] as const)(
  'delivers %s at the first check that finds it',
  async (status) => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    shop.service.settleAfter(reference, 40 * SECOND, status);
    await sweepFor(2 * MINUTE, shop.start());
    expect(shop.finals).toMatchObject([{ key: 'order-1', reference, status }]);
    expect(shop.finals[0]?.at).toBeGreaterThanOrEqual(40 * SECOND);
    expect(shop.attentions).toEqual([]);
  },
);

test('follows a payment by checkout page', async () => {
  const shop = openShop();
  const { payments, ...followUps } = shop.start();
  const { reference } = await finish(
    payments.initialize({ amount: 10, customer_email: EMAIL }, { idempotencyKey: 'basket-1' }),
  );
  shop.service.settleAfter(reference, 20 * SECOND, 'success');
  await sweepFor(MINUTE, followUps);
  expect(shop.finals).toMatchObject([{ key: 'basket-1', reference, status: 'success' }]);
});

test('leaves a payment without an idempotencyKey alone', async () => {
  const shop = openShop();
  const { payments, ...followUps } = shop.start();
  await finish(payments.initialize({ amount: 10, customer_email: EMAIL }));
  expect(await finish(followUps.sweep())).toEqual({ checked: 0, final: 0, due: 0, nextAt: null });
});

test('says when the next payment is due', async () => {
  const shop = openShop();
  await finish(shop.charge('order-1'));
  const chargedAt = (await shop.openJournal().read('order-1'))?.createdAt ?? 0;
  const { sweep } = shop.start();
  expect(await finish(sweep())).toEqual({ checked: 0, final: 0, due: 0, nextAt: chargedAt + 8 * SECOND });
});

describe('the schedule', () => {
  test('is that of the client, counted from the charge', async () => {
    const shop = openShop();
    await finish(shop.charge('order-1'));
    await sweepFor(9 * MINUTE, shop.start());
    const times = getTimes(shop);
    expect(times.length).toBeGreaterThan(40);
    expect(times[0]).toBeGreaterThanOrEqual(8 * SECOND);
    for (const [index, at] of times.entries()) {
      const expected = nextDelay({ elapsed: at }) ?? 0;
      const next = times[index + 1] ?? at + expected;
      expect(next - at).toBeGreaterThanOrEqual(expected - TURNS);
      expect(next - at).toBeLessThanOrEqual(expected + TURNS);
    }
  });

  test('is that of polling of the client', async () => {
    const shop = openShop();
    const polling = { initialDelay: 2_000, minDelay: 2_000, maxDelay: 2_000, timeout: 10_000 };
    await finish(shop.charge('order-1', { polling }));
    await sweepFor(9_900, shop.start({}, { polling }));
    expect(getTimes(shop).map((at) => Math.floor(at / 1_000))).toEqual([2, 4, 6]);
  });

  test.each([
    [3, 8],
    [20, 20],
  ])('makes the first check after a POST of %d s once %d s have passed', async (duration, expected) => {
    const shop = openShop({
      async intercept({ method }) {
        if (method === 'POST') await new Promise((resolve) => setTimeout(resolve, duration * SECOND));
        return undefined;
      },
    });
    await finish(shop.charge('order-1'));
    await sweepFor(expected * SECOND + 1_000 - duration * SECOND, shop.start());
    expect(getTimes(shop)).toHaveLength(1);
    expect(getTimes(shop)[0]).toBeGreaterThanOrEqual(expected * SECOND);
    expect(getTimes(shop)[0]).toBeLessThan(expected * SECOND + 100);
  });

  test('begins at once for a payment that a person found', async () => {
    const shop = openShop();
    const reference = await loseCharge(shop, 'order-1');
    shop.service.approve(reference);
    const { payments, ...followUps } = shop.start();
    await pass(MINUTE);
    const note = { by: 'ama', reason: 'found by its time' };
    await finish(payments.resolve('order-1', { reference }, note));
    const asked = shop.gets.length;
    await finish(followUps.sweep());
    expect(shop.gets.length - asked).toBe(1);
    expect(shop.finals).toMatchObject([{ key: 'order-1', reference, status: 'success' }]);
  });

  test('takes a temporary error as any other check', async () => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    shop.service.fault('verify', { kind: 'status', status: 503 });
    shop.service.fault('verify', { kind: 'reset' });
    shop.service.fault('verify', { kind: 'truncated' });
    const results = await sweepFor(18 * SECOND, shop.start());
    expect(getTimes(shop).map((at) => Math.round(at / 1_000))).toEqual([8, 11, 14, 17]);
    expect(results.reduce((sum, { checked }) => sum + checked, 0)).toBe(4);
    shop.service.approve(reference);
    await sweepFor(10 * SECOND, shop.start());
    expect(shop.finals).toHaveLength(1);
    expect(shop.attentions).toEqual([]);
  });

  test.each([
    [
      'a response',
      (headers: Record<string, string>) => Response.json({ status: true, data: PENDING }, { headers }),
    ],
    ['a 503', (headers: Record<string, string>) => new Response('', { status: 503, headers })],
    ['a 429', (headers: Record<string, string>) => new Response('', { status: 429, headers })],
  ])('waits for the Retry-After of %s', async (_, respond) => {
    let count = 0;
    const shop = openShop({
      async intercept({ method }) {
        if (method === 'POST' || ++count > 1) return undefined;
        return respond({ 'retry-after': '40' });
      },
    });
    await finish(shop.charge('order-1'));
    await sweepFor(55 * SECOND, shop.start());
    const [first = 0, second = 0] = getTimes(shop);
    expect(Math.floor(first / 1_000)).toBe(8);
    expect(second - first).toBeGreaterThanOrEqual(40 * SECOND);
    expect(second - first).toBeLessThan(41 * SECOND);
  });

  test('does not wait for a day because of a Retry-After', async () => {
    let count = 0;
    const shop = openShop({
      async intercept({ method }) {
        if (method === 'POST' || ++count > 1) return undefined;
        return new Response('', { status: 503, headers: { 'retry-after': '86400' } });
      },
    });
    const polling = { timeout: 24 * 60 * MINUTE };
    await finish(shop.charge('order-1', { polling }));
    await sweepFor(62 * MINUTE, shop.start({}, { polling }));
    const [first = 0, second = 0] = getTimes(shop);
    expect(second - first).toBeGreaterThanOrEqual(60 * MINUTE);
    expect(second - first).toBeLessThan(60 * MINUTE + SECOND);
  });
});

const PENDING = {
  reference: 'TXN-000001',
  status: 'pending',
  amount: '25.50',
  currency: 'GHS',
  customer_email: EMAIL,
  paid_at: null,
};

test('records what checks found in one write, also if they end in different turns', async () => {
  const store = memoryStore();
  const groups: number[] = [];
  let count = 0;
  const shop = openShop({
    openJournal: () =>
      createJournal({
        ...store,
        async writeAll(writes) {
          groups.push(writes.length);
          return await Promise.all(writes.map(({ key, change }) => store.write(key, change)));
        },
      }),
    async intercept({ method }) {
      if (method === 'GET') await turns(++count);
      return undefined;
    },
  });
  for (let order = 0; order < 5; order++) await finish(shop.charge(`order-${order}`));
  await pass(9 * SECOND);
  const write = vi.spyOn(store, 'write');
  expect(await finish(shop.start().sweep())).toMatchObject({ checked: 5, due: 0 });
  expect(groups).toEqual([5]);
  expect(write).toHaveBeenCalledTimes(5);
});

test('records a check although another one hangs', async () => {
  let release = () => {};
  const hang = new Promise<void>((resolve) => {
    release = resolve;
  });
  const shop = openShop({
    async intercept({ method }) {
      if (method === 'GET' && shop.gets.length === 1) await hang;
      return undefined;
    },
  });
  for (const key of ['order-1', 'order-2']) await finish(shop.charge(key));
  await pass(9 * SECOND);
  const { sweep, journal } = shop.start();
  const swept = sweep();
  await pass(100, 5);
  expect(await journal.read('order-1')).toMatchObject({ checkedAt: undefined });
  expect(await journal.read('order-2')).toMatchObject({ checkedAt: expect.any(Number) });
  release();
  expect(await finish(swept)).toMatchObject({ checked: 2 });
});

test('claims the next payments while the last ones are checked', async () => {
  const limits: number[] = [];
  const released: (() => void)[] = [];
  const shop = openShop({
    async intercept({ method }) {
      if (method === 'GET') await new Promise<void>((resolve) => released.push(resolve));
      return undefined;
    },
  });
  for (let order = 0; order < 8; order++) await finish(shop.charge(`order-${order}`));
  await pass(9 * SECOND);
  const { sweep, journal } = shop.start({}, { polling: { maxConcurrency: 4 } });
  const records = getRecords(journal);
  const claimDue = records.claimDue.bind(records);
  vi.spyOn(records, 'claimDue').mockImplementation((claim) => {
    limits.push(claim.limit);
    return claimDue(claim);
  });
  const swept = sweep();
  await pass(100, 5);
  expect(shop.gets).toHaveLength(4);
  for (const release of released.splice(0, 2)) release();
  await pass(100, 5);
  expect(limits).toEqual([4, 4]);
  expect(shop.gets).toHaveLength(6);
  const done = finish(swept);
  while (shop.gets.length < 8 || released.length > 0) {
    for (const release of released.splice(0)) release();
    await turns();
  }
  expect(await done).toMatchObject({ checked: 8, due: 0 });
});
