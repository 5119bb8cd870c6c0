import { setupServer } from 'msw/node';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { OutcomeUnknownError, PaymentsClient } from '../../src/index.ts';
import { createMockPayments } from '../../src/testing/index.ts';

const mock = createMockPayments();
const server = setupServer(...mock.handlers);
const payments = new PaymentsClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });

beforeAll(() => server.listen());
afterEach(() => mock.reset());
afterAll(() => server.close());

const order = {
  amount: '25.50',
  customer_email: 'ama@example.com',
  phone: '024 412 3456',
  network: 'mtn',
} as const;

test('an order is paid once its transaction is, and not before', async () => {
  const { amount, customer_email } = order;
  const { reference } = await payments.initialize({ amount, customer_email });
  const paid = async () =>
    (await payments.verify(reference, { expect: { amount, currency: 'GHS' } })).status === 'success';

  expect(await paid()).toBe(false);
  mock.approve(reference);
  expect(await paid()).toBe(true);
});

test('a lost answer leaves the charge in doubt, and is not charged again', async () => {
  mock.fault('chargeMobileMoney', { kind: 'answerLost' });

  await expect(payments.chargeMobileMoney(order)).rejects.toBeInstanceOf(OutcomeUnknownError);
  expect(mock.charges).toHaveLength(1);
});

test('a shop that charges again after every error is found out', async () => {
  mock.fault('chargeMobileMoney', { kind: 'answerLost' });

  await payments.chargeMobileMoney(order).catch(() => payments.chargeMobileMoney(order));
  expect(() => mock.expectNoDoubleCharge()).toThrow('charged twice');
});
