import { expect, test, vi } from 'vitest';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { openShop } from '../../helpers/follow-ups.ts';

/** Lets time pass until a promise settles. */
async function finish<T>(promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  promise.then(settle, settle);
  for (let turn = 0; !isSettled && turn < 1_000; turn++) await pass(5, 5);
  return promise;
}

test('delivers a payment that became final, once', async () => {
  fakeClocks();
  const shop = openShop();
  const reference = await finish(shop.charge('order-1'));
  const { sweep, journal } = shop.start();
  expect(await finish(sweep())).toMatchObject({ checked: 0, final: 0, due: 0 });
  await pass(8_000);
  shop.service.approve(reference);
  expect(await finish(sweep())).toEqual({ checked: 1, final: 1, due: 0, nextAt: null });
  expect(shop.finals).toMatchObject([
    { key: 'order-1', reference, status: 'success', email: 'ama.serwaa@example.com' },
  ]);
  expect(await finish(sweep())).toEqual({ checked: 0, final: 0, due: 0, nextAt: null });
  expect(shop.gets).toHaveLength(1);
  expect((await journal.read('order-1'))?.followUp).toMatchObject({ ended: 'delivered' });
  expect(vi.getTimerCount()).toBe(0);
});

test('polls by the schedule until the payment is final', async () => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const shop = openShop();
  const reference = await finish(shop.charge('order-1'));
  shop.service.settleAfter(reference, 40_000, 'failed');
  const { run } = shop.start();
  const stop = new AbortController();
  const running = run({ signal: stop.signal });
  await pass(60_000, 50);
  stop.abort();
  await finish(running);
  expect(shop.finals).toMatchObject([{ status: 'failed' }]);
  expect(vi.getTimerCount()).toBe(0);
});
