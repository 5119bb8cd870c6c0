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

const refused: Row[] = [
  ['no options and no environment', undefined, /Pass apiKey.+PAYMENTS_API_KEY/],
  ['no key', { baseUrl }, /Pass apiKey.+PAYMENTS_API_KEY/],
  ['an empty key', { apiKey: '', baseUrl }, /Pass apiKey.+PAYMENTS_API_KEY/],
  ['a key with a line break at its end', { apiKey: `${API_KEY}\n`, baseUrl }, /line break.+trim/],
  ['a key with a line break inside', { apiKey: `${API_KEY}\r\nx-evil: 1`, baseUrl }, /line break.+trim/],
  ['a key with a space', { apiKey: ` ${API_KEY}`, baseUrl }, /space/],
  ['a key with its scheme', { apiKey: `Bearer ${API_KEY}`, baseUrl }, /Leave out "Bearer"/],
  ['a key that is not ASCII', { apiKey: `${API_KEY}é`, baseUrl }, /not ASCII/],
  ['a key with a zero-width space', { apiKey: `${API_KEY}\u200b`, baseUrl }, /not ASCII/],
  ['a key with a NUL', { apiKey: `${API_KEY}\u0000`, baseUrl }, /not ASCII/],
  ['a key that is a number', { apiKey: 5, baseUrl }, /must be a string, or a function/],
  ['a key that is an object', { apiKey: { key: API_KEY }, baseUrl }, /must be a string, or a function/],
  ['a promise of a key', { apiKey: Promise.resolve(API_KEY), baseUrl }, /must be a string, or a function/],
  ['the key in place of the options', API_KEY, /options.+object.+apiKey/],
  ['null in place of the options', null, /options.+object.+apiKey/],
  ['the key undefined as text', { apiKey: 'undefined', baseUrl }, /PAYMENTS_API_KEY set/],
  ['the key null as text', { apiKey: 'null', baseUrl }, /PAYMENTS_API_KEY set/],
  ['a key with a variable in it', { apiKey: `sk_test_\${KEY:-}${API_KEY}`, baseUrl }, /PAYMENTS_API_KEY set/],
  ['the base URL undefined as text', { ...good, baseUrl: 'undefined' }, /such as https:\/\//],
  ['a base URL that is a variable', { ...good, baseUrl: `\${PAYMENTS_BASE_URL}` }, /such as https:\/\//],
  [
    'a base URL with a variable in it',
    { ...good, baseUrl: `https://\${PAYMENTS_HOST}/api/v1` },
    /PAYMENTS_BASE_URL set/,
  ],
  ...[0.99, '0', '', '1e3', '5,000', Number.NaN, Number.POSITIVE_INFINITY, null, 10n, true].map(
    (maxAmount): Row => [
      `a maxAmount that is ${typeof maxAmount} ${maxAmount}`,
      { ...good, maxAmount },
      /maxAmount must be a decimal of at least 1/,
    ],
  ),
  ...[`"${API_KEY}"`, `'${API_KEY}'`, ` "${API_KEY}"\n`, `\u201c${API_KEY}\u201d`].map(
    (apiKey): Row => [`the key ${apiKey}`, { apiKey, baseUrl }, /quotation marks/],
  ),
  ['no base URL', { apiKey: API_KEY }, /Pass baseUrl.+PAYMENTS_BASE_URL/],
  ['an empty base URL', { apiKey: API_KEY, baseUrl: '' }, /Pass baseUrl.+PAYMENTS_BASE_URL/],
  ['a base URL without a scheme', { ...good, baseUrl: 'payments.example/api/v1' }, /such as https:\/\//],
  ['a base URL that is only a path', { ...good, baseUrl: '/api/v1' }, /such as https:\/\//],
  ['a base URL that is a URL object', { ...good, baseUrl: new URL(baseUrl) }, /such as https:\/\//],
  ['http to another host', { ...good, baseUrl: 'http://payments.example/api/v1' }, /begin with https:\/\//],
  ['http to a host named like this one', { ...good, baseUrl: 'http://localhost.evil.example' }, /https:\/\//],
  [
    'http to a host that begins like this one',
    { ...good, baseUrl: 'http://127.0.0.1.evil.example' },
    /https:\/\//,
  ],
  ['http to all addresses', { ...good, baseUrl: 'http://0.0.0.0/api/v1' }, /https:\/\//],
  ['http to a private network', { ...good, baseUrl: 'http://192.168.0.1/api/v1' }, /https:\/\//],
  ['another protocol', { ...good, baseUrl: 'ftp://payments.example/api/v1' }, /https:\/\//],
  ['a file', { ...good, baseUrl: 'file:///api/v1' }, /https:\/\//],
  [
    'credentials in the base URL',
    { ...good, baseUrl: `https://${API_KEY}:x@payments.example` },
    /goes into apiKey/,
  ],
  [
    'a user name in the base URL',
    { ...good, baseUrl: `https://${API_KEY}@payments.example` },
    /goes into apiKey/,
  ],
  [
    'a password in the base URL',
    { ...good, baseUrl: `https://:${API_KEY}@payments.example` },
    /goes into apiKey/,
  ],
  ['a query in the base URL', { ...good, baseUrl: `${baseUrl}?key=${API_KEY}` }, /no query/],
  ['an empty query in the base URL', { ...good, baseUrl: `${baseUrl}?` }, /no query/],
  ['a fragment in the base URL', { ...good, baseUrl: `${baseUrl}#${API_KEY}` }, /no fragment/],
  ['a misspelt key', { apikey: API_KEY, baseUrl }, /^Unknown option "apikey"\. Did you mean apiKey\?$/],
  ...['apiKey', 'baseUrl', 'mode', 'fetch', 'transport', 'logger', 'onEvent', 'polling', 'journal'].map(
    (name): Row => [`null as ${name}`, { ...good, [name]: null }, new RegExp(`^${name} must (?:be|have)`)],
  ),
  ['fetch that is no function', { ...good, fetch: 'fetch' }, /fetch must be a function/],
  ['onEvent that is no function', { ...good, onEvent: [] }, /onEvent must be a function/],
  ['a logger without levels', { ...good, logger: () => {} }, /logger must have.+console/],
  ['polling that is no object', { ...good, polling: 5 }, /polling must be an object/],
  [
    'a misspelt polling option',
    { ...good, polling: { minDealy: 5 } },
    /^Unknown option "polling\.minDealy"\. Did you mean polling\.minDelay\?$/,
  ],
];

/** Neither a client nor a call takes them. */
const refusedInBoth: Row[] = [
  ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, '1000', null, true].map(
    (timeout): Row => [`the timeout ${inspect(timeout)}`, { timeout }, /timeout must be milliseconds/],
  ),
  ...[-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '2', null].map(
    (maxRetries): Row => [
      `the maxRetries ${inspect(maxRetries)}`,
      { maxRetries },
      /maxRetries must be a whole number/,
    ],
  ),
  ['a misspelt option', { timeuot: 5 }, /^Unknown option "timeuot"\. Did you mean timeout\?$/],
  ['an option that there is not', { retries: 3 }, /^Unknown option "retries"\. There are: .*maxRetries/],
  [
    'Authorization in headers',
    { headers: { Authorization: `Bearer ${API_KEY}` } },
    /authorization is set by the client/,
  ],
  [
    'authorization in other letters',
    { headers: { aUTHORIZATION: API_KEY } },
    /authorization is set by the client/,
  ],
  [
    'Content-Type in headers',
    { headers: { 'Content-Type': 'text/plain' } },
    /content-type is set by the client/,
  ],
  ['Host in headers', { headers: { host: 'evil.example' } }, /host is set by the client/],
  [
    'Transfer-Encoding in headers',
    { headers: { 'transfer-encoding': 'chunked' } },
    /transfer-encoding is set/,
  ],
  ['a header name with a line break', { headers: { [`a\r\nb: ${API_KEY}`]: 'c' } }, /name that is not valid/],
  ['a header name with a space', { headers: { 'a b': 'c' } }, /name that is not valid/],
  ['an empty header name', { headers: { '': 'c' } }, /name that is not valid/],
  [
    'a header value with a line break',
    { headers: { 'x-a': `b\r\nx: ${API_KEY}` } },
    /header x-a must be a string/,
  ],
  ['a header value beyond Latin-1', { headers: { 'x-a': '₵' } }, /header x-a must be a string/],
  ['a header value that is no string', { headers: { 'x-a': 5 } }, /header x-a must be a string/],
  ['a header value that is undefined', { headers: { 'x-a': undefined } }, /header x-a must be a string/],
  ['headers as a Headers object', { headers: new Headers({ 'x-a': 'b' }) }, /headers must be an object/],
  ['headers as pairs', { headers: [['x-a', 'b']] }, /headers must be an object/],
  ['null as headers', { headers: null }, /headers must be an object/],
  ['headers as text', { headers: 'x-a: b' }, /headers must be an object/],
];

test.for([
  ...refused,
  ...refusedInBoth.map(([name, options, message]): Row => [name, { ...good, ...Object(options) }, message]),
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
  ['null as signal', { signal: null }, /signal must be an AbortSignal/],
  ['an AbortController as signal', { signal: new AbortController() }, /signal must be an AbortSignal/],
  ['a signal without listeners', { signal: { throwIfAborted() {} } }, /signal must be an AbortSignal/],
  [
    'a signal without aborted',
    { signal: { throwIfAborted() {}, addEventListener() {}, removeEventListener() {} } },
    /signal must be an AbortSignal/,
  ],
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
