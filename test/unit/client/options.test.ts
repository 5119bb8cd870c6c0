import { afterEach, expect, test, vi } from 'vitest';
import { PaymentsClient } from '../../../src/index.ts';
import { API_KEY, catchError, payment, startService } from '../../helpers/service.ts';
import { MINUTE, page, SECOND, world } from '../../helpers/world.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

test('reads key and base URL from the environment', async () => {
  const service = await startService();
  vi.stubEnv('PAYMENTS_API_KEY', 'sk_test_fromEnvironment');
  vi.stubEnv('PAYMENTS_BASE_URL', service.baseUrl);
  await new PaymentsClient().initialize(payment);
  await new PaymentsClient({ apiKey: undefined, baseUrl: undefined }).initialize(payment);
  await new PaymentsClient({ apiKey: API_KEY }).initialize(payment);
  expect(service.requests.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer sk_test_fromEnvironment',
    'Bearer sk_test_fromEnvironment',
    `Bearer ${API_KEY}`,
  ]);
});

test('prefers options to the environment', async () => {
  const [service, other] = [await startService(), await startService()];
  vi.stubEnv('PAYMENTS_API_KEY', 'not a key\n');
  vi.stubEnv('PAYMENTS_BASE_URL', other.baseUrl);
  await new PaymentsClient({ apiKey: API_KEY, baseUrl: service.baseUrl }).initialize(payment);
  expect([service.requests.length, other.requests.length]).toEqual([1, 0]);
});

test.each([
  ['https://payments.example'],
  ['https://payments.example:8443/api/v1/'],
  ['https://192.168.0.1/api/v1'],
  ['http://localhost:4010/api/v1'],
  ['http://LOCALHOST/api/v1'],
  ['http://shop.localhost/api/v1'],
  ['http://127.0.0.1:4010'],
  ['http://127.1.2.3/api/v1'],
  ['http://[::1]:4010/api/v1'],
])('accepts the base URL %s', (baseUrl) => {
  expect(new PaymentsClient({ apiKey: API_KEY, baseUrl }).mode).toBe('test');
});

test.each(['', '/', '//', '/api/v1', '/api/v1/', '/api/v1//', '/API/v%31'])(
  'joins the base path %j and the operation by one slash',
  async (path) => {
    const service = await startService();
    const baseUrl = service.baseUrl.replace('/api/v1', path);
    await new PaymentsClient({ apiKey: API_KEY, baseUrl }).initialize(payment);
    expect(service.requests[0]?.path).toBe(`${path.replace(/\/+$/, '')}/transactions/initialize`);
  },
);

test.for([
  [API_KEY, 'test'],
  ['sk_test_x', 'test'],
  ...['sk_test_', 'sk_live_4vK9qLm2', 'SK_TEST_4vK9qLm2', 'xsk_test_4vK9qLm2', "sk'live", 'a"b'].map(
    (key) => [key, 'unknown'] as const,
  ),
  [() => API_KEY, 'unknown'],
] as const)('the mode of the key %s is %s', ([apiKey, mode]) => {
  expect(new PaymentsClient({ apiKey, baseUrl: 'https://payments.example' }).mode).toBe(mode);
});

test('the timeout and maxRetries of a call replace those of the client', async () => {
  const { shop, clock, posts } = world({
    client: { timeout: MINUTE, maxRetries: 0 },
    respond: () => (posts.length < 3 ? new Response('{}', { status: 429 }) : new Promise(() => {})),
  });
  const call = shop.payments.initialize(page, { timeout: SECOND, maxRetries: 2 });
  expect(await catchError(call)).toMatchObject({ outcome: 'unknown', cause: { code: 'request_timeout' } });
  expect(posts).toHaveLength(3);
  expect(clock.now).toBeLessThan(MINUTE);
});

test('treats undefined options as absent', async () => {
  const service = await startService();
  const none = { timeout: undefined, maxRetries: undefined, headers: undefined };
  const client = service.client({
    ...none,
    fetch: undefined,
    logger: undefined,
    onEvent: undefined,
    polling: undefined,
  });
  await client.initialize(payment, {
    ...none,
    signal: undefined,
    extraBody: undefined,
  });
  expect(service.requests).toHaveLength(1);
});

test("adds a call's headers to the client's, and replaces equal names", async () => {
  const service = await startService();
  const client = service.client({ headers: { 'X-Shop': 'one', 'x-kept': 'yes', 'User-Agent': 'shop/1.0' } });
  await client.initialize(payment, { headers: { 'x-shop': 'two' } });
  expect(service.requests[0]?.headers).toMatchObject({
    'x-shop': 'two',
    'x-kept': 'yes',
    'user-agent': 'shop/1.0',
    authorization: `Bearer ${API_KEY}`,
    'content-type': 'application/json',
    accept: 'application/json',
  });
});

test('ignores later changes to the options object', async () => {
  const service = await startService();
  const options = { apiKey: API_KEY, baseUrl: service.baseUrl, headers: { 'x-shop': 'one' } };
  const client = new PaymentsClient(options);
  Object.assign(options, { apiKey: 'other', baseUrl: 'https://evil.example' });
  options.headers['x-shop'] = 'two';
  await client.initialize(payment);
  expect(service.requests[0]?.headers).toMatchObject({ 'x-shop': 'one', authorization: `Bearer ${API_KEY}` });
});
