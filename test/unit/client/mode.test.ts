import { expect, onTestFinished, test, vi } from 'vitest';
import { ConfigurationError, PaymentsClient, type PaymentsClientOptions } from '../../../src/index.ts';
import { undiciTransport } from '../../../src/node/index.ts';
import { note } from '../../helpers/resolution-note.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import { catchError, startService, successBodies } from '../../helpers/service.ts';
import { collect, momo, page, type Respond, world } from '../../helpers/world.ts';

const TEST_KEY = 'sk_test_4vK9qLm2Xw7RtZ';
const LIVE_KEY = 'sk_live_8hN3sDf6Ty1QpB';
const OTHER_KEY = 'a-key-of-another-shape-8hN3';
const HTTP = 'http://sandbox:4010/api/v1';

const key = { idempotencyKey: 'order-17' };
const unkeyed = { idempotencyKey: null };

/** What guards a client against a key of the wrong mode. */
type Guard = Pick<PaymentsClientOptions, 'mode' | 'baseUrl' | 'dangerouslyAllowHttp'>;

const http: Guard = { baseUrl: HTTP, dangerouslyAllowHttp: true };

const guards: [name: string, wrong: string, right: string, guard: Guard, message: string][] = [
  ['mode live', TEST_KEY, LIVE_KEY, { mode: 'live' }, "mode is 'live'"],
  ['mode test', LIVE_KEY, TEST_KEY, { mode: 'test' }, "mode is 'test'"],
  ['mode test', OTHER_KEY, TEST_KEY, { mode: 'test' }, "mode is 'test'"],
  ['http', LIVE_KEY, TEST_KEY, http, 'the baseUrl is http'],
];

/** Whatever the key is, the service has a charge that is pending. */
const respond: Respond = ({ method, url }) => {
  if (method === 'GET') return Response.json(successBodies.verify({ status: 'pending' }));
  const operation = url.endsWith('initialize') ? 'initialize' : 'chargeMobileMoney';
  return Response.json(successBodies[operation]());
};

/** Returns these keys in turn, and then always the last one. */
function giveInTurn(...keys: string[]): () => string {
  let count = 0;
  return () => keys[Math.min(count++, keys.length - 1)] ?? '';
}

function expectRefusal(error: unknown, message: string, outcome: 'not_sent' | null, wrong: string): void {
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(error).toMatchObject({ outcome, retryable: false, message: expect.stringContaining(message) });
  expect(error).toMatchObject({ message: expect.stringContaining('Nothing was sent') });
  expectNoSecrets(error, { key: wrong });
}

const make = (options: object) => () => new PaymentsClient(options);

test.for(guards)('%s refuses the key %s in the constructor', ([, apiKey, right, guard, message]) => {
  const options = { baseUrl: 'https://payments.example', ...guard };
  expect(make({ ...options, apiKey })).toThrow(message);
  expect(make({ ...options, apiKey })).not.toThrow(apiKey);
  vi.stubEnv('PAYMENTS_API_KEY', apiKey);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(make(options)).toThrow(message);
  expect(make({ ...options, apiKey: right })).not.toThrow();
});

test.for(guards)('%s refuses the key %s of a function for each call', async ([, wrong, , guard, message]) => {
  const { shop, requests, journal } = world({ client: { ...guard, apiKey: async () => wrong } });
  const { payments } = shop;
  const posts = [
    payments.initialize(page),
    payments.initialize(page, { idempotencyKey: 'page-17' }),
    payments.chargeMobileMoney(momo, unkeyed),
    payments.chargeMobileMoney(momo, key),
  ];
  for (const error of await Promise.all(posts.map(catchError)))
    expectRefusal(error, message, 'not_sent', wrong);
  const reads = [
    payments.verify('TXN-1'),
    payments.check('TXN-1'),
    payments.waitForFinalStatus('TXN-1'),
    payments.watch('TXN-1').next(),
    collect(payments.reconcile(['TXN-1'])).then(([reconciled]) => Promise.reject(reconciled?.error)),
  ];
  for (const error of await Promise.all(reads.map(catchError))) expectRefusal(error, message, null, wrong);
  expect(requests).toEqual([]);
  expect(await journal.read('order-17')).toBeNull();
});

test.for(guards)('%s ends a wait whose function returns %s', async ([, wrong, right, guard, message]) => {
  const apiKey = giveInTurn(right, right, wrong);
  const { shop, requests } = world({ respond, client: { ...guard, apiKey } });
  const waiting = shop.payments.waitForFinalStatus('TXN-8f2c61d0');
  expectRefusal(await catchError(waiting), message, null, wrong);
  expect(requests).toHaveLength(2);
});

