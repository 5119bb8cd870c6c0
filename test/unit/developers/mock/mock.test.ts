import { describe, expect, test, vi } from 'vitest';
import { createMockPayments, type MockPaymentsOptions } from '../../../../src/developers/mock/index.ts';
import { NotFoundError } from '../../../../src/index.ts';
import { catchError } from '../../../helpers/service.ts';
import { charge, payment, startMock, useFakeClock } from './start-mock.ts';

describe('returns the documented fields', () => {
  test('of a new payment, unpaid and paid once', async () => {
    useFakeClock('2026-11-21T10:15:00Z');
    const { mock, payments } = startMock();
    const reference = 'TXN-000001';
    const checkout_url = 'https://payments.example/checkout/TXN-000001';
    const sum = { amount: '25.50', currency: 'GHS' };
    expect(await payments.initialize(payment)).toEqual({ reference, checkout_url, ...sum, replayed: false });
    const { customer_email } = payment;
    const unpaid = { reference, status: 'pending', ...sum, customer_email, paid_at: null };
    expect(await payments.verify(reference)).toEqual(unpaid);
    const paid = { ...unpaid, status: 'success', paid_at: '2026-11-21T10:15:00+00:00' };
    expect(mock.approve(reference)).toEqual(paid);
    vi.setSystemTime(Date.now() + 60_000);
    expect(mock.approve(reference)).toEqual(paid);
    expect(await payments.verify(reference)).toEqual(paid);
  });
});

describe('the customer', () => {
  test('needs a known reference', async () => {
    const { mock, payments } = startMock();
    expect(() => mock.approve('TXN-1')).toThrow('There is no transaction TXN-1. Known: none yet.');
    await payments.initialize(payment);
    for (const act of [
      () => mock.approve('TXN-1'),
      () => mock.decline('TXN-1'),
      () => mock.abandon('TXN-1'),
      () => mock.script('TXN-1', ['pending']),
      () => mock.settleAfter('TXN-1', 5, 'success'),
    ])
      expect(act).toThrow('There is no transaction TXN-1. Known: TXN-000001.');
  });
});

test('records requests, also rejected ones, without the key', async () => {
  const { mock, payments, client } = startMock();
  const { reference } = await payments.initialize(payment, { headers: { 'X-Shop': 'Accra' } });
  await payments.verify(reference);
  await catchError(client({ apiKey: 'sk_test_wrong' }).verify(reference));
  await fetch(`${mock.baseUrl}/refunds`, { method: 'POST', body: 'what?' });
  const path = `/transactions/verify/${reference}`;
  const verify = { operation: 'verify', method: 'GET', path, body: null };
  expect(mock.requests).toMatchObject([
    {
      operation: 'initialize',
      method: 'POST',
      path: '/transactions/initialize',
      headers: { 'content-type': 'application/json', 'x-shop': 'Accra' },
      body: { amount: 25.5, customer_email: payment.customer_email },
    },
    verify,
    verify,
    { operation: null, method: 'POST', path: '/refunds', body: 'what?' },
  ]);
  expect(JSON.stringify(mock.requests)).not.toMatch(/authorization|sk_test/i);
});

test('shares nothing: neither its lists nor with another mock', async () => {
  const { mock, payments } = startMock();
  const other = createMockPayments({ baseUrl: mock.baseUrl });
  await payments.chargeMobileMoney(charge);
  const lists = () => [mock.transactions, mock.charges, mock.requests, other.transactions, other.requests];
  for (const list of lists()) list.pop();
  expect(lists().map(({ length }) => length)).toEqual([1, 1, 1, 0, 0]);
});

test('reset deletes everything, and uses no reference twice', async () => {
  const { mock, payments } = startMock();
  expect((await payments.chargeMobileMoney(charge)).reference).toBe('TXN-000001');
  mock.script('next', ['failed']);
  mock.reset();
  expect([mock.transactions, mock.charges, mock.requests]).toEqual([[], [], []]);
  const { reference } = await payments.initialize(payment);
  expect(reference).toBe('TXN-000002');
  expect((await payments.verify(reference)).status).toBe('pending');
});

describe('a transaction belongs to the mode of its key', () => {
  /** Starts a mock with a client of each mode. */
  function startModes(options?: MockPaymentsOptions) {
    const { mock, client } = startMock(options);
    return { mock, live: client(), test: client({ apiKey: mock.testKey }) };
  }

  test.each(['live', 'test'] as const)('of the %s key, which alone finds it', async (mode) => {
    const { mock, ...modes } = startModes();
    const otherMode = mode === 'live' ? 'test' : 'live';
    const { reference } = await modes[mode].initialize(payment);
    mock.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
    mock.script(reference, ['processing', 'success']);
    const error = await catchError(modes[otherMode].verify(reference));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({
      outcome: null,
      serviceMessage: `There is no such transaction in ${otherMode} mode.`,
    });
    // It used up neither the fault nor a step of the script.
    expect(await modes[mode].verify(reference)).toMatchObject({ amount: '2.55', status: 'processing' });
    expect(mock.decline(reference)).toMatchObject({ status: 'failed' });
    expect(await modes[mode].verify(reference)).toMatchObject({ status: 'failed' });
  });
});
