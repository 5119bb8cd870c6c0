import { expect, test } from 'vitest';
import { findFreePort } from '../../../helpers/free-port.ts';
import { startTestApi } from './script-api-client.ts';
import { payment } from './start-sandbox.ts';

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

const evil = 'https://evil.example';

test.each<[status: number, headers: Record<string, string>]>([
  ...[evil, 'http://localhost:1', 'http://127.0.0.1:1', 'null'].map(
    (origin): [number, Record<string, string>] => [403, { ...json, origin }],
  ),
  ...['cross-site', 'same-site', 'unheard-of'].map((site): [number, Record<string, string>] => [
    403,
    { ...json, 'sec-fetch-site': site },
  ]),
  [403, { ...json, origin: 'OWN', 'sec-fetch-site': 'cross-site' }],
  [403, { ...json, origin: evil, 'sec-fetch-site': 'same-origin' }],
  // A page can send these without asking for permission first.
  ...['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', ''].map(
    (type): [number, Record<string, string>] => [415, { 'content-type': type }],
  ),
])('refuses every write of a page of another website with %d: %j', async (expected, headers) => {
  const { send, sandbox, payments } = await startTestApi();
  const { reference } = await payments.initialize(payment);
  const origin = headers.origin === 'OWN' ? { origin: sandbox.url } : {};
  // A DELETE has no content type, and a page must always ask for permission.
  const sent = writes.filter(([, , body]) => body !== null || expected === 403);
  const statuses: number[] = [];
  for (const [method, path, body] of sent) {
    const init = { headers: { ...headers, ...origin }, ...(body ? { body: JSON.stringify(body) } : {}) };
    statuses.push((await send(method, path, init)).status);
  }
  expect(statuses).toEqual(sent.map(() => expected));
  expect(sandbox.transactions).toMatchObject([{ reference, status: 'pending' }]);
});

test('gives no page of another website permission, and lets none read', async () => {
  const { get, send } = await startTestApi();
  const findPermissions = (headers: Headers) =>
    [...headers.keys()].filter((name) => name.startsWith('access-control'));
  for (const [method, path] of writes) {
    const { status, headers } = await send('OPTIONS', path, {
      headers: {
        origin: evil,
        'access-control-request-method': method,
        'access-control-request-headers': 'content-type',
      },
    });
    expect([status, findPermissions(headers)]).toEqual([403, []]);
  }
  const { links } = (await get('')).body;
  for (const path of ['', ...Object.values<string>(links).map((link) => link.replace('/sandbox', ''))]) {
    const { headers } = await send('GET', path, { headers: { origin: evil } });
    expect(findPermissions(headers), path).toEqual([]);
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-type')).toMatch(/^application\/json/);
  }
});

test('accepts a page of its own, of its public address, and a client without an origin', async () => {
  const port = await findFreePort();
  const publicUrl = 'https://sandbox.test:8443';
  await startTestApi({ port, publicUrl });
  const address = `http://127.0.0.1:${port}`;
  const sendWith = async (headers: Record<string, string>) => {
    const init = { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(payment) };
    return (await fetch(`${address}/sandbox/transactions`, init)).status;
  };
  expect(await sendWith({ origin: 'https://sandbox.example:8443' })).toBe(403);
  for (const headers of [
    {},
    { origin: publicUrl },
    { origin: address },
    { origin: address, 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none' },
  ])
    expect(await sendWith(headers)).toBe(201);
});

test('never shows an API key of a request, wherever it stands', async () => {
  const key = 'sk_live_4vK9qLm2Xw7RtZ';
  const { sandbox, get } = await startTestApi();
  const { baseUrl, liveKey } = sandbox;
  const send = (path: string, body: string, more: Record<string, string> = {}) => {
    const headers = { authorization: `Bearer ${key}`, ...json, ...more };
    return fetch(`${baseUrl}/transactions/${path}`, { method: 'POST', headers, body });
  };
  await send('initialize', JSON.stringify({ apiKey: key, nested: [{ text: `key=${key}` }], [key]: 1 }));
  await send('initialize', `not JSON: ${key}`);
  await send('initialize', `{"key":"${key.replace('_', '\\u005f')}"}`);
  await send('initialize', JSON.stringify({ text: 'x'.repeat(20_000) }), { 'x-api-key': key });
  await send(`verify/${key}`, '{}');
  await send('initialize', '{}', { 'x-request-id': key });
  await send('initialize', JSON.stringify({ liveKey }), { authorization: `Bearer ${liveKey}` });
  // Cut off with a long body.
  for (const chars of [16_370, 16_375, 16_380])
    await send('initialize', JSON.stringify(`${'x'.repeat(chars)}${key}`));
  const { requests } = (await get('/requests')).body;
  expect(requests).toHaveLength(10);
  const shown = JSON.stringify(requests);
  for (const secret of ['4v', liveKey, 'authorization']) expect(shown).not.toContain(secret);
  for (const text of ['key=[REDACTED]', 'not JSON: [REDACTED]']) expect(shown).toContain(text);
});
