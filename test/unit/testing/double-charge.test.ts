import { expect, onTestFinished, test, vi } from 'vitest';
import type { MockPayments } from '../../../src/testing/index.ts';
import { failureOf } from '../../helpers/service.ts';
import { charge, payment, startMock } from './start-mock.ts';

function fakeClock(): void {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

test('the same customer, amount and phone twice', async () => {
  fakeClock();
  const { mock, payments } = startMock();
  await payments.chargeMobileMoney(charge);
  mock.expectNoDoubleCharge();
  vi.setSystemTime(Date.now() + 60_000);
  await payments.chargeMobileMoney(charge);
  expect(() => mock.expectNoDoubleCharge()).toThrow(
    'The same customer was charged twice on the same phone: TXN-000001 and TXN-000002 (25.50 GHS, 60000 ms apart).',
  );
});

test('also where the first answer was lost, and in another spelling', async () => {
  const { mock, payments } = startMock();
  mock.fault('chargeMobileMoney', { kind: 'responseLost' });
  await failureOf(payments.chargeMobileMoney(charge));
  await payments.chargeMobileMoney({
    ...charge,
    amount: 25.5,
    customer_email: 'Ama.Serwaa@Example.com',
    phone: '+233244123456',
    network: 'telecel',
  });
  expect(() => mock.expectNoDoubleCharge()).toThrow('TXN-000001 and TXN-000002');
});

test.each([
  ['customer', { customer_email: 'kofi@example.com' }],
  ['amount', { amount: 25.51 }],
  ['currency', { currency: 'NGN' }],
  ['phone', { phone: '024 412 3457' }],
])('another %s is no double charge', async (_what, other) => {
  const { mock, payments } = startMock();
  await payments.chargeMobileMoney(charge);
  await payments.chargeMobileMoney({ ...charge, ...other });
  mock.expectNoDoubleCharge();
});

test('a payment by checkout page charges nobody', async () => {
  const { mock, payments } = startMock();
  await payments.initialize(payment);
  await payments.initialize(payment);
  await payments.chargeMobileMoney(charge);
  mock.expectNoDoubleCharge();
});

test('within: charges further apart do not count', async () => {
  fakeClock();
  const { mock, payments } = startMock();
  await payments.chargeMobileMoney(charge);
  vi.setSystemTime(Date.now() + 60_000);
  await payments.chargeMobileMoney(charge);
  mock.expectNoDoubleCharge({ within: 59_999 });
  expect(() => mock.expectNoDoubleCharge({ within: 60_000 })).toThrow('60000 ms apart');
});

test('a charge that had failed may be made again', async () => {
  const { mock, payments } = startMock();
  const { reference } = await payments.chargeMobileMoney(charge);
  mock.decline(reference);
  await payments.chargeMobileMoney(charge);
  mock.expectNoDoubleCharge();
});

test('one that fails only afterwards, or was abandoned, may not', async () => {
  fakeClock();
  const { mock, payments } = startMock();
  const { reference: first } = await payments.chargeMobileMoney(charge);
  await payments.chargeMobileMoney(charge);
  vi.setSystemTime(Date.now() + 1);
  mock.decline(first);
  expect(() => mock.expectNoDoubleCharge()).toThrow('charged twice');

  mock.reset();
  mock.settleAfter('next', 0, 'abandoned');
  await payments.chargeMobileMoney(charge);
  await payments.chargeMobileMoney(charge);
  expect(() => mock.expectNoDoubleCharge()).toThrow('charged twice');
});

test.each([
  ['decline', (mock: MockPayments, first: string) => mock.decline(first)],
  ['settleAfter', (mock: MockPayments, first: string) => mock.settleAfter(first, 0, 'failed')],
])('on a clock that stands still, what counts is which came first: %s', async (_how, fail) => {
  fakeClock();
  const { mock, payments } = startMock();
  const { reference: before } = await payments.chargeMobileMoney(charge);
  fail(mock, before);
  await payments.chargeMobileMoney(charge);
  mock.expectNoDoubleCharge();

  mock.reset();
  const { reference: after } = await payments.chargeMobileMoney(charge);
  await payments.chargeMobileMoney(charge);
  fail(mock, after);
  expect(() => mock.expectNoDoubleCharge()).toThrow('0 ms apart');
});

test('a charge that was planned to fail may be made again once it has, and not before', async () => {
  fakeClock();
  const { mock, payments } = startMock();
  mock.settleAfter('next', 1_000, 'failed');
  await payments.chargeMobileMoney(charge);
  vi.setSystemTime(Date.now() + 1_000);
  await payments.chargeMobileMoney(charge);
  mock.expectNoDoubleCharge();

  mock.reset();
  mock.settleAfter('next', 1_000, 'failed');
  await payments.chargeMobileMoney(charge);
  vi.setSystemTime(Date.now() + 999);
  await payments.chargeMobileMoney(charge);
  vi.setSystemTime(Date.now() + 1);
  expect(() => mock.expectNoDoubleCharge()).toThrow('999 ms apart');
});

test('a script fails a charge with the verify that finds it failed', async () => {
  fakeClock();
  const { mock, payments } = startMock();
  mock.script('next', ['pending', 'failed']);
  const { reference } = await payments.chargeMobileMoney(charge);
  await payments.verify(reference);
  await payments.verify(reference);
  await payments.chargeMobileMoney(charge);
  mock.expectNoDoubleCharge();

  mock.reset();
  mock.script('next', ['pending', 'failed']);
  const { reference: early } = await payments.chargeMobileMoney(charge);
  await payments.verify(early);
  await payments.chargeMobileMoney(charge);
  await payments.verify(early);
  expect(() => mock.expectNoDoubleCharge()).toThrow('charged twice');
});

test.each([-1, Number.NaN, null, '5'])('within: %o is refused', async (within) => {
  const { mock } = startMock();
  expect(() => Reflect.apply(mock.expectNoDoubleCharge, undefined, [{ within }])).toThrow(RangeError);
});

test('the message names twenty pairs at most', async () => {
  const { mock, payments } = startMock();
  for (let count = 0; count < 8; count++) await payments.chargeMobileMoney(charge);
  const message = await failureOf(Promise.resolve().then(() => mock.expectNoDoubleCharge())).then(String);
  expect(message.match(/ ms apart/g)).toHaveLength(20);
  expect(message).toMatch(/; and more\.$/);
});

test('the message names neither phone nor email', async () => {
  const { mock, payments } = startMock();
  for (let count = 0; count < 3; count++) await payments.chargeMobileMoney(charge);
  const message = await failureOf(Promise.resolve().then(() => mock.expectNoDoubleCharge())).then(String);
  expect(message).toMatch(/TXN-000001 and TXN-000003.*TXN-000002 and TXN-000003/);
  expect(message).not.toMatch(/ama|412/i);
});
