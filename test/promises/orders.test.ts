/** An order is paid at most once: `createOrderPayments`. */

import { expect, test } from 'vitest';
import { AuthenticationError } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/index.ts';
import {
  connectionRefused,
  DAY,
  getReference,
  HOUR,
  MINUTE,
  momo,
  page,
  SECOND,
  slow,
  sweepFor,
  world,
} from '../helpers/world.ts';
import { wrapStore } from '../helpers/wrapped-store.ts';

const otherNumber = { ...momo, phone: '0551234987' };
const dearer = { ...momo, amount: '30.00' };

test('an order is unpaid before its first charge', async () => {
  const { shop } = world();
  expect(await shop.orders.read('17')).toEqual({ order: '17', state: 'unpaid', canPay: true, payments: [] });
});

test('a press charges, and the status is plain JSON', async () => {
  const { shop } = world();
  const status = await shop.orders.charge('17', momo);
  expect(status).toMatchObject({ state: 'processing', canPay: false, payment: { key: '17/1', number: 1 } });
  expect(JSON.parse(JSON.stringify(status))).toEqual(status);
});

test('a press charges what it was given, whatever the caller does to that for the next order', async () => {
  const { shop, service } = world();
  const input = { ...momo };
  const options = { extraBody: { order: '17' } };
  const first = shop.orders.charge('17', input, options);
  Object.assign(input, { amount: '30.00', phone: otherNumber.phone });
  options.extraBody.order = '18';
  await Promise.all([first, shop.orders.charge('18', input, options)]);
  expect(service.requests.map(({ body }) => body)).toMatchObject([
    { amount: 25.5, phone: momo.phone, order: '17' },
    { amount: 30, phone: otherNumber.phone, order: '18' },
  ]);
});

test('many presses in many processes make one charge', async () => {
  const { shop, start, posts } = world({ respond: slow('POST', SECOND) });
  const processes = [shop, start(), start()];
  const statuses = await Promise.all(
    [...processes, ...processes].map(({ orders }) => orders.charge('17', momo)),
  );
  expect(posts).toEqual(['POST charge-mobile-money']);
  expect(new Set(statuses.map((status) => JSON.stringify(status))).size).toBe(1);
});

test('a press while a payment is under way says what differs, and sends nothing', async () => {
  const { shop, posts } = world();
  await shop.orders.charge('17', momo);
  expect(await shop.orders.charge('17', otherNumber)).toMatchObject({ state: 'processing', differs: true });
  expect(posts).toHaveLength(1);
});

test('startAnother begins another payment, and the first is followed', async () => {
  const { shop, service, paid } = world();
  const { payments } = await shop.orders.charge('17', momo);
  const status = await shop.orders.checkout('17', page, { startAnother: true });
  expect(status).toMatchObject({
    payment: { key: '17/2', method: 'checkout' },
    payments: [{ superseded: true }, {}],
  });
  service.approve(payments[0]?.reference ?? '');
  await sweepFor(MINUTE, shop.orders);
  expect(paid).toMatchObject([{ order: '17', payment: { key: '17/1' } }]);
});

test.each(['+233 24 412 3456', '233244123456', '00233 (0)24 412 3456', '24-412-3456'])(
  'startAnother asks no phone twice: %s is the number that was asked',
  async (phone) => {
    const { shop, posts } = world();
    await shop.orders.charge('17', { ...momo, phone: '0244123456' });
    const status = await shop.orders.charge('17', { ...momo, phone }, { startAnother: true });
    expect(posts).toHaveLength(1);
    expect(status).toMatchObject({ state: 'processing', payments: [{ key: '17/1' }] });
    expect(status).not.toHaveProperty('differs');
  },
);

test.each(['0244123457', '+234 24 412 3456', '10244123456'])(
  'startAnother asks another number, however much of it is alike: %s',
  async (phone) => {
    const { shop, posts } = world();
    await shop.orders.charge('17', { ...momo, phone: '0244123456' });
    await shop.orders.charge('17', { ...momo, phone }, { startAnother: true });
    expect(posts).toHaveLength(2);
  },
);

