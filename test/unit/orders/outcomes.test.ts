import { beforeEach, expect, test, vi } from 'vitest';
import { memoryStore } from '../../../src/journal/index.ts';
import { MINUTE, SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import { momo, openOrderShop, page, postsOf } from '../../helpers/order-shop.ts';
import { successBodies } from '../../helpers/service.ts';
import { wrapStore } from '../../helpers/wrapped-store.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

const getReference = ({ payments }: { payments: readonly { reference?: string }[] }) =>
  payments.at(-1)?.reference ?? '';

test('calls onPaid once the payment succeeded, and nothing is charged again', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  shop.service.approve(getReference(await finish(orders.charge('17', momo))));
  await pass(10 * SECOND);
  await finish(orders.sweep());
  expect(shop.paid).toMatchObject([{ order: '17', payment: { key: '17/1', status: 'success' } }]);
  expect(await finish(orders.charge('17', momo, { startAnother: true }))).toMatchObject({ state: 'paid' });
  await pass(MINUTE);
  await finish(orders.sweep());
  expect(shop.paid).toHaveLength(1);
  expect(postsOf(shop)).toHaveLength(1);
});

test('takes no response about another transaction for an answer', async () => {
  let isMixedUp = true;
  const shop = openOrderShop({
    intercept: async ({ method }) =>
      isMixedUp && method === 'GET'
        ? Response.json(successBodies.verify({ reference: 'TXN-other' }))
        : undefined,
  });
  const orders = shop.start();
  const reference = getReference(await finish(orders.charge('17', momo)));
  await pass(10 * SECOND);
  await finish(orders.sweep());
  expect(await finish(orders.read('17'))).toMatchObject({ state: 'processing', payment: { reference } });
  shop.service.approve(reference);
  isMixedUp = false;
  await pass(MINUTE);
  await finish(orders.sweep());
  expect(shop.paid).toMatchObject([{ order: '17', payment: { key: '17/1' } }]);
  expect(shop.attentions).toEqual([]);
});

test('calls onPaid again until it succeeds', async () => {
  const shop = openOrderShop();
  let calls = 0;
  const onPaid = () => {
    calls += 1;
    if (calls < 3) throw new Error('the database is down');
  };
  const orders = shop.start({ onPaid });
  shop.service.approve(getReference(await finish(orders.charge('17', momo))));
  for (let round = 0; round < 10; round++) {
    await pass(MINUTE);
    await finish(orders.sweep());
  }
  expect(calls).toBe(3);
});

test('tells of a second success as paid_twice, and keeps the first one', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  const first = getReference(await finish(orders.checkout('17', page)));
  await pass(2 * SECOND);
  const second = getReference(await finish(orders.charge('17', momo, { startAnother: true })));
  shop.service.approve(second);
  await pass(10 * SECOND);
  await finish(orders.sweep());
  shop.service.approve(first);
  await pass(10 * MINUTE);
  await finish(orders.sweep());
  expect(shop.paid).toMatchObject([{ payment: { key: '17/2' } }]);
  expect(shop.attentions.filter(({ reason }) => reason !== 'overdue')).toMatchObject([
    { order: '17', key: '17/1', reason: 'paid_twice', reference: first, payment: { number: 1 } },
  ]);
  expect(await finish(orders.read('17'))).toMatchObject({ state: 'paid', payment: { key: '17/2' } });
});