test.for(guards)('%s sends no retry with the key %s', async ([, wrong, right, guard, message]) => {
  for (const options of [key, unkeyed]) {
    const { shop, posts } = world({
      respond: () => new Response('{}', { status: 429 }),
      client: { ...guard, apiKey: giveInTurn(right, wrong), maxRetries: 3 },
    });
    const charging = shop.payments.chargeMobileMoney(momo, options);
    expectRefusal(await catchError(charging), message, 'not_sent', wrong);
    expect(posts).toHaveLength(1);
  }
});

test.for(guards)(
  '%s lets nobody resolve or follow with the key %s',
  async ([, wrong, right, guard, message]) => {
    const { shop, journal, requests, attentions } = world({
      respond: () => new Response('{}', { status: 500 }),
      client: { ...guard, apiKey: giveInTurn(right, wrong) },
    });
    await catchError(shop.payments.chargeMobileMoney(momo, key));
    const before = await journal.read('order-17');
    expect(before).toMatchObject({ state: 'unknown' });
    for (const resolution of [{ reference: 'TXN-1' }, 'not_charged'] as const)
      expectRefusal(
        await catchError(shop.payments.resolve('order-17', resolution, note)),
        message,
        null,
        wrong,
      );
    expectRefusal(await catchError(shop.followUps.sweep()), message, null, wrong);
    expect(await journal.read('order-17')).toEqual(before);
    expect(attentions).toEqual([]);
    expect(requests).toHaveLength(1);
  },
);

test.for([
  [{ mode: 'live' }, LIVE_KEY],
  [{ mode: 'live' }, OTHER_KEY],
  [{ mode: 'test' }, TEST_KEY],
  [{}, TEST_KEY],
  [{}, LIVE_KEY],
  [http, TEST_KEY],
  [{ ...http, baseUrl: 'http://127.0.0.1:4010/api/v1' }, LIVE_KEY],
] as const)('%o takes the key %s, as text and of a function', async ([guard, apiKey]) => {
  const authorizations: (string | null)[] = [];
  for (const given of [apiKey, () => apiKey]) {
    const { payments } = world({
      respond: (request) => {
        authorizations.push(request.headers.get('authorization'));
        return Response.json(successBodies.initialize());
      },
      client: { ...guard, apiKey: given },
    }).shop;
    await payments.initialize(page);
  }
  expect(authorizations).toEqual([`Bearer ${apiKey}`, `Bearer ${apiKey}`]);
});

test.for(['Live', 'unknown', '', null, true, 1])('refuses the mode %j', (mode) => {
  const options = { apiKey: TEST_KEY, baseUrl: 'https://payments.example', mode };
  expect(make(options)).toThrow("mode must be 'live' or 'test'");
});

test.for([false, undefined, null, 'true', 1, {}])('refuses http with dangerouslyAllowHttp %j', (value) => {
  const options = { apiKey: TEST_KEY, baseUrl: HTTP, dangerouslyAllowHttp: value };
  expect(make(options)).toThrow(ConfigurationError);
  expect(make(options)).toThrow(/begin with https:\/\//);
});

// Not this machine by their name. 0.0.0.0 reaches this machine all the same.
test.for(['sandbox', '0.0.0.0', '192.168.0.1', '[::ffff:127.0.0.1]', 'localhost.evil.example'])(
  'takes a test key alone for http to %s',
  (host) => {
    const options = { baseUrl: `http://${host}:4010/api/v1`, dangerouslyAllowHttp: true };
    for (const apiKey of [LIVE_KEY, 'sk_test_', 'SK_TEST_8hN3', 'my-sk_test_8hN3'])
      expect(make({ ...options, apiKey })).toThrow(/no test key \(sk_test_…\).+http/);
    expect(make({ ...options, apiKey: TEST_KEY })).not.toThrow();
  },
);

test.for([
  ['fetch', () => ({})],
  ['undiciTransport', () => ({ transport: undiciTransport() })],
] as const)('sends over http to an address that is not loopback through %s', async ([, options]) => {
  const service = await startService(200, successBodies.verify());
  const baseUrl = service.baseUrl.replace('127.0.0.1', '0.0.0.0');
  const payments = new PaymentsClient({ ...http, apiKey: TEST_KEY, baseUrl, ...options() });
  expect(await payments.verify('TXN-8f2c61d0')).toMatchObject({ status: 'success' });
  expect(service.requests).toMatchObject([{ headers: { authorization: `Bearer ${TEST_KEY}` } }]);
});

test('does not carry the API key to another host after a redirect', async () => {
  const target = await startService();
  const location = `${target.baseUrl}/transactions/verify/TXN-8f2c61d0`;
  const service = await startService(307, '', { location });
  for (const call of [service.client().verify('TXN-1'), service.client().initialize(page)])
    expect(await catchError(call)).toMatchObject({ name: expect.stringMatching(/Unexpected|Unknown/) });
  expect(service.requests).toHaveLength(2);
  expect(target.requests).toEqual([]);
});
