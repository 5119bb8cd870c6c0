import { expect, onTestFinished, test, vi } from 'vitest';
import { createMockPayments } from '../../../../src/developers/mock/index.ts';
import { ConfigurationError, PaymentsClient } from '../../../../src/index.ts';
import { createOrderPayments } from '../../../../src/orders/index.ts';
import { memoryJournal } from '../../../../src/stores/index.ts';
import { catchError, charge, payment } from '../../../helpers/service.ts';

/** What a charge has in place of the usual details. */
const others: Readonly<Record<string, object>> = {
  email: { customer_email: 'kofi@example.com' },
  amount: { amount: 25.51 },
  currency: { currency: 'NGN' },
  phone: { phone: '024 412 3457' },
  spelling: {
    amount: 25.5,
    customer_email: 'Ama.Serwaa@Example.com',
    phone: '+233244123456',
    network: 'telecel',
  },
  another: { phone: '055 123 4567', amount: '30' },
};

/** Starts a mock whose dates stand still, and a shop with a journal. Its timers go on, because an order waits for checks. */
function startShop(baseUrl?: string) {
  vi.useFakeTimers({ toFake: ['Date'] });
  const mock = createMockPayments({ baseUrl });
  mock.listen();
  onTestFinished(() => {
    vi.useRealTimers();
    mock.close();
  });
  const connection = { baseUrl: mock.baseUrl, apiKey: mock.apiKey };
  const plain = new PaymentsClient(connection);
  const withJournal = (journal = memoryJournal()) => {
    const payments = new PaymentsClient({ ...connection, journal, polling: { initialDelay: 0 } });
    return { payments, journal };
  };
  const { payments, journal } = withJournal();
  const orders = createOrderPayments({ payments, journal, onPaid() {}, onAttention() {} });
  const sharedId = { headers: { 'X-Request-Id': 'the-same' } };
  const find = (nth = '') => mock.charges[Number(nth) - 1]?.reference ?? '';
  /** The steps of a story. A charge is without a journal, a key and an order with it. */
  const steps: Readonly<Record<string, (first?: string, second?: string) => unknown>> = {
    charge: (other = '') => plain.chargeMobileMoney({ ...charge, ...others[other] }),
    checkout: () => plain.initialize(payment),
    verify: (nth) => plain.verify(find(nth)),
    key: (idempotencyKey = '') => payments.chargeMobileMoney(charge, { idempotencyKey }),
    keyElsewhere: (idempotencyKey = '') =>
      withJournal().payments.chargeMobileMoney(charge, { idempotencyKey }),
    order: (id = '', other = '') =>
      orders.charge(id, { ...charge, ...others[other] }, other === '' ? {} : { startAnother: true }),
    orderWithSharedId: (id = '') => orders.charge(id, charge, sharedId),
    wait: (id = '') => orders.wait(id),
    pass: (time) => vi.setSystemTime(Date.now() + Number(time)),
    decline: (nth) => mock.decline(find(nth)),
    failAfter: (delay, nth) => mock.settleAfter(nth === 'next' ? nth : find(nth), Number(delay), 'failed'),
    abandonNext: () => mock.settleAfter('next', 0, 'abandoned'),
    scriptNext: () => mock.script('next', ['pending', 'failed']),
    loseNext: () => mock.fault('chargeMobileMoney', { kind: 'responseLost' }),
  };
  const act = async (story: string) => {
    for (const step of story.split(', ')) {
      const [name = '', ...args] = step.split(' ');
      await Promise.resolve(steps[name]?.(...args)).catch(() => {});
    }
  };
  return { mock, journal, act };
}

const pair = 'TXN-000001 and TXN-000002 (';
const sorry =
  'so no order and no idempotency key ties them together. If they are purchases of their own, pass';

/** What happened, the options of the check, how many charges there are, and what the error says: `null` if there is none. */
type Story = [
  story: string,
  options: { within?: number; purchases?: number },
  made: number,
  found: string | null,
];