test.each([
  ['amount', { ...momo, amount: '30.00' }],
  ['currency', { ...momo, currency: 'USD' }],
])('asks for a person if an earlier payment of another %s is paid', async (_, input) => {
  const shop = openOrderShop();
  const orders = shop.start();
  const first = getReference(await finish(orders.checkout('17', page)));
  await pass(2 * SECOND);
  await finish(orders.charge('17', input, { startAnother: true }));
  shop.service.approve(first);
  await pass(10 * SECOND);
  await finish(orders.sweep());
  expect(shop.paid).toEqual([]);
  expect(shop.attentions).toMatchObject([{ key: '17/1', reason: 'price_changed' }]);
  const review = { state: 'in_review', reason: 'price_changed', payment: { key: '17/1' } };
  expect(await finish(orders.read('17'))).toMatchObject(review);
  expect(await finish(orders.charge('17', input))).toMatchObject(review);
  await finish(orders.payments.resolve('17/1', 'closed', { by: 'ama', reason: 'paid back' }));
  expect(await finish(orders.read('17'))).toMatchObject({ state: 'processing', payment: { key: '17/2' } });
});

test('calls onUnpaid when the payment failed', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  shop.service.decline(getReference(await finish(orders.charge('17', momo))));
  await pass(10 * SECOND);
  await finish(orders.sweep());
  expect(shop.unpaid).toMatchObject([{ order: '17', payment: { key: '17/1', status: 'failed' } }]);
  expect(await finish(orders.read('17'))).toMatchObject({ state: 'unpaid', canPay: true });
});

test('does not call onUnpaid while a superseded payment might be paid', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  const first = getReference(await finish(orders.checkout('17', page)));
  await pass(2 * SECOND);
  shop.service.decline(getReference(await finish(orders.charge('17', momo, { startAnother: true }))));
  await pass(10 * SECOND);
  await finish(orders.sweep());
  expect(shop.unpaid).toEqual([]);
  shop.service.decline(first);
  await pass(MINUTE);
  await finish(orders.sweep());
  expect(shop.unpaid).toMatchObject([{ payment: { key: '17/2' } }]);
});

test('pays an order whose abandoned payment succeeds after all', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  const reference = getReference(await finish(orders.checkout('17', page)));
  shop.service.abandon(reference);
  await pass(10 * SECOND);
  await finish(orders.sweep());
  expect(shop.unpaid).toHaveLength(1);
  shop.service.approve(reference);
  for (let hour = 0; hour < 3; hour++) {
    await pass(66 * MINUTE);
    await finish(orders.sweep());
  }
  expect(shop.paid).toMatchObject([{ order: '17', payment: { key: '17/1' } }]);
});

test('waits until the payment is final', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  shop.service.settleAfter(getReference(await finish(orders.charge('17', momo))), 20 * SECOND, 'success');
  const before = Date.now();
  expect(await finish(orders.wait('17'))).toMatchObject({ state: 'paid' });
  expect(Date.now() - before).toBeLessThan(MINUTE);
  expect(shop.paid).toEqual([]);
  await finish(orders.sweep());
  expect(shop.paid).toHaveLength(1);
});

test('returns what it is at the timeout of a wait', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  await finish(orders.charge('17', momo));
  const before = Date.now();
  expect(await finish(orders.wait('17', { timeout: 30 * SECOND }))).toMatchObject({ state: 'processing' });
  expect(Date.now() - before).toBeGreaterThanOrEqual(30 * SECOND);
});

test('returns what a wait last read if the journal hangs at its timeout', async () => {
  let isHung = false;
  const store = wrapStore(memoryStore(), (_, run) => (isHung ? new Promise(() => {}) : run()));
  const orders = openOrderShop({ store }).start();
  await finish(orders.charge('17', momo));
  const waiting = orders.wait('17', { timeout: 5 * SECOND });
  await pass(SECOND);
  isHung = true;
  expect(await finish(waiting)).toMatchObject({ state: 'processing', payment: { key: '17/1' } });
});

test('ends a wait for a person if the transaction has another amount', async () => {
  let reference = '';
  const shop = openOrderShop({
    intercept: async ({ method }) =>
      method === 'GET' ? Response.json(successBodies.verify({ reference, amount: '2.55' })) : undefined,
  });
  const orders = shop.start();
  reference = getReference(await finish(orders.charge('17', momo)));
  const status = await finish(orders.wait('17', { timeout: MINUTE }));
  expect(status).toMatchObject({ state: 'in_review', reason: 'mismatch', payment: { key: '17/1' } });
  expect(shop.paid).toEqual([]);
});

