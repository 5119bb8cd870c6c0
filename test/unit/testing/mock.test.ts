import { describe, expect, test, vi } from 'vitest';
import { createMockPayments } from '../../../src/testing/index.ts';
import { charge, payment, startMock, useFakeClock } from './start-mock.ts';

describe('responses', () => {
  test('initialize returns the documented fields', async () => {
    const { payments } = startMock();
    expect(await payments.initialize(payment)).toEqual({
      reference: 'TXN-000001',
      checkout_url: 'https://payments.example/checkout/TXN-000001',
      amount: '25.50',
      currency: 'GHS',
      replayed: false,
    });
  });

  test('chargeMobileMoney returns the documented fields', async () => {
    const { payments } = startMock();
    expect(await payments.chargeMobileMoney({ ...charge, amount: 7, currency: 'usd' })).toEqual({
      reference: 'TXN-000001',
      status: 'processing',
      message: "A prompt has been sent to the customer's phone.",
      amount: '7.00',
      currency: 'USD',
      replayed: false,
    });
  });

  test('verify returns the documented fields, unpaid and paid', async () => {
    useFakeClock('2026-11-21T10:15:00Z');
    const { mock, payments } = startMock();
    const { reference } = await payments.initialize(payment);
    const unpaid = {
      reference,
      status: 'pending',
      amount: '25.50',
      currency: 'GHS',
      customer_email: payment.customer_email,
      paid_at: null,
    };
    expect(await payments.verify(reference)).toEqual(unpaid);
    mock.approve(reference);
    expect(await payments.verify(reference)).toEqual({
      ...unpaid,
      status: 'success',
      paid_at: '2026-11-21T10:15:00+00:00',
    });
  });

  test('verify returns pending, not processing, for a new charge', async () => {
    const { payments } = startMock();
    const { reference } = await payments.chargeMobileMoney(charge);
    expect((await payments.verify(reference)).status).toBe('pending');
  });
});

describe('the customer', () => {
  test.each([
    ['approve', 'success'],
    ['decline', 'failed'],
    ['abandon', 'abandoned'],
  ] as const)('%s sets the status %s', async (control, status) => {
    const { mock, payments } = startMock();
    const { reference } = await payments.chargeMobileMoney(charge);
    expect(mock[control](reference)).toMatchObject({ reference, status });
    expect(await payments.verify(reference)).toMatchObject({
      status,
      paid_at: status === 'success' ? expect.any(String) : null,
    });
    expect(mock.transactions).toMatchObject([{ reference, status }]);
  });

  test('can still pay an abandoned payment', async () => {
    const { mock, payments } = startMock();
    const { reference } = await payments.initialize(payment);
    mock.abandon(reference);
    mock.approve(reference);
    expect(await payments.verify(reference)).toMatchObject({
      status: 'success',
      paid_at: expect.any(String),
    });
  });

  test('pays once: a second approve changes nothing', async () => {
    useFakeClock('2026-11-21T10:15:00Z');
    const { mock, payments } = startMock();
    const { reference } = await payments.initialize(payment);
    const paid = mock.approve(reference);
    vi.setSystemTime(Date.now() + 60_000);
    expect(mock.approve(reference)).toEqual(paid);
  });

  test('throws for an unknown reference, and names the known ones', async () => {
    const { mock, payments } = startMock();
    expect(() => mock.approve('TXN-1')).toThrow('There is no transaction TXN-1. Known: none yet.');
    await payments.initialize(payment);
    for (const act of [mock.approve, mock.decline, mock.abandon]) {
      expect(() => act('TXN-1')).toThrow('There is no transaction TXN-1. Known: TXN-000001.');
    }
    expect(() => mock.script('TXN-1', ['pending'])).toThrow('no transaction TXN-1');
    expect(() => mock.settleAfter('TXN-1', 5, 'success')).toThrow('no transaction TXN-1');
  });
});

describe('records', () => {
  test('requests, also rejected ones, without the key', async () => {
    const { mock, payments, client } = startMock();
    const { reference } = await payments.initialize(payment, { headers: { 'X-Shop': 'Accra' } });
    await payments.verify(reference);
    await client({ apiKey: 'sk_test_wrong' })
      .verify(reference)
      .catch(() => {});
    await fetch(`${mock.baseUrl}/refunds`, { method: 'POST', body: 'what?' });

    const [first, ...others] = mock.requests;
    expect(first).toMatchObject({
      operation: 'initialize',
      method: 'POST',
      path: '/transactions/initialize',
      headers: { 'content-type': 'application/json', 'x-shop': 'Accra' },
      body: { amount: 25.5, customer_email: payment.customer_email },
    });
    const verify = {
      operation: 'verify',
      method: 'GET',
      path: `/transactions/verify/${reference}`,
      body: null,
    };
    expect(others).toMatchObject([
      verify,
      verify,
      { operation: null, method: 'POST', path: '/refunds', body: 'what?' },
    ]);
    expect(JSON.stringify(mock.requests)).not.toMatch(/authorization|sk_test/i);
  });

  test('accepted charges, and no checkout payment', async () => {
    const { mock, payments } = startMock();
    await payments.initialize(payment);
    await payments.chargeMobileMoney(charge);
    expect(mock.charges).toEqual([
      {
        reference: 'TXN-000002',
        amount: '25.50',
        currency: 'GHS',
        customer_email: charge.customer_email,
        phone: charge.phone,
        network: 'mtn',
      },
    ]);
  });

  test('copies: changing a list does not change the service', async () => {
    const { mock, payments } = startMock();
    await payments.chargeMobileMoney(charge);
    mock.transactions.pop();
    mock.charges.pop();
    mock.requests.pop();
    expect([mock.transactions, mock.charges, mock.requests].map(({ length }) => length)).toEqual([1, 1, 1]);
  });
});

test('reset deletes everything, and uses no reference twice', async () => {
  const { mock, payments } = startMock();
  expect((await payments.chargeMobileMoney(charge)).reference).toBe('TXN-000001');
  mock.script('next', ['failed']);
  mock.fault('initialize', { kind: 'reset' });
  mock.reset();
  expect([mock.transactions, mock.charges, mock.requests]).toEqual([[], [], []]);

  const { reference } = await payments.initialize(payment);
  expect(reference).toBe('TXN-000002');
  expect((await payments.verify(reference)).status).toBe('pending');
});

test('two mocks share nothing', async () => {
  const { mock, payments } = startMock();
  const other = createMockPayments({ baseUrl: mock.baseUrl });
  await payments.initialize(payment);
  expect(mock.transactions).toHaveLength(1);
  expect([other.transactions, other.requests]).toEqual([[], []]);
});
