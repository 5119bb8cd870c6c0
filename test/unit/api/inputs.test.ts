import { expect, test } from 'vitest';
import { MAX_AMOUNT } from '../../../src/api/money.ts';
import { type InitializeInput, initializeInputSchema, type PaymentsClient } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { createClientFor } from '../../helpers/raw-service.ts';
import { catchError, charge, payment, startService } from '../../helpers/service.ts';
import { momo, page, world } from '../../helpers/world.ts';

/** What the compiler refuses; a form or a program in JavaScript does not. */
const untyped = <Type>(given: unknown): Type => Object(given);

/** Creates a client whose requests fail the test: all that is refused must be refused before. */
const createUnsent = (options = {}) =>
  createClientFor('https://payments.example')({
    fetch: () => expect.unreachable('a request was sent'),
    ...options,
  });

/** Expects that a call is refused for these issues, and says that nothing was sent. */
async function expectRefused(call: Promise<unknown>, issues: object[], outcome: string | null = 'not_sent') {
  const failure = await catchError(call);
  expect(failure).toMatchObject({
    name: 'InvalidInputError',
    code: 'invalid_input',
    outcome,
    retryable: false,
  });
  expect(Object(failure).issues).toEqual(issues.map((issue) => ({ message: expect.any(String), ...issue })));
  return String(failure);
}

const chargeWith = (fields: object, options = {}) =>
  createUnsent(options).chargeMobileMoney({ ...charge, ...fields });

test.each([
  'ama@example.com',
  'ama@münchen.de',
  'акосуа@пример.рф',
  '愛@例え.jp',
  "o'brien+shop@mail.example.co.uk",
  'a@b',
])('sends the email address %s unchanged', async (customer_email) => {
  const service = await startService();
  await service.client().initialize({ ...payment, customer_email });
  expect(JSON.parse(service.requests[0]?.body ?? '')).toHaveProperty('customer_email', customer_email);
});

const refused: [field: string, value: unknown, code: string][] = [
  ...[
    '',
    'ama',
    'ama@',
    '@example.com',
    'a b@example.com',
    'a@b@c',
    'ama@example.com\n',
    ' ama@example.com',
    'ama@exam\u0000ple.com',
    'am\u007fa@example.com',
  ].map((email) => ['customer_email', email, 'invalid_format'] as [string, string, string]),
  ['customer_email', `${'a'.repeat(65)}@example.com`, 'invalid_format'],
  ['customer_email', undefined, 'invalid_type'],
  ['customer_email', null, 'invalid_type'],
  ['customer_email', ['ama@example.com'], 'invalid_type'],
  ...['', 'GH', 'GHSS', 'GH1', 'G S', '₵', 'GHS\n', 'ĞHS', 'GHſ'].map(
    (currency) => ['currency', currency, 'invalid_format'] as [string, string, string],
  ),
  ['currency', null, 'invalid_type'],
  ['currency', 936, 'invalid_type'],
  ['phone', '', 'invalid_format'],
  ['phone', 'none', 'invalid_format'],
  ['phone', '0244123456\r\nx: y', 'invalid_format'],
  ['phone', '0244\u0000123456', 'invalid_format'],
  ['phone', 244123456, 'invalid_type'],
  ['phone', undefined, 'invalid_type'],
  ['network', 'MTN', 'invalid_value'],
  ['network', 'vodafone', 'invalid_value'],
  ['network', 'toString', 'invalid_value'],
  ['network', '', 'invalid_value'],
  ['network', undefined, 'invalid_value'],
];

test.each(refused)('refuses %s %j, and sends nothing', async (path, value, code) => {
  await expectRefused(chargeWith({ [path]: value }), [
    { path, code, message: expect.stringMatching(/^must /) },
  ]);
});