test('a payment that failed lets the customer pay again', async () => {
  const { shop, service, unpaid } = world();
  service.settleAfter('next', 20 * SECOND, 'failed');
  await shop.orders.charge('17', momo);
  await sweepFor(MINUTE, shop.orders);
  expect(unpaid).toMatchObject([{ order: '17', payment: { key: '17/1', status: 'failed' } }]);
  expect(await shop.orders.charge('17', momo)).toMatchObject({ payment: { key: '17/2' } });
});

test('a failed payment is checked before the next one begins', async () => {
  const { shop, clock, service, posts } = world();
  const { payments } = await shop.orders.charge('17', momo);
  const reference = payments[0]?.reference ?? '';
  service.decline(reference);
  await shop.orders.wait('17');
  service.approve(reference);
  await clock.pass(MINUTE);
  expect(await shop.orders.charge('17', momo)).toMatchObject({ state: 'paid' });
  expect(posts).toHaveLength(1);
});

test('onPaid is called for the payment that pays the order, with its transaction', async () => {
  const { shop, service, paid } = world();
  service.settleAfter('next', 20 * SECOND, 'success');
  await shop.orders.charge('17', momo);
  await sweepFor(DAY, shop.orders);
  expect(paid).toMatchObject([{ order: '17', payment: { key: '17/1' }, transaction: { status: 'success' } }]);
});

/** Makes a world whose service has a field `raw_status` of its own, which no documentation shows. */
const withRawStatus = (raw_status: string) =>
  world({
    async respond(_, handle) {
      const { data, ...envelope } = await (await handle()).json();
      return Response.json({ ...envelope, data: { ...data, raw_status } });
    },
  });

test('a field raw_status of the service does not make an order paid', async () => {
  const { shop, service, paid } = withRawStatus('success');
  service.decline(getReference(await shop.orders.charge('17', momo)));
  expect(await shop.orders.wait('17')).toMatchObject({ state: 'unpaid', payments: [{ status: 'failed' }] });
  await sweepFor(HOUR, shop.orders);
  expect(paid).toEqual([]);
});

test('a field raw_status of the service does not hide that an order is paid', async () => {
  const { shop, service, paid } = withRawStatus('COMPLETED');
  service.approve(getReference(await shop.orders.charge('17', momo)));
  await sweepFor(HOUR, shop.orders);
  expect(paid).toMatchObject([{ order: '17', transaction: { status: 'success' } }]);
});

test('onPaid is called again if it throws, and never for another payment', async () => {
  const calls: string[] = [];
  const { shop, service } = world({
    onPaid({ payment }) {
      calls.push(payment.key);
      if (calls.length === 1) throw new Error('The database of the shop is away.');
    },
  });
  service.settleAfter('next', 0, 'success');
  await shop.orders.charge('17', momo);
  await sweepFor(DAY, shop.orders);
  expect(calls).toEqual(['17/1', '17/1']);
});

test('a handler that fails is called again after a pause, whatever the other one did', async () => {
  const calls: number[] = [];
  const twice = world({
    onPaid() {
      calls.push(twice.clock.now);
      throw new Error('The shop is away.');
    },
  });
  const { shop, service, attentions } = twice;
  const references = [
    getReference(await shop.orders.charge('17', momo)),
    getReference(await shop.orders.charge('17', otherNumber, { startAnother: true })),
  ];
  for (const reference of references) service.approve(reference);
  await sweepFor(HOUR, shop.orders);
  expect(attentions).toMatchObject([{ reason: 'paid_twice' }]);
  const pauses = calls.slice(1).map((at, index) => at - Number(calls[index]));
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(27 * SECOND);
});

test('a second payment that is paid needs a person', async () => {
  const { shop, service, paid, attentions } = world();
  await shop.orders.charge('17', momo);
  const { payments } = await shop.orders.charge('17', otherNumber, { startAnother: true });
  for (const { reference = '' } of payments) service.approve(reference);
  await sweepFor(MINUTE, shop.orders);
  expect(paid).toHaveLength(1);
  expect(attentions).toMatchObject([{ order: '17', reason: 'paid_twice' }]);
});

test('an earlier price that is paid after the price changed needs a person', async () => {
  const { shop, service, paid, attentions } = world();
  const { payments } = await shop.orders.charge('17', momo);
  await shop.orders.charge('17', dearer);
  service.approve(payments[0]?.reference ?? '');
  await sweepFor(MINUTE, shop.orders);
  expect(await shop.orders.read('17')).toMatchObject({ state: 'in_review', reason: 'price_changed' });
  expect([paid, attentions]).toMatchObject([[], [{ reason: 'price_changed' }]]);
});

