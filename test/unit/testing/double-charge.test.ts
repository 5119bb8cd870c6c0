import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ConfigurationError, PaymentsClient } from '../../../src/index.ts';
import { memoryJournal } from '../../../src/journal/index.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';
import { createMockPayments, type MockPayments } from '../../../src/testing/index.ts';
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
    'The same customer was charged twice on the same phone: TXN-000001 and TXN-000002 (25.50 GHS, 60000 ms apart). ' +
      'No journal was given, so no order and no idempotency key ties them together. If they are purchases of their own, ' +
      'pass { journal } and await the check, or { purchases: 2 }.',
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
  expect(message).toMatch(/There are more\.$/);
});

test('names neither phone nor email', async () => {
  const { mock, payments } = startMock();
  for (let count = 0; count < 3; count++) await payments.chargeMobileMoney(charge);
  const message = await catchError(Promise.resolve().then(() => mock.expectNoDoubleCharge())).then(String);
  expect(message).toMatch(/TXN-000001 and TXN-000003.*TXN-000002 and TXN-000003/);
  expect(message).not.toMatch(/ama|412/i);
});

test.each([0, 1.5, Number.NaN, null, '2'])('throws a RangeError for `purchases` of %o', async (purchases) => {
  const { mock } = startMock();
  expect(() => Reflect.apply(mock.expectNoDoubleCharge, undefined, [{ purchases }])).toThrow(
    `purchases must be a whole number, 1 or more, not ${purchases}.`,
  );
});

test.each([
  [null, 'expectNoDoubleCharge takes an object, such as { journal }.'],
  [() => {}, 'expectNoDoubleCharge takes an object, such as { journal }.'],
  [{ purchase: 2 }, 'Unknown option "purchase". Did you mean purchases?'],
  [{ journal: null }, 'journal must be a journal of this package'],
  [{ journal: { list: () => [] } }, 'journal must be a journal of this package'],
])('throws a ConfigurationError at once for %o', async (options, message) => {
  const { mock } = startMock();
  const check = () => Reflect.apply(mock.expectNoDoubleCharge, undefined, [options]);
  expect(check).toThrow(ConfigurationError);
  expect(check).toThrow(message);
});

describe('purchases', () => {
  test('allows as many equal charges, and throws for one more', async () => {
    useFakeClock();
    const { mock, payments } = startMock();
    await payments.chargeMobileMoney(charge);
    await payments.chargeMobileMoney(charge);
    mock.expectNoDoubleCharge({ purchases: 2 });
    await payments.chargeMobileMoney(charge);
    expect(() => mock.expectNoDoubleCharge({ purchases: 2 })).toThrow(
      'The same customer was charged more than 2 times on the same phone: TXN-000001 and TXN-000003 (25.50 GHS, 0 ms apart); ' +
        'TXN-000002 and TXN-000003 (25.50 GHS, 0 ms apart). No journal was given, so no order and no idempotency key ties them together. ' +
        'If they are purchases of their own, pass { journal } and await the check, or { purchases: 3 }.',
    );
  });

  test('does not count what had failed', async () => {
    const { mock, payments } = startMock();
    mock.decline((await payments.chargeMobileMoney(charge)).reference);
    await payments.chargeMobileMoney(charge);
    await payments.chargeMobileMoney(charge);
    mock.expectNoDoubleCharge({ purchases: 2 });
  });

  test('allows no second charge of one order', async () => {
    const { mock, orders, journal } = startShop();
    await orders.charge('17', charge);
    await orders.charge('17', otherPhone, { startAnother: true });
    await expect(mock.expectNoDoubleCharge({ journal, purchases: 2 })).rejects.toThrow('of 17 (');
  });
});