const amounts: [name: string, amount: unknown, code: string][] = [
  ['1.1 × 3', 1.1 * 3, 'too_many_decimals'],
  ['10.005', 10.005, 'too_many_decimals'],
  ["'10.005'", '10.005', 'too_many_decimals'],
  ['0.99', 0.99, 'too_small'],
  ["'0.99'", '0.99', 'too_small'],
  ["'0.999999999999999999999'", '0.999999999999999999999', 'too_many_decimals'],
  ['0', 0, 'too_small'],
  ['-0', -0, 'too_small'],
  ["'-5'", '-5', 'too_small'],
  ['Number.MIN_VALUE', Number.MIN_VALUE, 'not_a_decimal'],
  ['2 ** 46 + 1', MAX_AMOUNT + 1, 'too_large'],
  ["'1152921504606846976'", String(2n ** 60n), 'too_large'],
  ['400 digits', '9'.repeat(400), 'too_large'],
  ["''", '', 'not_a_decimal'],
  ["'5 '", '5 ', 'not_a_decimal'],
  ["'+5'", '+5', 'not_a_decimal'],
  ["'5.'", '5.', 'not_a_decimal'],
  ["'.5'", '.5', 'not_a_decimal'],
  ["'1,000'", '1,000', 'not_a_decimal'],
  ["'1e3'", '1e3', 'not_a_decimal'],
  ["'0x10'", '0x10', 'not_a_decimal'],
  ["'GHS 5'", 'GHS 5', 'not_a_decimal'],
  ["'١٠'", '١٠', 'not_a_decimal'],
  ['NaN', Number.NaN, 'invalid_type'],
  ['Infinity', Number.POSITIVE_INFINITY, 'invalid_type'],
  ['nothing', undefined, 'invalid_type'],
  ['true', true, 'invalid_type'],
  ['[5]', [5], 'invalid_type'],
  ['an object that turns into 5', { valueOf: () => 5, toString: () => '5' }, 'invalid_type'],
];

test.each(amounts)('refuses the amount %s, and sends nothing', async (_, amount, code) => {
  await expectRefused(chargeWith({ amount }), [{ path: 'amount', code }]);
});

test('reports all issues at once, in the message too', async () => {
  const fields = { amount: '1e3', customer_email: 'ama', phone: '-', network: 'vodafone', curency: 'USD' };
  const message = await expectRefused(chargeWith(fields), [
    { path: 'amount', code: 'not_a_decimal' },
    { path: 'customer_email', code: 'invalid_format' },
    { path: 'phone', code: 'invalid_format' },
    { path: 'network', code: 'invalid_value' },
    {
      path: 'curency',
      code: 'unknown_field',
      message: 'is not a field of this operation (did you mean currency?)',
    },
  ]);
  expect(message).toMatch(/: Invalid input, nothing was sent: amount .+ network must be one of mtn/);
});

test.each([null, undefined, 5, 'amount=5', [charge], () => charge])(
  'refuses an input that is no object with fields: %s',
  async (input) => {
    const { input: given } = untyped<{ input: InitializeInput }>({ input });
    const issue = { path: '', code: 'invalid_type', message: expect.stringContaining('an object') };
    await expectRefused(createUnsent().initialize(given), [issue]);
  },
);

test('reports issues of an exported schema field by field', () => {
  const read = initializeInputSchema.safeParse({ amount: '25,50', customer_email: '' });
  expect(read.error?.issues).toMatchObject([
    { path: ['amount'], message: expect.stringContaining('plain decimal') },
    { path: ['customer_email'], message: 'must be an email address' },
  ]);
});

const tooLarge = { path: 'amount', code: 'too_large', message: expect.stringContaining('at most 25.5') };

test.each([[25.5], ['25.50']])('refuses an amount above the maxAmount %j', async (maxAmount) => {
  for (const amount of [25.51, '25.51', 2550]) {
    await expectRefused(chargeWith({ amount }, { maxAmount }), [tooLarge]);
    await expectRefused(createUnsent({ maxAmount }).initialize({ ...payment, amount }), [tooLarge]);
  }
  await expectRefused(chargeWith({ amount: 26, phone: 'none' }, { maxAmount }), [
    { path: 'phone', code: 'invalid_format' },
    tooLarge,
  ]);
  const service = await startService();
  await service.client({ maxAmount: 25.5 }).initialize(payment);
  await catchError(service.client().initialize({ ...payment, amount: 2550 }));
  expect(service.requests).toHaveLength(2);
});

