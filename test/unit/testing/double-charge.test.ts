import { expect, test, vi } from 'vitest';
import type { MockPayments } from '../../../src/testing/index.ts';
import { catchError } from '../../helpers/service.ts';
import { charge, payment, startMock, useFakeClock } from './start-mock.ts';

test('throws for the same customer, amount and phone twice', async () => {
  useFakeClock();
  const { mock, payments } = startMock();
  await payments.chargeMobileMoney(charge);
  mock.expectNoDoubleCharge();
  vi.setSystemTime(Date.now() + 60_000);
  await payments.chargeMobileMoney(charge);
  expect(() => mock.expectNoDoubleCharge()).toThrow(
    'The same customer was charged twice on the same phone: TXN-000001 and TXN-000002 (25.50 GHS, 60000 ms apart).',
  );
});

test('throws if the first response was lost, and for another spelling', async () => {
  const { mock, payments } = startMock();
  mock.fault('chargeMobileMoney', { kind: 'responseLost' });
  await catchError(payments.chargeMobileMoney(charge));
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
])('accepts another %s', async (_what, other) => {
  const { mock, payments } = startMock();
  await payments.chargeMobileMoney(charge);
  await payments.chargeMobileMoney({ ...charge, ...other });
  mock.expectNoDoubleCharge();
});

test('ignores checkout payments', async () => {
  const { mock, payments } = startMock();
  await payments.initialize(payment);
  await payments.initialize(payment);
  await payments.chargeMobileMoney(charge);
  mock.expectNoDoubleCharge();
});

test('ignores charges that are further apart than `within`', async () => {
  useFakeClock();
  const { mock, payments } = startMock();
  await payments.chargeMobileMoney(charge);
  vi.setSystemTime(Date.now() + 60_000);
  await payments.chargeMobileMoney(charge);
  mock.expectNoDoubleCharge({ within: 59_999 });
  expect(() => mock.expectNoDoubleCharge({ within: 60_000 })).toThrow('60000 ms apart');
});

test('accepts a second charge after the first has failed', async () => {
  const { mock, payments } = startMock();
  const { reference } = await payments.chargeMobileMoney(charge);
  mock.decline(reference);
  await payments.chargeMobileMoney(charge);
  mock.expectNoDoubleCharge();
});

test('throws for a double charge after pairs that do not count', async () => {
  useFakeClock();
  const { mock, payments } = startMock();
  mock.decline((await payments.chargeMobileMoney(charge)).reference);
  await payments.chargeMobileMoney(charge);
  vi.setSystemTime(Date.now() + 60_000);
  await payments.chargeMobileMoney(charge);
  await payments.chargeMobileMoney(charge);
  expect(() => mock.expectNoDoubleCharge({ within: 59_999 })).toThrow(
    'on the same phone: TXN-000003 and TXN-000004 (25.50 GHS, 0 ms apart).',
  );
});

test('throws if the first charge failed later, or was abandoned', async () => {
  useFakeClock();
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
])('uses the order of events on a clock that stands still: %s', async (_how, fail) => {
  useFakeClock();
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

test('accepts a second charge only after a planned failure', async () => {
  useFakeClock();
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

test('accepts a second charge only after a verify found a scripted failure', async () => {
  useFakeClock();
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

test.each([-1, Number.NaN, null, '5'])('throws a RangeError for a `within` of %o', async (within) => {
  const { mock } = startMock();
  expect(() => Reflect.apply(mock.expectNoDoubleCharge, undefined, [{ within }])).toThrow(RangeError);
});

test('names at most twenty pairs', async () => {
  const { mock, payments } = startMock();
  for (let count = 0; count < 8; count++) await payments.chargeMobileMoney(charge);
  const message = await catchError(Promise.resolve().then(() => mock.expectNoDoubleCharge())).then(String);
  expect(message.match(/ ms apart/g)).toHaveLength(20);
  expect(message).toMatch(/; and more\.$/);
});

test('names neither phone nor email', async () => {
  const { mock, payments } = startMock();
  for (let count = 0; count < 3; count++) await payments.chargeMobileMoney(charge);
  const message = await catchError(Promise.resolve().then(() => mock.expectNoDoubleCharge())).then(String);
  expect(message).toMatch(/TXN-000001 and TXN-000003.*TXN-000002 and TXN-000003/);
  expect(message).not.toMatch(/ama|412/i);
});