describe('with a journal', () => {
  test('allows a customer who buys the same by two orders', async () => {
    const { mock, orders, journal } = startShop();
    await orders.charge('17', charge);
    await orders.charge('18', charge);
    await mock.expectNoDoubleCharge({ journal });
    expect(() => mock.expectNoDoubleCharge()).toThrow('If they are purchases of their own, pass { journal }');
  });

  test('allows the same charge under two idempotency keys', async () => {
    const { mock, keyed, journal } = startShop();
    await keyed.chargeMobileMoney(charge, { idempotencyKey: 'order-17/1' });
    await keyed.chargeMobileMoney(charge, { idempotencyKey: 'order-18/1' });
    await mock.expectNoDoubleCharge({ journal });
  });

  test('rejects for the next key of an order whose first charge is open', async () => {
    const { mock, keyed, journal } = startShop();
    await keyed.chargeMobileMoney(charge, { idempotencyKey: 'order-17/1' });
    await keyed.chargeMobileMoney(charge, { idempotencyKey: 'order-17/2' });
    await expect(mock.expectNoDoubleCharge({ journal })).rejects.toThrow('TXN-000002 of order-17 (');
  });

  test('rejects for two charges of one order, whatever phone and amount', async () => {
    useFakeClock();
    const { mock, orders, journal } = startShop();
    await orders.charge('17', charge);
    await orders.charge('17', { ...otherPhone, amount: '30' }, { startAnother: true });
    await expect(mock.expectNoDoubleCharge({ journal })).rejects.toThrow(
      /^The same order or key was charged twice: TXN-000001 and TXN-000002 of 17 \(30\.00 GHS, 0 ms apart\)\.$/,
    );
    mock.expectNoDoubleCharge();
  });

  test('allows the next payment of an order after the first has failed', async () => {
    const { mock, orders, journal } = startShop();
    mock.script('next', ['failed']);
    await orders.charge('17', charge);
    await orders.wait('17');
    await orders.charge('17', charge);
    expect(mock.charges).toHaveLength(2);
    await mock.expectNoDoubleCharge({ journal });
  });

  test('rejects for a key that two journals have each charged', async () => {
    const { mock, keyed, journal } = startShop();
    await keyed.chargeMobileMoney(charge, { idempotencyKey: 'order-17/1' });
    const other = startShop(mock);
    await other.keyed.chargeMobileMoney(charge, { idempotencyKey: 'order-17/1' });
    await expect(mock.expectNoDoubleCharge({ journal })).rejects.toThrow(
      'The journal does not have both, so no order and no idempotency key ties them together. ' +
        'If they are purchases of their own, pass { purchases: 2 }.',
    );
  });

  test('rejects for a double click of which the journal has nothing', async () => {
    const { mock, payments, orders, journal } = startShop();
    await orders.charge('17', { ...charge, amount: '30' });
    await payments.chargeMobileMoney(charge);
    await payments.chargeMobileMoney(charge);
    await expect(mock.expectNoDoubleCharge({ journal })).rejects.toThrow('TXN-000002 and TXN-000003 (');
    await mock.expectNoDoubleCharge({ journal, purchases: 2 });
  });

  test('rejects if only one of two equal charges is in the journal', async () => {
    const { mock, payments, orders, journal } = startShop();
    await orders.charge('17', charge);
    await payments.chargeMobileMoney(charge);
    await expect(mock.expectNoDoubleCharge({ journal })).rejects.toThrow('charged twice');
  });

  test('takes no charge for that of an older record with its reference', async () => {
    const { orders, journal } = startShop();
    await orders.charge('17', charge);
    await orders.charge('18', charge);
    const { mock, payments } = startShop(listen('https://restarted.example'));
    await payments.chargeMobileMoney(charge);
    await payments.chargeMobileMoney(charge);
    await expect(mock.expectNoDoubleCharge({ journal })).rejects.toThrow('TXN-000001 and TXN-000002 (');
  });

  test('learns nothing from an X-Request-Id that two orders share', async () => {
    const { mock, orders, journal } = startShop();
    const headers = { 'X-Request-Id': 'the-same' };
    await orders.charge('17', charge, { headers });
    await orders.charge('18', charge, { headers });
    await expect(mock.expectNoDoubleCharge({ journal })).rejects.toThrow('The journal does not have both');
  });

  test('finds a charge whose response was lost', async () => {
    const { mock, orders, journal } = startShop();
    mock.fault('chargeMobileMoney', { kind: 'responseLost' });
    await orders.charge('17', charge);
    await orders.charge('18', charge);
    await mock.expectNoDoubleCharge({ journal });
  });

  test('ignores charges of one order that are further apart than `within`', async () => {
    // The date only: the second press waits for a check of the first charge.
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const { mock, orders, journal } = startShop();
    await orders.charge('17', charge);
    vi.setSystemTime(Date.now() + 60_000);
    await orders.charge('17', otherPhone, { startAnother: true });
    await mock.expectNoDoubleCharge({ journal, within: 59_999 });
    await expect(mock.expectNoDoubleCharge({ journal, within: 60_000 })).rejects.toThrow('60000 ms apart');
  });

  test('checks what was charged before a reset that does not wait', async () => {
    const { mock, orders, journal } = startShop();
    await orders.charge('17', charge);
    await orders.charge('17', otherPhone, { startAnother: true });
    const check = catchError(mock.expectNoDoubleCharge({ journal }));
    mock.reset();
    expect(String(await check)).toContain('TXN-000001 and TXN-000002 of 17');
  });
});

const otherPhone = { ...charge, phone: '055 123 4567' };

function listen(baseUrl?: string): MockPayments {
  const mock = createMockPayments({ baseUrl });
  mock.listen();
  onTestFinished(() => mock.close());
  return mock;
}

/** Starts a shop with a journal. `payments` is a client without it. */
function startShop(mock = listen()) {
  const { baseUrl, apiKey } = mock;
  const journal = memoryJournal();
  const keyed = new PaymentsClient({ baseUrl, apiKey, journal, polling: { initialDelay: 0 } });
  const orders = createOrderPayments({ payments: keyed, journal, onPaid() {}, onAttention() {} });
  return { mock, payments: new PaymentsClient({ baseUrl, apiKey }), keyed, orders, journal };
}