test('refuses a press above maxAmount, and leaves the order as it is', async () => {
  const { shop, requests, posts } = world({ client: { maxAmount: 100 } });
  const refused = { state: 'unpaid', canPay: true, payments: [], error: { code: 'invalid_input' } };
  expect(await shop.orders.charge('17', { ...momo, amount: 2550 })).toMatchObject(refused);
  expect(await shop.orders.checkout('17', { ...page, amount: 2550 })).toMatchObject(refused);
  expect(requests).toEqual([]);

  await shop.orders.charge('17', momo);
  const pressed = await shop.orders.charge('17', { ...momo, amount: 2550 }, { startAnother: true });
  expect(pressed).toMatchObject({ state: 'processing', differs: true });
  expect(pressed.payments).toHaveLength(1);
  expect(posts).toHaveLength(1);
});

test.each(['amount', 'customer_email', 'currency', 'phone'])(
  'refuses an extraBody that replaces %s',
  async (name) => {
    const call = createUnsent().chargeMobileMoney(charge, { extraBody: { [name]: '1' } });
    await expectRefused(call, [{ path: `extraBody.${name}`, code: 'extra_body' }]);
  },
);

const circular: Record<string, unknown> = {};
circular.self = circular;

test.each([
  ['null', null],
  ['text', 'callback_url=x'],
  ['a list', ['callback_url']],
  ['a circle', circular],
  ['a value that JSON has no form for', { callback_id: 5n }],
])('refuses an extraBody that is %s, and sends nothing', async (_, extraBody) => {
  const options = untyped<{ extraBody: Record<string, unknown> }>({ extraBody });
  await expectRefused(createUnsent().initialize(payment, options), [
    { path: 'extraBody', code: 'extra_body' },
  ]);
});

test('reads extraBody once, so that a getter cannot replace the body', async () => {
  const service = await startService();
  let reads = 0;
  const extraBody = {
    get toJSON() {
      return ++reads === 1 ? 'text' : () => ({ amount: 1 });
    },
  };
  await service.client().initialize(payment, { extraBody });
  expect(JSON.parse(service.requests[0]?.body ?? '')).toEqual({ ...payment, amount: 25.5, toJSON: 'text' });
});

const good = [
  'TXN-1',
  'TXN-8f2c61d0',
  'TXN-..',
  'TXN-a.b_c~d',
  "TXN-!$&'()*+,;=:@",
  'TXN-"<>[]^`{|}',
  'TXN-$&$1$`',
  'TXN-:reference',
  `TXN-${'x'.repeat(251)}`,
];

test.each(good)('sends the reference %s as the last segment of the path', async (reference) => {
  const paths: string[] = [];
  const fetch = async (url: string) => {
    paths.push(url);
    return Response.json({}, { status: 404 });
  };
  await catchError(createClientFor('https://payments.example')({ fetch }).verify(reference));
  expect(paths).toEqual([`https://payments.example/transactions/verify/${encodeURIComponent(reference)}`]);
});

// test/property/references.test.ts has any other one.
const bad: [string, unknown][] = [
  ['empty', ''],
  ['the prefix alone', 'TXN-'],
  ['with the prefix in lower case', 'txn-8f2c61d0'],
  ['with something before the prefix', ' TXN-1'],
  ['a way out of the path', 'TXN-1/../../../admin'],
  ['a way out, encoded', 'TXN-1%2f..%2f..%2fadmin'],
  ['TXN-%2e', 'TXN-%2e'],
  ['a backslash', 'TXN-1\\..\\admin'],
  ['a slash at the end', 'TXN-1/'],
  ['a space', 'TXN-1 2'],
  ['CR LF', 'TXN-1\r\nhost: evil.example'],
  ['a letter beyond ASCII', 'TXN-é'],
  ['a full-width slash', 'TXN-1／..'],
  ['a lone surrogate', 'TXN-\ud800'],
  ['256 characters', `TXN-${'x'.repeat(252)}`],
  ['a number', 5],
  ['nothing', undefined],
  ['null', null],
  ['an object that turns into text', { toString: () => 'TXN-1' }],
];

