import { beforeEach, expect, test } from 'vitest';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import { momo, openOrderShop } from '../../helpers/order-shop.ts';

beforeEach(() => fakeClocks());

/** One more than there are handlers at once. */
const ORDERS = Array.from({ length: 65 }, (_, index) => String(index + 1));

test('does not call onUnpaid for an order that was pressed again while it waited', async () => {
  const shop = openOrderShop();
  const gate = Promise.withResolvers<void>();
  const told: string[] = [];
  const { charge, sweep } = shop.start({
    async onUnpaid({ order }) {
      told.push(order);
      await gate.promise;
    },
  });
  for (const order of ORDERS) await finish(charge(order, momo));
  for (const { reference } of shop.service.charges) shop.service.decline(reference);
  await pass(20 * SECOND);
  const sweeping = sweep();
  await pass(10 * SECOND);
  const [queued = ''] = ORDERS.filter((order) => !told.includes(order));
  expect(told).toHaveLength(64);
  expect(await finish(charge(queued, momo))).toMatchObject({ state: 'processing' });
  gate.resolve();
  await finish(sweeping);
  expect(told).not.toContain(queued);
});
