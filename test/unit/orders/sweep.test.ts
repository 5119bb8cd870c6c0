/** What a sweep does with the payments of orders. */

import { expect, test } from 'vitest';
import { getReference, MINUTE, momo, SECOND, sweepFor, world } from '../../helpers/world.ts';

const always = { times: Number.POSITIVE_INFINITY };

test('a sweep does not call onUnpaid for an order that was pressed meanwhile', async () => {
  const gate = Promise.withResolvers<void>();
  const told: string[] = [];
  const onUnpaid = async ({ order }: { order: string }) => {
    told.push(order);
    await gate.promise;
  };
  const { shop, service, clock } = world({ onUnpaid });
  // One more than there are handlers at once.
  const ids = Array.from({ length: 65 }, (_, index) => String(index + 1));
  for (const id of ids) service.decline(getReference(await shop.orders.charge(id, momo)));
  await clock.pass(20 * SECOND);
  const sweeping = shop.orders.sweep();
  await clock.pass(10 * SECOND);
  expect(told).toHaveLength(64);
  const [queued = ''] = ids.filter((id) => !told.includes(id));
  expect(await shop.orders.charge(queued, momo)).toMatchObject({ state: 'processing' });
  gate.resolve();
  await sweeping;
  expect(told).not.toContain(queued);
});

test('a sweep takes no response about another transaction for its own', async () => {
  const { shop, service, paid, attentions } = world();
  const reference = getReference(await shop.orders.charge('17', momo));
  service.fault('verify', { kind: 'wrongReference', reference: 'TXN-other' }, always);
  service.approve(reference);
  await sweepFor(MINUTE, shop.orders);
  const underWay = { state: 'processing', payment: { reference } };
  expect(await shop.orders.read('17')).toMatchObject(underWay);
  service.clearFaults();
  await sweepFor(MINUTE, shop.orders);
  expect(paid).toMatchObject([{ order: '17', payment: { key: '17/1' } }]);
  expect(attentions).toEqual([]);
});

test('a sweep leaves payments of plain keys to createFollowUps', async () => {
  const { shop, service, clock } = world();
  const { reference } = await shop.payments.chargeMobileMoney(momo, { idempotencyKey: 'plain' });
  service.approve(reference);
  await clock.pass(10 * SECOND);
  expect(await shop.orders.sweep()).toMatchObject({ checked: 0, due: 0 });
});