test.each(bad)('refuses a reference that is %s, and sends nothing', async (_, reference) => {
  const given: string = untyped<{ reference: string }>({ reference }).reference;
  const failure = await catchError(createUnsent().verify(given));
  expect(failure).toMatchObject({
    name: 'InvalidInputError',
    operation: 'verify',
    outcome: null,
    issues: [{ path: 'reference' }],
  });
});

class Order {
  amount = '25.50';
  currency = 'GHS';
}

/** What a program in JavaScript can pass by mistake. */
const checksNothing: [what: string, given: unknown][] = [
  ['{}', {}],
  ['an amount that is undefined', { amount: undefined }],
  ['a currency alone', { currency: 'GHS' }],
  ['a misspelt column', { ammount: '25.50', currency: 'GHS' }],
  ['a column too many', { amount: '25.50', id: 17 }],
  ['a Map with an amount of its own', Object.assign(new Map(), { amount: '25.50' })],
  ['an instance of a class', new Order()],
  ['an amount that is inherited', Object.create({ amount: '25.50' })],
  ['an array with an amount', Object.assign(['25.50'], { amount: '25.50' })],
  ['a function', Object.assign(() => {}, { amount: '25.50' })],
  ['text', '25.50'],
  ['null', null],
];

type Call = (client: PaymentsClient, expected: never) => Promise<unknown>;

const calls: [name: string, call: Call][] = [
  ['verify', (client, expected) => client.verify(REFERENCE, { expect: expected })],
  [
    'waitForFinalStatus',
    (client, expected) => client.waitForFinalStatus(REFERENCE, { expect: expected, timeout: 50 }),
  ],
  ['watch', async (client, expected) => client.watch(REFERENCE, { expect: expected }).next()],
  [
    'reconcile',
    async (client, expected) => {
      const results = client.reconcile([{ reference: REFERENCE, expect: expected }]);
      for await (const { error } of results) throw error ?? new Error('There is no error.');
    },
  ],
];

test.each(checksNothing)('refuses an expect that is %s, in each call', async (_, given) => {
  for (const [, call] of calls) {
    const failure = await catchError(call(createUnsent(), untyped<{ given: never }>({ given }).given));
    const path = expect.stringMatching(/^expect(?:\.|$)/);
    expect(failure).toHaveProperty('issues.0.path', path);
  }
});

test('names what an expect must be', async () => {
  const service = await startService();
  const given: object = { expect: new Order() };
  expect(await catchError(service.client().verify(REFERENCE, given))).toMatchObject({
    issues: [
      {
        path: 'expect',
        code: 'invalid_type',
        message: 'must be a plain object with an amount, such as { amount: "25.50", currency: "GHS" }',
      },
    ],
  });
});

test.each([
  undefined,
  { amount: '25.50' },
  { amount: 25.5, currency: undefined },
  { __proto__: null, amount: 25.5 },
])('accepts an expect of %o', async (expected) => {
  const service = await startService();
  const client = service.client();
  expect(await client.verify(REFERENCE, { expect: expected })).toMatchObject({ amount: '25.50' });
  expect(await client.waitForFinalStatus(REFERENCE, { expect: expected })).toMatchObject({ amount: '25.50' });
});

test('checks the amount of expect by the same rules', async () => {
  const wrong = { amount: '25,50', currency: 'GH' };
  await expectRefused(
    createUnsent().verify(REFERENCE, { expect: wrong }),
    [
      { path: 'expect.amount', code: 'not_a_decimal' },
      { path: 'expect.currency', code: 'invalid_format' },
    ],
    null,
  );
});