test('polls at a pace if a payment that failed is not final for its order', async () => {
  const shop = openOrderShop();
  const strict = shop.start({}, { polling: { finalStatuses: ['success'] } });
  shop.service.decline(getReference(await finish(strict.charge('17', momo))));
  await pass(10 * SECOND);
  shop.requests.length = 0;
  const status = await finish(shop.start().wait('17', { timeout: MINUTE }));
  expect(status).toMatchObject({ state: 'processing', payment: { key: '17/1', status: 'failed' } });
  expect(shop.requests.length).toBeLessThan(20);
});

test('ends a wait when another process records the end', async () => {
  const shop = openOrderShop();
  const [waiting, other] = [shop.start(), shop.start()];
  const first = getReference(await finish(waiting.checkout('17', page)));
  const wait = waiting.wait('17', { timeout: 10 * MINUTE });
  await pass(2 * SECOND);
  shop.service.approve(first);
  const before = Date.now();
  expect(await finish(other.charge('17', momo))).toMatchObject({ state: 'paid' });
  expect(await finish(wait)).toMatchObject({ state: 'paid' });
  expect(Date.now() - before).toBeLessThan(5 * SECOND);
});

test('rejects a wait with the reason of its signal', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  await finish(orders.charge('17', momo));
  const stop = new AbortController();
  const wait = orders.wait('17', { signal: stop.signal });
  stop.abort('enough');
  await expect(finish(wait)).rejects.toBe('enough');
});

test('takes 4 steps of the store to charge, and 1 to read or to join', async () => {
  const steps: string[] = [];
  const store = wrapStore(memoryStore(), ({ method, key }, run) => {
    steps.push(`${method} ${key}`);
    return run();
  });
  const shop = openOrderShop({ store });
  const orders = shop.start();
  const { payments } = await finish(orders.charge('17', momo));
  const reference = `reference ${payments[0]?.reference?.toLowerCase()}`;
  expect(steps.splice(0)).toEqual([
    'read order 17',
    'write order 17',
    `write ${reference}`,
    'write order 17',
  ]);
  expect(await finish(orders.charge('17', momo))).toMatchObject({ state: 'processing' });
  expect(steps.splice(0)).toEqual(['read order 17']);
  await pass(2 * SECOND);
  expect(await finish(orders.charge('17', momo))).toMatchObject({ state: 'processing' });
  expect(steps.splice(0)).toEqual(['read order 17', 'write order 17']);
  await pass(2 * SECOND);
  // The price that it asks for is in the write of its check.
  expect(await finish(orders.charge('17', { ...momo, amount: '30.00' }))).toMatchObject({ differs: true });
  expect(steps.splice(0)).toEqual(['read order 17', 'write order 17']);
  expect(await finish(orders.read('17'))).toMatchObject({ state: 'processing' });
  expect(steps).toEqual(['read order 17']);
});

test('makes a payment due that a webhook names, whatever the form of its body', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  const reference = getReference(await finish(orders.charge('17', momo)));
  await pass(10 * SECOND);
  await finish(orders.sweep());
  shop.service.approve(reference);
  await pass(2 * SECOND);
  await finish(orders.notify({ event: 'payment', data: [{ transaction: { reference } }] }));
  await finish(orders.sweep());
  expect(shop.paid).toHaveLength(1);
});

test('leaves the payments of plain keys to createFollowUps', async () => {
  const shop = openOrderShop();
  const orders = shop.start();
  const plain = await finish(orders.payments.chargeMobileMoney(momo, { idempotencyKey: 'plain' }));
  shop.service.approve(plain.reference);
  await pass(10 * SECOND);
  expect(await finish(orders.sweep())).toMatchObject({ checked: 0, due: 0 });
});