test('a lost response holds the order until a person decides', async () => {
  const { shop, service, posts } = world();
  service.fault('chargeMobileMoney', { kind: 'responseLost' });
  expect(await shop.orders.charge('17', momo)).toMatchObject({ state: 'in_review', reason: 'unresolved' });
  expect(await shop.orders.charge('17', momo)).toMatchObject({ state: 'in_review', canPay: false });
  expect(posts).toHaveLength(1);
});

test('a charge that was refused or not sent uses its payment again', async () => {
  let isRefused = true;
  const { shop } = world({
    respond() {
      if (isRefused) throw connectionRefused;
      return undefined;
    },
  });
  const refused = await shop.orders.charge('17', momo);
  expect(refused).toMatchObject({ state: 'unpaid', canPay: true, error: { outcome: 'not_sent' } });
  isRefused = false;
  expect(await shop.orders.charge('17', dearer)).toMatchObject({ payment: { key: '17/1', amount: '30.00' } });
});

test('a wait that begins while a press sends goes on until the order is paid', async () => {
  const { shop, start, service, posts, clock } = world({ respond: slow('POST', 5 * SECOND) });
  service.settleAfter('next', 10 * SECOND, 'success');
  const pressed = shop.orders.charge('17', momo);
  await clock.until(() => posts.length === 1);
  expect(await start().orders.wait('17', { timeout: MINUTE })).toMatchObject({ state: 'paid' });
  expect(await pressed).toMatchObject({ state: 'processing' });
});

test('a wait returns what the order is at its timeout', async () => {
  const { shop, clock, service } = world();
  service.settleAfter('next', 20 * SECOND, 'success');
  await shop.orders.charge('17', momo);
  expect(await shop.orders.wait('17', { timeout: 10 * SECOND })).toMatchObject({ state: 'processing' });
  expect(await shop.orders.wait('17')).toMatchObject({ state: 'paid' });
  expect(clock.now).toBeLessThan(MINUTE);
});

test('a read asks the journal alone', async () => {
  const { shop, requests } = world();
  await shop.orders.charge('17', momo);
  const before = requests.length;
  expect(await shop.orders.read('17')).toMatchObject({ state: 'processing' });
  expect(requests).toHaveLength(before);
});

test('a wrong API key is thrown, never hidden in a status', async () => {
  const { shop } = world({ client: { apiKey: 'sk_test_another' } });
  await expect(shop.orders.charge('17', momo)).rejects.toBeInstanceOf(AuthenticationError);
});

test('a webhook makes the check come now, and is never believed', async () => {
  const { shop, service, paid } = world();
  const { payments } = await shop.orders.charge('17', momo);
  const { reference = '' } = payments[0] ?? {};
  await shop.orders.notify({ event: 'payment', data: { reference, status: 'success' } });
  await shop.orders.sweep();
  expect(paid).toEqual([]);
  service.approve(reference);
  await shop.orders.notify({ reference });
  await sweepFor(2 * SECOND, shop.orders);
  expect(paid).toHaveLength(1);
});

test('a first press is at most four steps of the store, and a read is one', async () => {
  let steps = 0;
  const store = wrapStore(memoryStore(), (_, run) => {
    steps++;
    return run();
  });
  const { shop } = world({ store });
  await shop.orders.charge('17', momo);
  expect(steps).toBeLessThanOrEqual(4);
  steps = 0;
  await shop.orders.charge('17', momo);
  expect(steps).toBeLessThanOrEqual(2);
  steps = 0;
  await shop.orders.read('17');
  expect(steps).toBe(1);
});

test('a check of a wait counts from when it was asked', async () => {
  const { shop, service, journal } = world({ respond: slow('GET', 3 * SECOND) });
  const reference = getReference(await shop.orders.charge('17', momo));
  service.decline(reference);
  const startedAt = Date.now();
  await shop.orders.wait('17', { timeout: MINUTE });
  const { checkedAt = 0 } = (await journal.read('17/1')) ?? {};
  expect(Date.now() - checkedAt).toBeGreaterThanOrEqual(3 * SECOND);
  expect(checkedAt).toBeGreaterThanOrEqual(startedAt);
});
