import { inspect } from 'node:util';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ConfigurationError, InvalidInputError, PaymentsClient } from '../../../src/index.ts';
import { API_KEY, catchError } from '../../helpers/service.ts';
import { BASE_URL as baseUrl, momo, page, world } from '../../helpers/world.ts';

const good = { apiKey: API_KEY, baseUrl };
const unkeyed = { idempotencyKey: null };

beforeEach(() => {
  vi.stubEnv('PAYMENTS_API_KEY', undefined);
  vi.stubEnv('PAYMENTS_BASE_URL', undefined);
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

/** Returns what the constructor throws. The compiler refuses much of what these tests pass; JavaScript does not. */
function catchRefusal(options: unknown): ConfigurationError {
  try {
    Reflect.construct(PaymentsClient, [options]);
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

/** Neither the message nor anything else on the error can show the key, whole or in part. */
function expectNoKey(error: unknown): void {
  const shown = inspect(error, { depth: 12, showHidden: true }) + JSON.stringify(error);
  for (const part of [API_KEY, API_KEY.slice(8, 16)]) expect(shown).not.toContain(part);
}

type Row = [name: string, options: unknown, message: RegExp];

/** A row for each of several values of an option. */
const refuseEach = (name: string, message: RegExp, ...values: unknown[]): Row[] =>
  values.map((value) => [`the ${name} ${inspect(value)}`, { [name]: value }, message]);

/** A client does not take them. */
const refusedInClient: Row[] = [
  ...refuseEach('apiKey', /^There is no API key. Pass apiKey.+PAYMENTS_API_KEY/, '', undefined),
  ...refuseEach(
    'apiKey',
    /space, a line break.+not ASCII.+trim.+Leave out "Bearer"/,
    `${API_KEY}\n`,
    ` ${API_KEY}`,
  ),
  ...refuseEach('apiKey', /line break.+trim/, `${API_KEY}\r\nx-evil: 1`, `Bearer ${API_KEY}`),
  ...refuseEach('apiKey', /not ASCII/, `${API_KEY}é`, `${API_KEY}\u200b`, `${API_KEY}\u0000`),
  ...refuseEach('apiKey', /must be a string, or a function/, 5, { key: API_KEY }, Promise.resolve(API_KEY)),
  ...refuseEach('apiKey', /PAYMENTS_API_KEY set/, 'undefined', 'null', `sk_test_\${KEY:-}${API_KEY}`),
  ...refuseEach(
    'apiKey',
    /quotation marks/,
    `"${API_KEY}"`,
    `'${API_KEY}'`,
    ` "${API_KEY}"\n`,
    `\u201c${API_KEY}\u201d`,
  ),
  ...refuseEach('baseUrl', /Pass baseUrl.+PAYMENTS_BASE_URL/, '', undefined),
  ...refuseEach(
    'baseUrl',
    /such as https:\/\//,
    ...['undefined', `\${PAYMENTS_BASE_URL}`, 'payments.example/api/v1', '/api/v1', new URL(baseUrl)],
  ),
  ...refuseEach('baseUrl', /PAYMENTS_BASE_URL set/, `https://\${PAYMENTS_HOST}/api/v1`),
  ...refuseEach(
    'baseUrl',
    /begin with https:\/\//,
    ...['http://payments.example', 'http://localhost.evil.example', 'http://127.0.0.1.evil.example'],
    'http://evil-localhost',
    ...['http://0.0.0.0/api/v1', 'http://192.168.0.1/api/v1', 'ftp://payments.example', 'file:///api/v1'],
  ),
  ...refuseEach(
    'baseUrl',
    /goes into apiKey/,
    `https://${API_KEY}@payments.example`,
    `https://:${API_KEY}@payments.example`,
  ),
  ...refuseEach(
    'baseUrl',
    /no query and no fragment/,
    `${baseUrl}?key=${API_KEY}`,
    `${baseUrl}?`,
    `${baseUrl}#${API_KEY}`,
  ),
  ...refuseEach(
    'maxAmount',
    /maxAmount must be a decimal of at least 1/,
    ...[0.99, '0', '', '1e3', '5,000', Number.NaN, Number.POSITIVE_INFINITY, 10n, true],
  ),
  ...[
    'apiKey',
    'baseUrl',
    'mode',
    'maxAmount',
    'fetch',
    'transport',
    'logger',
    'onEvent',
    'polling',
    'journal',
  ].flatMap((name) => refuseEach(name, new RegExp(`^${name} must (?:be|have)`), null)),
  ...refuseEach('fetch', /fetch must be a function/, 'fetch'),
  ...refuseEach('onEvent', /onEvent must be a function/, []),
  ...refuseEach('logger', /logger must have.+console/, () => {}),
  ...refuseEach('polling', /polling must be an object/, 5),
  ...refuseEach('polling', /^Unknown option "polling\.minDealy"\. Did you mean polling\.minDelay\?$/, {
    minDealy: 5,
  }),
  ...refuseEach('apikey', /^Unknown option "apikey"\. Did you mean apiKey\?$/, API_KEY),
];

const line = `b\r\nx: ${API_KEY}`;

/** Neither a client nor a call takes them. */
const refusedInBoth: Row[] = [
  ...refuseEach(
    'timeout',
    /timeout must be milliseconds/,
    0,
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 31,
    '1000',
    null,
    true,
  ),
  ...refuseEach(
    'maxRetries',
    /maxRetries must be a whole number/,
    -1,
    0.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '2',
    null,
  ),
  ...refuseEach('timeuot', /^Unknown option "timeuot"\. Did you mean timeout\?$/, 5),
  ...refuseEach('retries', /^Unknown option "retries"\. There are: .*maxRetries/, 3),
  ...refuseEach(
    'headers',
    /authorization is set by the client/,
    { Authorization: `Bearer ${API_KEY}` },
    { aUTHORIZATION: API_KEY },
  ),
  ...refuseEach('headers', /content-type is set by the client/, { 'Content-Type': 'text/plain' }),
  ...refuseEach('headers', /host is set by the client/, { host: 'evil.example' }),
  ...refuseEach('headers', /transfer-encoding is set/, { 'transfer-encoding': 'chunked' }),
  ...refuseEach('headers', /name that is not valid/, { [line]: 'c' }, { 'a b': 'c' }, { '': 'c' }),
  ...refuseEach(
    'headers',
    /header x-a must be a string/,
    { 'x-a': line },
    { 'x-a': '₵' },
    { 'x-a': 5 },
    { 'x-a': undefined },
  ),
  ...refuseEach(
    'headers',
    /headers must be an object/,
    new Headers({ 'x-a': 'b' }),
    [['x-a', 'b']],
    null,
    'x-a: b',
  ),
];

test.for<Row>([
  ...[...refusedInClient, ...refusedInBoth].map(
    ([name, options, message]): Row => [name, { ...good, ...Object(options) }, message],
  ),
  ['no options and no environment', undefined, /Pass apiKey.+PAYMENTS_API_KEY/],
  ['the key in place of the options', API_KEY, /options.+object.+apiKey/],
  ['null in place of the options', null, /options.+object.+apiKey/],
])('refuses a client with %s', ([, options, message]) => {
  const error = catchRefusal(options);
  expect(error).toMatchObject({ code: 'configuration_error', outcome: 'not_sent', retryable: false });
  expect(error.message).toMatch(message);
  expectNoKey(error);
});

class Options {
  get timeout() {
    return 5_000;
  }
}

const refusedInCalls: Row[] = [
  ...refusedInBoth,
  ...refuseEach(
    'signal',
    /signal must be an AbortSignal/,
    ...[null, new AbortController(), { throwIfAborted() {} }],
    { throwIfAborted() {}, addEventListener() {}, removeEventListener() {} },
  ),
  ['null in place of its options', null, /object/],
  // Only some of them would be read.
  ['inherited options', Object.create({ timeout: 5_000 }), /object/],
  ['an instance of a class as its options', new Options(), /object/],
];

const calls: Record<string, (client: PaymentsClient, options: never) => Promise<unknown>> = {
  initialize: (client, options) => client.initialize(page, options),
  chargeMobileMoney: (client, options) => client.chargeMobileMoney(momo, options),
  verify: (client, options) => client.verify('TXN-1', options),
  check: (client, options) => client.check('TXN-1', options),
  waitForFinalStatus: (client, options) => client.waitForFinalStatus('TXN-1', options),
  watch: async (client, options) => client.watch('TXN-1', options).next(),
  reconcile: async (client, options) => client.reconcile(['TXN-1'], options).next(),
};

// The timeout of a wait is another one: see test/unit/polling.
const isOfWait = (call: string) => ['waitForFinalStatus', 'watch', 'reconcile'].includes(call);

test.for(refusedInCalls)('refuses a call with %s, and sends nothing', async ([, options, message]) => {
  const { shop, requests } = world();
  for (const [name, call] of Object.entries(calls)) {
    if (isOfWait(name) && Object.hasOwn(Object(options), 'timeout')) continue;
    const error = await catchError(
      Promise.resolve().then(() => Reflect.apply(call, null, [shop.payments, options])),
    );
    expect(error, name).toBeInstanceOf(ConfigurationError);
    const isPost = name === 'initialize' || name === 'chargeMobileMoney';
    expect(error, name).toMatchObject({
      operation: isPost ? name : 'verify',
      outcome: isPost ? 'not_sent' : null,
      message: expect.stringMatching(message),
    });
    expectNoKey(error);
  }
  expect(requests).toEqual([]);
});

test('refuses extraBody on a read', async () => {
  const { shop } = world();
  const read = Reflect.apply(shop.payments.verify, shop.payments, ['TXN-1', { extraBody: { note: 'x' } }]);
  expect(await catchError(read)).toBeInstanceOf(ConfigurationError);
});

test.for([5, 'text', null])('refuses to reconcile %j, which says nothing about the money', (references) => {
  const { payments } = world().shop;
  const call = () => Reflect.apply(payments.reconcile, payments, [references]);
  expect(call).toThrow(expect.objectContaining({ operation: 'verify', outcome: null }));
});

test('refuses an extraBody that replaces the checked body', async () => {
  const { shop, requests } = world();
  const toJSON = () => ({ amount: 999 });
  const failure = await catchError(
    shop.payments.chargeMobileMoney(momo, { ...unkeyed, extraBody: { toJSON } }),
  );
  expect(failure).toBeInstanceOf(InvalidInputError);
  expect(failure).toMatchObject({ issues: [{ path: 'extraBody.toJSON' }] });
  expect(requests).toEqual([]);
});

test('sends no field that an extraBody shows only when it is read again', async () => {
  const sent: unknown[] = [];
  const { shop } = world({
    respond: async (request) => {
      sent.push(await request.clone().text());
      return undefined;
    },
  });
  let reads = 0;
  const shifting = new Proxy(
    {},
    {
      get: () => 'USD',
      ownKeys: () => (reads++ === 0 ? [] : ['currency']),
      getOwnPropertyDescriptor: () => ({ value: 'USD', enumerable: true, configurable: true }),
    },
  );
  await shop.payments.chargeMobileMoney(momo, { ...unkeyed, extraBody: shifting }).catch(() => {});
  expect(sent).toHaveLength(1);
  expect(sent.join()).not.toContain('USD');
});

test('shortens a message about unknown fields, and keeps it one line', async () => {
  const forged = 'x\nERROR paid by ama@example.com 0244123456';
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field-${index}`, 1]));
  const { payments } = world().shop;
  const failure = await catchError(
    payments.chargeMobileMoney(Object({ [forged]: 1, ...many, ...momo }), unkeyed),
  );
  expect(failure).toBeInstanceOf(InvalidInputError);
  const { message } = Object(failure);
  expect(message).not.toMatch(/\n|ama@example\.com|0244123456/);
  expect(message).toContain('more fields');
  expect(message.length).toBeLessThan(5_000);
});

test('refuses an environment that it must not read, as on Deno', () => {
  const env = new Proxy({}, { get: () => expect.unreachable('Requires env access') });
  vi.stubGlobal('process', { ...process, env });
  const hint = /PAYMENTS_API_KEY cannot be read.+--allow-env=PAYMENTS_API_KEY/;
  expect(catchRefusal(undefined).message).toMatch(hint);
  expect(catchRefusal({ apiKey: API_KEY }).message).toMatch(/PAYMENTS_BASE_URL cannot be read/);
  expect(new PaymentsClient(good).mode).toBe('test');
});

test('takes no value of the environment for an option that is null', () => {
  vi.stubEnv('PAYMENTS_API_KEY', API_KEY);
  vi.stubEnv('PAYMENTS_BASE_URL', baseUrl);
  expect(catchRefusal({ apiKey: null }).message).toMatch(/^apiKey must be/);
  expect(catchRefusal({ baseUrl: null }).message).toMatch(/^baseUrl must be/);
});

test('refuses a browser unless dangerouslyAllowBrowser is set', () => {
  vi.stubGlobal('window', { document: {} });
  const hint = /browser.+from your server.+dangerouslyAllowBrowser: true/;
  for (const dangerouslyAllowBrowser of [false, undefined, 'true', 1])
    expect(catchRefusal({ ...good, dangerouslyAllowBrowser }).message).toMatch(hint);
  expect(new PaymentsClient({ ...good, dangerouslyAllowBrowser: true }).mode).toBe('test');
  vi.stubGlobal('window', {});
  expect(new PaymentsClient(good).mode).toBe('test');
});
