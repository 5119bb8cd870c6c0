import { beforeEach, describe, expect, test, vi } from 'vitest';
import { getRecords } from '../../../src/journal/core.ts';
import { memoryJournal, memoryStore } from '../../../src/stores/index.ts';
import { MINUTE, SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import {
  findFollowUpEvents,
  finish,
  getTimes,
  keepTime,
  loseCharge,
  openShop,
  sweepFor,
} from '../../helpers/follow-ups.ts';
import { createHangingStore } from '../../helpers/hanging-store.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

const DAY = 24 * 60 * MINUTE;

test('makes a payment due now', async () => {
  const shop = openShop();
  const reference = await finish(shop.charge('order-1'));
  await pass(2 * SECOND);
  shop.service.approve(reference);
  await finish(shop.start().notify(reference));
  await sweepFor(SECOND, shop.start());
  expect(shop.finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
  expect(shop.gets).toHaveLength(1);
});

test('takes the parsed body of a webhook', async () => {
  const shop = openShop();
  const references = [await finish(shop.charge('order-1')), await finish(shop.charge('order-2'))];
  for (const reference of references) shop.service.approve(reference);
  const { notify, sweep } = shop.start();
  await finish(notify({ event: 'done', data: { list: references.map((reference) => ({ reference })) } }));
  expect(await finish(sweep())).toMatchObject({ checked: 2, final: 2 });
});

test.each([undefined, null, 17, '', 'order-1', [], { data: { amount: 1 } }])('ignores %o', async (body) => {
  const shop = openShop();
  await finish(shop.charge('order-1'));
  const { notify, sweep } = shop.start();
  await finish(notify(body));
  expect(await finish(sweep())).toMatchObject({ checked: 0 });
  expect(findFollowUpEvents(shop.events)).toEqual([]);
});

test('is never believed', async () => {
  const shop = openShop();
  const reference = await finish(shop.charge('order-1'));
  const followUps = shop.start();
  await finish(followUps.notify(reference));
  await sweepFor(SECOND, followUps);
  expect(shop.gets).toHaveLength(1);
  expect(shop.finals).toEqual([]);
});

test('wakes a run of its process at once', async () => {
  const shop = openShop();
  const reference = await finish(shop.charge('order-1'));
  const followUps = shop.start();
  const stop = new AbortController();
  const running = followUps.run({ signal: stop.signal });
  await pass(1_500, 100);
  shop.service.approve(reference);
  await finish(followUps.notify(reference));
  await pass(100, 20);
  expect(shop.finals).toHaveLength(1);
  stop.abort();
  await finish(running);
});

test('wakes the waits of its process', async () => {
  const shop = openShop();
  const reference = await finish(shop.charge('order-1'));
  const { payments, notify } = shop.start();
  const wait = payments.waitForFinalStatus(reference, { startedAt: Date.now() });
  await pass(SECOND);
  shop.service.approve(reference);
  await finish(notify(reference));
  expect((await finish(wait)).status).toBe('success');
  expect(getTimes(shop)[0]).toBeLessThan(2 * SECOND);
});

test.each(['', 'TXN', 'order-1', '../../admin', `TXN-${'x'.repeat(300)}`, 17, null, undefined, {}])(
  'reads nothing for %o, which is no reference',
  async (reference) => {
    const shop = openShop();
    const { notify, journal } = shop.start();
    const find = vi.spyOn(getRecords(journal), 'readText');
    await Reflect.apply(notify, undefined, [reference]);
    expect(find).not.toHaveBeenCalled();
    expect(shop.events).toEqual([{ type: 'warning', code: 'no_reference', message: expect.any(String) }]);
  },
);

test('reads the raw body of a webhook, and says nothing', async () => {
  const shop = openShop();
  shop.service.approve(await finish(shop.charge('order-1')));
  const followUps = shop.start();
  await finish(followUps.notify(Buffer.from('{"event":"paid","data":{"reference":"TXN-000001"}}')));
  await finish(followUps.sweep());
  expect(shop.finals).toMatchObject([{ key: 'order-1' }]);
  expect(shop.events.filter(({ type }) => type === 'warning')).toEqual([]);
});

test('causes at most one extra check per second, however often it is called', async () => {
  const shop = openShop();
  const reference = await finish(shop.charge('order-1'));
  const [sweeper, web] = [shop.start(), shop.start()];
  const stop = new AbortController();
  const running = sweeper.run({ signal: stop.signal });
  for (let time = 0; time < 6 * SECOND; time += 20) {
    await web.notify(reference);
    await sweeper.notify(reference);
    await pass(20, 20);
  }
  expect(shop.gets.length).toBeGreaterThan(3);
  expect(shop.gets.length).toBeLessThanOrEqual(7);
  stop.abort();
  await finish(running);
});

test('causes at most one extra check per second while checks are slow', async () => {
  const shop = openShop({
    async intercept({ method }) {
      if (method === 'GET') await new Promise((resolve) => setTimeout(resolve, 3 * SECOND));
      return undefined;
    },
  });
  const reference = await finish(shop.charge('order-1'));
  const processes = [shop.start(), shop.start(), shop.start()];
  const stop = new AbortController();
  const running = processes.map(({ run }) => run({ signal: stop.signal }));
  for (let time = 0; time < 20 * SECOND; time += 50) {
    for (const { notify } of processes) await notify(reference);
    await pass(50, 50);
    if (time === 10 * SECOND) shop.service.approve(reference);
  }
  expect(shop.gets.length).toBeLessThanOrEqual(22);
  // A flood of notifications must not drop what the checks found.
  expect(shop.finals).toHaveLength(1);
  expect(shop.finals[0]?.at).toBeLessThan(20 * SECOND);
  stop.abort();
  await finish(Promise.all(running));
});

test('checks again if it comes during a check', async () => {
  const shop = openShop({
    async intercept({ method }) {
      if (method === 'GET') await new Promise((resolve) => setTimeout(resolve, 2 * SECOND));
      return undefined;
    },
  });
  const reference = await finish(shop.charge('order-1'));
  await pass(DAY, DAY);
  const followUps = shop.start();
  const sweeping = followUps.sweep();
  await pass(SECOND, 100);
  await finish(followUps.notify(reference));
  await finish(sweeping);
  await sweepFor(5 * SECOND, followUps);
  expect(shop.gets).toHaveLength(2);
});

test('does not make the pauses of an overdue payment longer', async () => {
  const shop = openShop();
  const reference = await finish(shop.charge('order-1'));
  await pass(DAY, DAY);
  const followUps = shop.start();
  await sweepFor(SECOND, followUps);
  for (let count = 0; count < 20; count++) {
    await finish(followUps.notify(reference));
    await sweepFor(1_500, followUps);
  }
  const count = shop.gets.length;
  expect(count).toBeGreaterThan(15);
  await sweepFor(31 * SECOND, followUps);
  expect(shop.gets.length - count).toBe(1);
});

test('does not call onFinal again', async () => {
  const shop = openShop();
  const reference = await finish(shop.charge('order-1'));
  shop.service.approve(reference);
  let calls = 0;
  const followUps = shop.start({
    async onFinal() {
      calls += 1;
      await new Promise((resolve) => setTimeout(resolve, 20 * SECOND));
      if (calls === 1) throw new Error('no');
    },
  });
  await pass(8 * SECOND);
  const sweeping = followUps.sweep();
  await pass(SECOND);
  const other = shop.start({
    onFinal() {
      calls += 1;
    },
  });
  await finish(other.notify(reference));
  await sweepFor(10 * SECOND, other);
  expect(calls).toBe(1);
  await finish(sweeping);
  await finish(other.notify(reference));
  await sweepFor(10 * SECOND, other);
  expect(calls).toBe(1);
  await sweepFor(30 * SECOND, other);
  expect(calls).toBe(2);
  await finish(other.notify(reference));
  await sweepFor(MINUTE, other);
  expect(calls).toBe(2);
  expect(shop.gets).toHaveLength(1);
});

test('leaves an unresolved key alone', async () => {
  const shop = openShop();
  const reference = await loseCharge(shop, 'order-1');
  const followUps = shop.start();
  await finish(followUps.notify(reference));
  await sweepFor(MINUTE, followUps);
  expect(shop.gets).toEqual([]);
});

describe('a journal that fails', () => {
  test('is an event, and no rejection', async () => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    const { notify, journal } = shop.start();
    vi.spyOn(getRecords(journal), 'readText').mockRejectedValue(new Error('the database is away'));
    await finish(notify(reference));
    expect(findFollowUpEvents(shop.events)).toMatchObject([
      { result: 'failed', reference, error: 'Error: the database is away' },
    ]);
  });

  test('is not waited for longer than 15 s', async () => {
    const { store, hang } = createHangingStore();
    const shop = openShop({ openJournal: () => memoryJournal({ store }) });
    const reference = await finish(shop.charge('order-1'));
    const { notify } = shop.start();
    hang(() => true);
    const startedAt = Date.now();
    await finish(notify(reference));
    expect(Date.now() - startedAt).toBeLessThanOrEqual(15 * SECOND);
    expect(findFollowUpEvents(shop.events)).toHaveLength(1);
  });
});

test.each([-30, 30])('works if the clock of the web server is %d minutes ahead', async (minutes) => {
  // The database has a clock of its own.
  const [startedAt, clock] = [Date.now(), performance.now()];
  const store = keepTime(memoryStore(), () => startedAt + performance.now() - clock);
  const shop = openShop({ store });
  const reference = await finish(shop.charge('order-1'));
  await sweepFor(9 * SECOND, shop.start());
  expect(shop.gets).toHaveLength(1);
  vi.setSystemTime(Date.now() + minutes * MINUTE);
  const followUps = shop.start();
  for (const approve of [false, true]) {
    if (approve) shop.service.approve(reference);
    await finish(followUps.notify(reference));
    await pass(1_200);
    await finish(followUps.sweep());
  }
  expect(shop.gets).toHaveLength(3);
  expect(shop.finals).toHaveLength(1);
});
