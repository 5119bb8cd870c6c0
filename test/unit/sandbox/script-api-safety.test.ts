import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import { startTestApi } from './script-api-client.ts';
import { payment } from './start-sandbox.ts';

type Api = Awaited<ReturnType<typeof startTestApi>>;

const json = { 'content-type': 'application/json' };

/** Every write of the API. The first one would delete all transactions. */
const writes: [method: string, path: string, body: object | null][] = [
  ['POST', '/reset', {}],
  ['POST', '/transactions', payment],
  ['POST', '/transactions/next', { status: 'success' }],
  ['POST', '/faults', { operation: 'verify', fault: { kind: 'reset' } }],
  ['DELETE', '/faults', null],
  ['POST', '/webhooks', { reference: 'TXN-1' }],
  ['POST', '/webhooks/flush', {}],
  ['PUT', '/webhooks/receiver', { url: 'https://evil.example/' }],
  ['POST', '/webhooks/faults', { fault: { kind: 'lost' } }],
  ['DELETE', '/webhooks/faults', null],
  ['POST', '/advance', { milliseconds: 1000 }],
];

describe('refuses a page of another website', () => {
  const sendAll = async (
    { send, sandbox, payments }: Api,
    headers: Record<string, string>,
    isText = false,
  ) => {
    const { reference } = await payments.initialize(payment);
    const statuses: number[] = [];
    for (const [method, path, body] of writes) {
      const type = isText ? { 'content-type': 'text/plain' } : json;
      const init = body ? { headers: { ...type, ...headers }, body: JSON.stringify(body) } : { headers };
      statuses.push((await send(method, path, init)).status);
    }
    expect(sandbox.transactions).toMatchObject([{ reference, status: 'pending' }]);
    return new Set(statuses);
  };

  test.each(['https://evil.example', 'http://localhost:1', 'http://127.0.0.1:1', 'null'])(
    'with the origin %s',
    async (origin) => {
      expect(await sendAll(await startTestApi(), { origin })).toEqual(new Set([403]));
    },
  );

  test.each(['cross-site', 'same-site', 'unheard-of'])('with Sec-Fetch-Site: %s', async (site) => {
    expect(await sendAll(await startTestApi(), { 'sec-fetch-site': site })).toEqual(new Set([403]));
  });

  test('although its own origin comes with another site, and the other way round', async () => {
    const api = await startTestApi();
    const origin = api.sandbox.url;
    expect(await sendAll(api, { origin, 'sec-fetch-site': 'cross-site' })).toEqual(new Set([403]));
    const other = { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' };
    expect(await sendAll(await startTestApi(), other)).toEqual(new Set([403]));
  });

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', ''])(
    'that sends %j without asking for permission first',
    async (type) => {
      const api = await startTestApi();
      await api.payments.initialize(payment);
      for (const [method, path, body] of writes.filter(([name]) => name === 'POST')) {
        const { status } = await api.send(method, path, {
          headers: { 'content-type': type },
          body: JSON.stringify(body),
        });
        expect(status).toBe(415);
      }
      expect(api.sandbox.transactions).toHaveLength(1);
    },
  );

  test('that asks for permission', async () => {
    const { send } = await startTestApi();
    for (const [method, path] of writes) {
      const { status, headers } = await send('OPTIONS', path, {
        headers: {
          origin: 'https://evil.example',
          'access-control-request-method': method,
          'access-control-request-headers': 'content-type',
        },
      });
      expect(status).toBe(403);
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  test('that wants to read', async () => {
    const { get, send } = await startTestApi();
    const { links } = (await get('')).body;
    for (const path of ['', ...Object.values<string>(links).map((link) => link.replace('/sandbox', ''))]) {
      const { headers } = await send('GET', path, { headers: { origin: 'https://evil.example' } });
      expect(
        [...headers.keys()].filter((name) => name.startsWith('access-control')),
        path,
      ).toEqual([]);
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-type')).toMatch(/^application\/json/);
    }
  });

  test('whose own name points to this machine', async () => {
    const { address, sandbox, payments } = await startTestApi();
    await payments.initialize(payment);
    const send = (method: string, path: string) =>
      new Promise((resolve) => {
        const headers = { host: 'evil.example', ...json };
        request(`${address}${path}`, { method, headers }, (response) =>
          resolve(response.resume().statusCode),
        ).end();
      });
    expect(await send('GET', '')).toBe(421);
    expect(await send('POST', '/reset')).toBe(421);
    expect(sandbox.transactions).toHaveLength(1);
  });
});

test('accepts a page of its own, and a client without an origin', async () => {
  const { send, sandbox } = await startTestApi();
  const own = [
    {},
    { origin: sandbox.url },
    { origin: sandbox.url, 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none' },
  ];
  for (const headers of own) {
    const init = { headers: { ...json, ...headers }, body: JSON.stringify(payment) };
    expect((await send('POST', '/transactions', init)).status).toBe(201);
  }
});

test('accepts the public address as its own origin', async () => {
  const port = await findFreePort();
  const publicUrl = 'https://sandbox.test:8443';
  const { sandbox } = await startTestApi({ port, publicUrl });
  const sendFrom = async (origin: string) => {
    const init = { method: 'POST', headers: { ...json, origin }, body: JSON.stringify(payment) };
    return (await fetch(`http://127.0.0.1:${port}/sandbox/transactions`, init)).status;
  };
  expect(await sendFrom('https://sandbox.example:8443')).toBe(403);
  expect(await sendFrom(publicUrl)).toBe(201);
  expect(sandbox.transactions).toHaveLength(1);
});

describe('never shows an API key', () => {
  const key = 'sk_live_4vK9qLm2Xw7RtZ';

  test('of a request, wherever it stands', async () => {
    const { sandbox, get } = await startTestApi();
    const send = (path: string, body: string, more: Record<string, string> = {}) =>
      fetch(`${sandbox.baseUrl}/transactions/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, ...json, ...more },
        body,
      });
    const { liveKey } = sandbox;
    await send('initialize', JSON.stringify({ apiKey: key, nested: [{ text: `key=${key}` }], [key]: 1 }));
    await send('initialize', `not JSON: ${key}`);
    await send('initialize', `{"key":"${key.replace('_', '\\u005f')}"}`);
    await send('initialize', JSON.stringify({ text: `${'x'.repeat(20_000)}` }), { 'x-api-key': key });
    await send(`verify/${key}`, '{}');
    await send('initialize', '{}', { 'x-request-id': key });
    await send('initialize', JSON.stringify({ liveKey }), { authorization: `Bearer ${liveKey}` });
    const { requests } = (await get('/requests')).body;
    expect(requests).toHaveLength(7);
    const shown = JSON.stringify(requests);
    expect(shown).not.toContain('4vK9');
    expect(shown).not.toContain(liveKey);
    expect(shown).not.toContain('authorization');
    expect(shown).toContain('key=[REDACTED]');
    expect(shown).toContain('not JSON: [REDACTED]');
  });

  test('of a key that was cut off with a long body', async () => {
    const { sandbox, get } = await startTestApi();
    for (const chars of [16_370, 16_375, 16_380]) {
      const body = JSON.stringify(`${'x'.repeat(chars)}${key}`);
      await fetch(`${sandbox.baseUrl}/transactions/initialize`, { method: 'POST', headers: json, body });
    }
    const { requests } = (await get('/requests')).body;
    expect(requests).toHaveLength(3);
    expect(JSON.stringify(requests)).not.toContain('4v');
  });
});

test('shows the beginning of a long body, however deep it is nested', async () => {
  const { sandbox, get } = await startTestApi();
  const post = (body: string) =>
    fetch(`${sandbox.baseUrl}/transactions/initialize`, { method: 'POST', headers: json, body });
  await post(JSON.stringify({ text: 'x'.repeat(100_000) }));
  // The service itself rejects it as usual, and not by an error of its own.
  expect((await post('['.repeat(400_000) + ']'.repeat(400_000))).status).toBe(401);
  await post('['.repeat(8_000) + ']'.repeat(8_000));
  const { status, body } = await get('/requests');
  expect(status).toBe(200);
  const [deep, deeper, long] = body.requests;
  expect(long.body).toHaveLength(16_384);
  expect(deeper.body).toBe('['.repeat(16_384));
  expect(JSON.stringify(deep.body).length).toBeLessThanOrEqual(16_384);
});
