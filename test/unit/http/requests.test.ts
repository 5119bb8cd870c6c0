import { expect, onTestFinished, test, vi } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { PaymentsClient } from '../../../src/index.ts';
import {
  API_KEY,
  charge,
  EMAIL,
  PHONE,
  payment,
  startService,
  successBodies,
} from '../../helpers/service.ts';

const REFERENCE = 'TXN-8f2c61d0';

test('sends the documented requests, and extraBody beside the fields', async () => {
  const service = await startService();
  const client = service.client();
  const extraBody = { callback_url: 'https://shop.example/paid', metadata: { order: 17, tags: ['a', null] } };
  await client.initialize({ ...payment, currency: 'ghs' }, { extraBody });
  await client.chargeMobileMoney({ ...charge, currency: undefined });
  await client.verify(REFERENCE, { expect: { amount: '25.50' } });
  const sent = { amount: 25.5, customer_email: EMAIL };
  const path = '/api/v1/transactions';
  const seen = service.requests.map(({ headers, body, ...request }) => ({
    ...request,
    type: headers['content-type'],
    body: body && JSON.parse(body),
  }));
  const type = 'application/json';
  expect(seen).toEqual([
    { method: 'POST', path: `${path}/initialize`, type, body: { ...sent, currency: 'GHS', ...extraBody } },
    {
      method: 'POST',
      path: `${path}/charge-mobile-money`,
      type,
      body: { ...sent, phone: PHONE, network: 'mtn' },
    },
    { method: 'GET', path: `${path}/verify/${REFERENCE}`, type: undefined, body: '' },
  ]);
  for (const { headers } of service.requests)
    expect(headers).toMatchObject({
      authorization: `Bearer ${API_KEY}`,
      accept: 'application/json',
      'user-agent': `${packageJson.name}/${packageJson.version}`,
    });
  expect(service.requests[2]?.headers).not.toHaveProperty('content-length');
  expect(service.requests[2]?.headers).not.toHaveProperty('transfer-encoding');
});

test('gives the global fetch the Request that ky built, whole', async () => {
  const service = await startService();
  const own = globalThis.fetch;
  const seen: { request: Request; body: string; signal: unknown }[] = [];
  const spy = vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const request = new Request(input);
    seen.push({ request, body: await request.clone().text(), signal: init?.signal });
    return await own(request, init);
  });
  await service.client().chargeMobileMoney(charge);
  await service.client().verify(REFERENCE);
  expect(spy.mock.calls.every(([input]) => input instanceof Request)).toBe(true);
  // Bun 1.1 reads these from the init only.
  const inInit = expect.objectContaining({ redirect: 'manual', cache: 'no-store' });
  expect(spy.mock.calls.map(([, init]) => init)).toEqual([inInit, inInit]);
  spy.mockRestore();
  for (const [index, { request, body, signal }] of seen.entries()) {
    const { method, path, headers, body: received } = service.requests[index] ?? {};
    expect(request).toMatchObject({ method, redirect: 'manual', cache: 'no-store' });
    expect(new URL(request.url).pathname).toBe(path);
    expect(headers).toMatchObject(Object.fromEntries(request.headers));
    expect(request.headers.get('authorization')).toBe(`Bearer ${API_KEY}`);
    expect(body).toBe(received);
    expect(signal).toBeInstanceOf(AbortSignal);
  }
  expect(seen).toHaveLength(2);
});

test('looks up the global fetch for each request', async () => {
  const service = await startService();
  const client = service.client();
  const replaced = vi
    .spyOn(globalThis, 'fetch')
    .mockImplementation(async () =>
      Response.json(successBodies.chargeMobileMoney({ reference: 'TXN-replaced' })),
    );
  expect(await client.chargeMobileMoney(charge)).toMatchObject({ reference: 'TXN-replaced' });
  replaced.mockRestore();
  expect(await client.chargeMobileMoney(charge)).toMatchObject({ reference: REFERENCE });
  expect(service.requests).toHaveLength(1);
});

test('lets no framework cache respond in place of the service', async () => {
  const modes: string[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    modes.push(new Request(input, init).cache);
    return Response.json(successBodies.verify());
  };
  vi.stubGlobal('fetch', fetch);
  onTestFinished(() => void vi.unstubAllGlobals());
  const client = (own?: typeof fetch) =>
    new PaymentsClient({ apiKey: API_KEY, baseUrl: 'https://payments.example/api/v1', fetch: own });
  await client().verify(REFERENCE);
  await client(fetch).verify(REFERENCE);
  expect(modes).toEqual(['no-store', 'no-store']);
});
