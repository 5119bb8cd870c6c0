/** The mock: a shop is tested without a live service. The sandbox is the same service over HTTP. */

import { expect, onTestFinished, test } from 'vitest';
import { createMockPayments } from '../../src/developers/mock/index.ts';
import { startSandbox } from '../../src/developers/sandbox/index.ts';
import { PaymentsClient } from '../../src/index.ts';
import { createOrderPayments } from '../../src/orders/index.ts';
import { type Journal, memoryJournal } from '../../src/stores/index.ts';
import { catchError } from '../helpers/service.ts';
import { BASE_URL, momo, page } from '../helpers/world.ts';

const API_KEY = 'a-live-key';
const unkeyed = { idempotencyKey: null };

function startMock(journal?: Journal) {
  const mock = createMockPayments({ apiKey: API_KEY, baseUrl: BASE_URL });
  mock.listen();
  onTestFinished(() => mock.close());
  const payments = new PaymentsClient({ apiKey: API_KEY, baseUrl: BASE_URL, maxRetries: 0, journal });
  return { mock, payments };
}

test('the mock keeps transactions, and a test plays the customer', async () => {
  const { mock, payments } = startMock();
  const { reference } = await payments.chargeMobileMoney(momo, unkeyed);
  expect(await payments.verify(reference)).toMatchObject({ status: 'pending' });
  mock.approve(reference);
  expect(await payments.verify(reference)).toMatchObject({ status: 'success', amount: '25.50' });
});

test('the mock refuses what the documentation does not allow', async () => {
  const { mock } = startMock();
  const response = await fetch(`${BASE_URL}/transactions/charge-mobile-money`, {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...momo, amount: 0.5 }),
  });
  expect(response.status).toBe(422);
  expect(mock.charges).toEqual([]);
});

test('a fault breaks the next requests, and no more', async () => {
  const { mock, payments } = startMock();
  mock.fault('initialize', { kind: 'responseLost' }, { times: 2 });
  for (const outcome of ['unknown', 'unknown'])
    expect(await catchError(payments.initialize(page))).toMatchObject({ outcome });
  expect(await payments.initialize(page)).toMatchObject({ amount: '25.50' });
  expect(mock.transactions).toHaveLength(3);
});

test('expectNoDoubleCharge finds a customer who was charged twice', async () => {
  const { mock, payments } = startMock();
  await payments.chargeMobileMoney(momo, unkeyed);
  expect(() => mock.expectNoDoubleCharge()).not.toThrow();
  await payments.chargeMobileMoney(momo, unkeyed);
  expect(() => mock.expectNoDoubleCharge()).toThrow(/TXN-\w+.*TXN-\w+/s);
});

test('with the journal it tells a double charge from buying the same again', async () => {
  const journal = memoryJournal();
  const { mock, payments } = startMock(journal);
  const orders = createOrderPayments({ payments, journal, onPaid() {}, onAttention() {} });
  await orders.charge('17', momo);
  await orders.charge('18', momo);
  await mock.expectNoDoubleCharge({ journal });
  await orders.charge('18', { ...momo, phone: '0551234987' }, { startAnother: true });
  expect(await catchError(mock.expectNoDoubleCharge({ journal }))).toMatchObject({ message: /TXN-/ });
});

test('references go on after a reset, so that a journal meets none twice', async () => {
  const { mock, payments } = startMock();
  const first = await payments.initialize(page);
  mock.reset();
  expect((await payments.initialize(page)).reference).not.toBe(first.reference);
  expect(mock.transactions).toHaveLength(1);
});

test('the sandbox keeps test and live keys apart, and charges with a live key alone', async () => {
  const sandbox = await startSandbox({ port: 0 });
  onTestFinished(() => sandbox.close());
  const { baseUrl, liveKey, testKey } = sandbox;
  const [live, tests] = [liveKey, testKey].map(
    (key) => new PaymentsClient({ apiKey: key, baseUrl, maxRetries: 0 }),
  );
  const { reference = '' } = (await live?.chargeMobileMoney(momo, unkeyed)) ?? {};
  expect(await catchError(Promise.resolve(tests?.verify(reference)))).toMatchObject({ code: 'not_found' });
  expect(await catchError(Promise.resolve(tests?.chargeMobileMoney(momo, unkeyed)))).toMatchObject({
    outcome: 'rejected',
    message: expect.stringContaining('live mode'),
  });
});