test.each<Story>([
  ['charge', {}, 1, null],
  [
    'charge, pass 60000, charge',
    {},
    2,
    `Error: The same customer was charged twice on the same phone: ${pair}25.50 GHS, 60000 ms apart). No journal was given, ${sorry} { journal } and await the check, or { purchases: 2 }.`,
  ],
  ['loseNext, charge, charge spelling', {}, 2, pair],
  ['charge, charge email', {}, 2, null],
  ['charge, charge amount', {}, 2, null],
  ['charge, charge currency', {}, 2, null],
  ['charge, charge phone', {}, 2, null],
  ['checkout, checkout, charge', {}, 1, null],
  ['charge, pass 60000, charge', { within: 59_999 }, 2, null],
  ['charge, pass 60000, charge', { within: 60_000 }, 2, '60000 ms apart'],
  [
    'charge, decline 1, charge, pass 60000, charge, charge',
    { within: 59_999 },
    4,
    'on the same phone: TXN-000003 and TXN-000004 (25.50 GHS, 0 ms apart).',
  ],
  // On a clock that stands still the order of events decides.
  ['charge, decline 1, charge', {}, 2, null],
  ['charge, failAfter 0 1, charge', {}, 2, null],
  ['charge, charge, decline 1', { within: 0 }, 2, '0 ms apart'],
  ['charge, charge, failAfter 0 1', {}, 2, '0 ms apart'],
  ['charge, charge, pass 1, decline 1', {}, 2, pair],
  ['abandonNext, charge, charge', {}, 2, pair],
  ['failAfter 1000 next, charge, pass 1000, charge', {}, 2, null],
  ['failAfter 1000 next, charge, pass 999, charge, pass 1', {}, 2, '999 ms apart'],
  ['scriptNext, charge, verify 1, verify 1, charge', {}, 2, null],
  ['scriptNext, charge, verify 1, charge, verify 1', {}, 2, pair],
  ['charge, charge', { purchases: 2 }, 2, null],
  ['charge, decline 1, charge, charge', { purchases: 2 }, 3, null],
  [
    'charge, charge, charge',
    { purchases: 2 },
    3,
    `charged more than 2 times on the same phone: TXN-000001 and TXN-000003 (25.50 GHS, 0 ms apart); TXN-000002 and TXN-000003 (25.50 GHS, 0 ms apart). No journal was given, ${sorry} { journal } and await the check, or { purchases: 3 }.`,
  ],
])('judges "%s" with %j', async (story, options, made, found) => {
  const { mock, act } = startShop();
  await act(story);
  expect(mock.charges).toHaveLength(made);
  const check = Promise.resolve().then(() => mock.expectNoDoubleCharge(options));
  if (found === null) await check;
  else expect(String(await catchError(check))).toContain(found);
});

test.each<Story>([
  ['loseNext, order 17, order 18', {}, 2, null],
  ['key order-17/1, key order-18/1', {}, 2, null],
  ['key order-17/1, key order-17/2', {}, 2, 'TXN-000002 of order-17 ('],
  [
    'order 17, order 17 another',
    {},
    2,
    'Error: The same order or key was charged twice: TXN-000001 and TXN-000002 of 17 (30.00 GHS, 0 ms apart).',
  ],
  ['order 17, order 17 another', { purchases: 2 }, 2, 'of 17 ('],
  ['order 17, pass 60000, order 17 another', { within: 59_999 }, 2, null],
  ['order 17, pass 60000, order 17 another', { within: 60_000 }, 2, '60000 ms apart'],
  ['failAfter 0 next, order 17, wait 17, order 17', {}, 2, null],
  [
    'key order-17/1, keyElsewhere order-17/1',
    {},
    2,
    `The journal does not have both, ${sorry} { purchases: 2 }.`,
  ],
  ['order 17 another, charge, charge', {}, 3, 'TXN-000002 and TXN-000003 ('],
  ['order 17 another, charge, charge', { purchases: 2 }, 3, null],
  ['order 17, charge', {}, 2, pair],
  ['orderWithSharedId 17, orderWithSharedId 18', {}, 2, 'The journal does not have both'],
])('judges "%s" with a journal and %j', async (story, options, made, found) => {
  const { mock, journal, act } = startShop();
  await act(story);
  expect(mock.charges).toHaveLength(made);
  const check = mock.expectNoDoubleCharge({ journal, ...options });
  // A reset does not wait for the check.
  mock.reset();
  if (found === null) await check;
  else expect(String(await catchError(check))).toContain(found);
});

test('takes no charge for that of an older record with its reference', async () => {
  const older = startShop();
  await older.act('order 17, order 18');
  const { mock, act } = startShop('https://restarted.example');
  await act('charge, charge');
  await expect(mock.expectNoDoubleCharge({ journal: older.journal })).rejects.toThrow(pair);
});

test('names at most twenty pairs, and neither phone nor email', async () => {
  const { mock, act } = startShop();
  await act(Array(8).fill('charge').join(', '));
  const message = String(await catchError(Promise.resolve().then(() => mock.expectNoDoubleCharge())));
  expect(message.match(/ ms apart/g)).toHaveLength(20);
  expect(message).toMatch(/There are more\.$/);
  expect(message).not.toMatch(/ama|412/i);
});

const range = (name: string, values: unknown[], message: string) =>
  values.map((value) => [{ [name]: value }, RangeError, message] as const);

test.each([
  ...range('within', [-1, Number.NaN, null, '5'], 'within must be milliseconds'),
  ...range('purchases', [0, 1.5, Number.NaN, null, '2'], 'purchases must be a whole number, 1 or more, not'),
  [null, ConfigurationError, 'expectNoDoubleCharge takes an object, such as { journal }.'],
  [() => {}, ConfigurationError, 'expectNoDoubleCharge takes an object, such as { journal }.'],
  [{ purchase: 2 }, ConfigurationError, 'Unknown option "purchase". Did you mean purchases?'],
  [{ journal: null }, ConfigurationError, 'journal must be a journal of this package'],
  [{ journal: { list: () => [] } }, ConfigurationError, 'journal must be a journal of this package'],
] as const)('throws at once for %o', (options, errorClass, message) => {
  const check = () => Reflect.apply(createMockPayments().expectNoDoubleCharge, undefined, [options]);
  expect(check).toThrow(errorClass);
  expect(check).toThrow(message);
});
