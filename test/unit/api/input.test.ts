import { expect, test } from 'vitest';
import {
  type ChargeMobileMoneyInput,
  type InitializeInput,
  InvalidInputError,
  initializeInputSchema,
} from '../../../src/index.ts';
import {
  catchError,
  charge,
  payment,
  type Service,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';

/** Responds to every POST, with the requested currency. */
function startPostService(): Promise<Service> {
  return startService((response, { path, body }) => {
    const { currency = 'GHS' } = JSON.parse(body);
    const createBody = path.endsWith('/initialize')
      ? successBodies.initialize
      : successBodies.chargeMobileMoney;
    sendJson(response, 200, createBody({ currency }));
  });
}

/** The compiler refuses most of what these tests pass in; a form or a program in JavaScript does not. */
const initializing = (input: unknown) => input as InitializeInput;
const charging = (input: unknown) => input as ChargeMobileMoneyInput;

const sentBy = (service: Service): unknown => JSON.parse(service.requests.at(-1)?.body ?? 'null');

async function issuesOf(call: Promise<unknown>) {
  const failure = await catchError(call);
  if (!(failure instanceof InvalidInputError)) throw failure;
  expect(failure).toMatchObject({ outcome: 'not_sent', retryable: false, code: 'invalid_input' });
  return failure.issues;
}

test('sends the currency in upper case, and none if none was given', async () => {
  const service = await startPostService();
  const client = service.client();
  await client.initialize({ ...payment, currency: 'usd' });
  expect(sentBy(service)).toHaveProperty('currency', 'USD');
  await client.initialize(payment);
  expect(sentBy(service)).not.toHaveProperty('currency');
  await client.chargeMobileMoney({ ...charge, currency: undefined });
  expect(sentBy(service)).not.toHaveProperty('currency');
});

test.each([
  'ama@example.com',
  'ama@münchen.de',
  'акосуа@пример.рф',
  '愛@例え.jp',
  "o'brien+shop@mail.example.co.uk",
  'a@b',
])('sends the email address %s unchanged', async (customer_email) => {
  const service = await startPostService();
  await service.client().initialize({ ...payment, customer_email });
  expect(sentBy(service)).toHaveProperty('customer_email', customer_email);
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

test.each(refused)('refuses %s %j, and sends nothing', async (field, value, code) => {
  const service = await startPostService();
  const input = charging({ ...charge, [field]: value });
  expect(await issuesOf(service.client().chargeMobileMoney(input))).toEqual([
    { path: field, code, message: expect.stringMatching(/^must /) },
  ]);
  expect(service.requests).toEqual([]);
});

test('reports all issues at once, in the message too', async () => {
  const service = await startPostService();
  const input = charging({
    amount: '1e3',
    customer_email: 'ama',
    phone: '-',
    network: 'vodafone',
    curency: 'USD',
  });
  const failure = await catchError(service.client().chargeMobileMoney(input));
  expect(failure).toMatchObject({
    issues: [
      { path: 'amount', code: 'not_a_decimal' },
      { path: 'customer_email', code: 'invalid_format' },
      { path: 'phone', code: 'invalid_format' },
      { path: 'network', code: 'invalid_value' },
      { path: 'curency', code: 'unknown_field' },
    ],
    message: expect.stringMatching(/^Invalid input, nothing was sent: amount .+ network must be one of mtn/),
  });
  expect(service.requests).toEqual([]);
});

test.each([null, undefined, 5, 'amount=5', [charge], () => charge])(
  'refuses an input that is no object with fields: %s',
  async (input) => {
    const service = await startPostService();
    const [issue] = await issuesOf(service.client().initialize(initializing(input)));
    expect(issue).toEqual({ path: '', code: 'invalid_type', message: expect.stringContaining('an object') });
    expect(service.requests).toEqual([]);
  },
);

test('names an unknown field and the nearest known one', async () => {
  const client = (await startPostService()).client();
  for (const [key, nearest] of [
    ['curency', 'currency'],
    ['customerEmail', 'customer_email'],
    ['Amount', 'amount'],
  ]) {
    const failing = client.initialize(initializing({ ...payment, [String(key)]: 'USD' }));
    expect(await issuesOf(failing)).toEqual([
      { path: key, code: 'unknown_field', message: expect.stringContaining(`did you mean ${nearest}?`) },
    ]);
  }
});

test('reports issues of an exported schema field by field', () => {
  const read = initializeInputSchema.safeParse({ amount: '25,50', customer_email: '' });
  expect(read.error?.issues).toMatchObject([
    { path: ['amount'], message: expect.stringContaining('plain decimal') },
    { path: ['customer_email'], message: 'must be an email address' },
  ]);
});
