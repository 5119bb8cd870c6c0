import { HttpResponse, http } from 'msw';
import { setupServer } from 'msw/node';
import { fetch as undiciFetch } from 'undici';
import { expect, onTestFinished, test, vi } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { ConfigurationError, InvalidInputError, PaymentsClient } from '../../../src/index.ts';
import {
  API_KEY,
  answers,
  charge,
  EMAIL,
  failureOf,
  json,
  PHONE,
  payment,
  startService,
} from '../../helpers/service.ts';

const REFERENCE = 'TXN-8f2c61d0';

/** A service that answers each operation as SPEC.md shows. */
const startWholeService = () =>
  startService((response, { path }) => {
    if (path.endsWith('/initialize')) return json(response, 200, answers.initialize());
    if (path.endsWith('/charge-mobile-money')) return json(response, 200, answers.chargeMobileMoney());
    return json(response, 200, answers.verify());
  });

test('initialize posts to /transactions/initialize with exactly the fields of the input', async () => {
  const service = await startWholeService();
  await service.client().initialize({ ...payment, currency: 'ghs' });
  expect(service.requests).toMatchObject([{ method: 'POST', path: '/api/v1/transactions/initialize' }]);
  expect(JSON.parse(service.requests[0]?.body ?? '')).toEqual({
    amount: 25.5,
    customer_email: EMAIL,
    currency: 'GHS',
  });
});

test('chargeMobileMoney posts to /transactions/charge-mobile-money, and leaves out a currency that was not given', async () => {
  const service = await startWholeService();
  await service.client().chargeMobileMoney(charge);
  expect(service.requests).toMatchObject([
    { method: 'POST', path: '/api/v1/transactions/charge-mobile-money' },
  ]);
  expect(JSON.parse(service.requests[0]?.body ?? '')).toEqual({
    amount: 25.5,
    customer_email: EMAIL,
    phone: PHONE,
    network: 'mtn',
  });
});

test('verify gets /transactions/verify/{reference}, with no body', async () => {
  const service = await startWholeService();
  await service.client().verify(REFERENCE, { expect: { amount: '25.50' } });
  expect(service.requests).toMatchObject([
    { method: 'GET', path: `/api/v1/transactions/verify/${REFERENCE}`, body: '' },
  ]);
  expect(service.requests[0]?.headers).not.toHaveProperty('content-length');
  expect(service.requests[0]?.headers).not.toHaveProperty('transfer-encoding');
});

test('a reference is percent-encoded, so that nothing in it can change the path', async () => {
  const reference = 'TXN-a..b&c=d+e@f:g;h';
  const service = await startService((response) => json(response, 200, answers.verify({ reference })));
  await service.client().verify(reference);
  expect(service.requests[0]?.path).toBe(`/api/v1/transactions/verify/${encodeURIComponent(reference)}`);
});

test('a base URL with a slash at its end gives the same path', async () => {
  const service = await startWholeService();
  await service.client({ baseUrl: `${service.baseUrl}/` }).initialize(payment);
  expect(service.requests[0]?.path).toBe('/api/v1/transactions/initialize');
});

test('every request carries Authorization, Accept, and a User-Agent with name and version; a body, its Content-Type', async () => {
  const service = await startWholeService();
  const client = service.client();
  await client.initialize(payment);
  await client.chargeMobileMoney(charge);
  await client.verify(REFERENCE);
  for (const { headers } of service.requests) {
    expect(headers).toMatchObject({
      authorization: `Bearer ${API_KEY}`,
      accept: 'application/json',
      'user-agent': `${packageJson.name}/${packageJson.version}`,
    });
  }
  const contentTypes = service.requests.map(({ headers }) => headers['content-type']);
  expect(contentTypes).toEqual(['application/json', 'application/json', undefined]);
});

test('extraBody is sent as it is, beside the fields of the input', async () => {
  const service = await startWholeService();
  const extraBody = { callback_url: 'https://shop.example/paid', metadata: { order: 17, tags: ['a', null] } };
  await service.client().initialize(payment, { extraBody });
  expect(JSON.parse(service.requests[0]?.body ?? '')).toEqual({
    amount: 25.5,
    customer_email: EMAIL,
    ...extraBody,
  });
});

test('extraBody cannot replace a field of the input, given there or not', async () => {
  const service = await startWholeService();
  for (const extraBody of [{ amount: 1 }, { currency: 'USD' }, { phone: '1' }]) {
    const failure = await failureOf(service.client().chargeMobileMoney(charge, { extraBody }));
    expect(failure).toBeInstanceOf(InvalidInputError);
    expect(failure).toMatchObject({ operation: 'chargeMobileMoney', outcome: 'not_sent' });
  }
  expect(service.requests).toEqual([]);
});

test('extraBody that cannot be written as JSON is InvalidInputError, and nothing is sent', async () => {
  const service = await startWholeService();
  const failure = await failureOf(service.client().initialize(payment, { extraBody: { count: 1n } }));
  expect(failure).toBeInstanceOf(InvalidInputError);
  expect(service.requests).toEqual([]);
});

test("a call's headers are sent besides the client's, and win over them", async () => {
  const service = await startWholeService();
  const client = service.client({ headers: { 'X-Shop': 'accra', 'X-Trace': 'client' } });
  await client.initialize(payment, { headers: { 'x-trace': 'call' } });
  await client.verify(REFERENCE);
  expect(service.requests).toMatchObject([
    { headers: { 'x-shop': 'accra', 'x-trace': 'call' } },
    { headers: { 'x-shop': 'accra', 'x-trace': 'client' } },
  ]);
});

test('headers cannot replace Authorization, whatever its case', async () => {
  const service = await startWholeService();
  for (const headers of [{ Authorization: 'Basic abc' }, { aUTHORIZATION: '' }]) {
    expect(() => service.client({ headers })).toThrow(ConfigurationError);
    const failure = await failureOf(service.client().initialize(payment, { headers }));
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(failure).toMatchObject({ outcome: 'not_sent', operation: 'initialize' });
  }
  expect(service.requests).toEqual([]);
});

test('the fetch option is used for every request, and may change it', async () => {
  const service = await startWholeService();
  const ownFetch = vi.fn<typeof fetch>((input, init) => {
    const request = new Request(input, init);
    request.headers.set('x-through', 'own fetch');
    return fetch(request);
  });
  const client = service.client({ fetch: ownFetch });
  await client.initialize(payment);
  await client.verify(REFERENCE);
  expect(ownFetch).toHaveBeenCalledTimes(2);
  expect(service.requests.map(({ headers }) => headers['x-through'])).toEqual(['own fetch', 'own fetch']);
});

test("undici's own fetch may be the fetch option, though it takes no Request of the runtime", async () => {
  const service = await startWholeService();
  const client = service.client({ fetch: undiciFetch });
  expect(await client.initialize(payment)).toMatchObject({ reference: REFERENCE });
  expect(await client.verify(REFERENCE)).toMatchObject({ reference: REFERENCE });
  expect(service.requests.map(({ method }) => method)).toEqual(['POST', 'GET']);
});

test('the global fetch is looked up for each request, so that it may be replaced after the client was made', async () => {
  const service = await startWholeService();
  const client = service.client();
  const replaced = vi
    .spyOn(globalThis, 'fetch')
    .mockImplementation(async () => Response.json(answers.initialize({ reference: 'TXN-replaced' })));
  expect(await client.initialize(payment)).toMatchObject({ reference: 'TXN-replaced' });
  replaced.mockRestore();
  expect(await client.initialize(payment)).toMatchObject({ reference: REFERENCE });
  expect(service.requests).toHaveLength(1);
});

test('MSW may be started after the client was made', async () => {
  const baseUrl = 'https://payments.example/api/v1';
  const client = new PaymentsClient({ apiKey: API_KEY, baseUrl });
  const server = setupServer(
    http.get(`${baseUrl}/transactions/verify/:reference`, () => HttpResponse.json(answers.verify())),
  );
  server.listen({ onUnhandledFrame: 'error' });
  onTestFinished(() => server.close());
  expect(await client.verify(REFERENCE)).toMatchObject({ status: 'success' });
});

test('no cache that a framework puts behind fetch may answer in place of the service', async () => {
  const modes: string[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    modes.push(new Request(input, init).cache);
    return Response.json(answers.verify());
  };
  vi.stubGlobal('fetch', fetch);
  onTestFinished(() => void vi.unstubAllGlobals());
  const client = (own?: typeof fetch) =>
    new PaymentsClient({ apiKey: API_KEY, baseUrl: 'https://payments.example/api/v1', fetch: own });
  await client().verify(REFERENCE);
  await client(fetch).verify(REFERENCE);
  expect(modes).toEqual(['no-store', 'no-store']);
});
