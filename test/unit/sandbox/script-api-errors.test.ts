import { expect, test } from 'vitest';
import { MAX_DELAY_MS } from '../../../src/testing/ledger.ts';
import { startTestApi } from './script-api-client.ts';
import { payment } from './start-sandbox.ts';

const verify = { operation: 'verify' };

const refused = [
  ['/transactions', [], 'must be a JSON object'],
  ['/transactions', 'null', 'must be a JSON object'],
  ['/transactions', '{"amount":', 'The body is not JSON'],
  ['/transactions', { ...payment, amuont: 1 }, 'unknown field "amuont". Did you mean amount?'],
  [
    '/transactions',
    { ...payment, sandbox_return_url: 'https://shop.example' },
    'There are: amount, customer_email, currency, phone, network, mode, returnUrl, status',
  ],
  ['/transactions', { customer_email: 'ama@example.com' }, 'amount must be a number'],
  ['/transactions', { ...payment, amount: 0.5 }, 'amount must be at least 1'],
  ['/transactions', { ...payment, phone: '0244123456' }, 'both phone and network'],
  ['/transactions', { ...payment, network: 'mtn' }, 'both phone and network'],
  [
    '/transactions',
    { ...payment, phone: '0244123456', network: 'glo' },
    'network must be one of mtn, telecel, airteltigo',
  ],
  [
    '/transactions',
    { ...payment, phone: '0244123456', network: 'mtn', returnUrl: 'https://shop.example' },
    'no returnUrl',
  ],
  [
    '/transactions',
    { ...payment, returnUrl: 'javascript:alert(1)' },
    'returnUrl must be an http or https address',
  ],
  ['/transactions', { ...payment, mode: 'sandbox' }, 'mode must be one of test, live'],
  ['/transactions', { ...payment, status: 'pending' }, 'status must be one of success, failed, abandoned'],
  ['/transactions/:reference', {}, 'either a status or a script'],
  ['/transactions/:reference', { status: 'processing' }, 'status must be one of success, failed, abandoned'],
  ['/transactions/:reference', { status: 'success', script: ['success'] }, 'either a status or a script'],
  ['/transactions/:reference', { script: ['pending'], after: 1 }, 'after with a status only'],
  ['/transactions/:reference', { script: [] }, 'at least one status'],
  ['/transactions/:reference', { script: ['paid'] }, 'script.0 must be one of pending'],
  ['/transactions/:reference', { status: 'success', after: 0.5 }, 'after must be a whole number from 0'],
  ['/transactions/:reference', { status: 'success', after: MAX_DELAY_MS + 1 }, `to ${MAX_DELAY_MS}`],
  ['/faults', { fault: { kind: 'reset' } }, 'operation must be one of initialize, chargeMobileMoney, verify'],
  ['/faults', { ...verify }, 'fault must be an object with a kind'],
  ['/faults', { ...verify, fault: { kind: 'explode' } }, 'fault.kind must be one of status, rateLimited'],
  ['/faults', { ...verify, fault: { kind: 'toString' } }, 'fault.kind must be one of'],
  ['/faults', { ...verify, fault: { kind: 'status' } }, 'fault.status must be a number from 200 to 599'],
  [
    '/faults',
    { ...verify, fault: { kind: 'status', status: 99 } },
    'status must be a number from 200 to 599',
  ],
  [
    '/faults',
    { ...verify, fault: { kind: 'status', status: 502, body: 'text' } },
    'fault.body must be json, html, empty',
  ],
  ['/faults', { ...verify, fault: { kind: 'status', status: 502, headers: { 'a b': 'c' } } }, 'header'],
  ['/faults', { ...verify, fault: { kind: 'rateLimited', retryafter: 5 } }, 'Did you mean retryAfter?'],
  ['/faults', { ...verify, fault: { kind: 'wrongAmount', amount: 2.55 } }, 'fault.amount must be a string'],
  [
    '/faults',
    { ...verify, fault: { kind: 'lateApproval', after: 5 } },
    'Unknown fault lateApproval for verify',
  ],
  [
    '/faults',
    { operation: 'initialize', fault: { kind: 'unrecognisedStatus' } },
    'Unknown fault unrecognisedStatus for initialize',
  ],
  ['/faults', { ...verify, fault: { kind: 'reset' }, times: 0 }, 'times must be a whole number'],
  ['/faults', { ...verify, fault: { kind: 'reset' }, times: 'forever' }, 'or always'],
  ['/webhooks', {}, 'reference must be a string'],
  ['/webhooks', { reference: 'TXN-1', forged: { sum: '1.00' } }, 'There are: reference, amount, status'],
  [
    '/webhooks/faults',
    { fault: { kind: 'vanish' } },
    'fault.kind must be one of late, twice, lost, forged, early',
  ],
  ['/webhooks/faults', { fault: { kind: 'late', delay: -1 } }, 'fault.delay must be milliseconds from 0'],
  ['/webhooks/flush', { now: true }, 'It has no fields'],
  ['/advance', {}, 'milliseconds must be a whole number from 0'],
  ['/advance', { milliseconds: -1 }, `milliseconds must be a whole number from 0 to ${MAX_DELAY_MS}`],
  ['/advance', { milliseconds: 1.5 }, 'milliseconds must be a whole number'],
  ['/advance', { milliseconds: MAX_DELAY_MS + 1 }, 'milliseconds must be a whole number'],
  ['/advance', '{"milliseconds":1e999}', 'milliseconds must be a whole number'],
  ['/reset', { transactions: true }, 'It has no fields'],
] as const;

test('responds with 400 to what it cannot read, and changes nothing', async () => {
  const { payments, get, post } = await startTestApi();
  const { reference } = await payments.initialize(payment);
  await post('/faults', { operation: 'initialize', fault: { kind: 'reset' } });
  const read = async () => {
    const { now: _, ...state } = (await get('')).body;
    return [state, (await get('/faults')).body, (await get(`/transactions/${reference}`)).body];
  };
  const before = await read();
  for (const [path, sent, expected] of refused) {
    const { status, body } = await post(path.replace(':reference', reference), sent);
    const { message } = body.error;
    expect({ path, sent, status, message }).toEqual({
      path,
      sent,
      status: 400,
      message: expect.stringContaining(expected),
    });
    expect(message.length).toBeLessThanOrEqual(200);
    expect(await read()).toEqual(before);
  }
});

test.each([
  [{}, 'url must be a string'],
  [{ url: 'ftp://shop.example/' }, 'url must be an http or https address'],
  [{ url: 'https://shop.example/', retryDelays: [1, -1] }, 'retryDelays.1 must be milliseconds from 0'],
  [{ url: 'https://shop.example/', timeout: 0 }, 'timeout must be milliseconds from 1'],
  [{ url: 'https://shop.example/', retries: 3 }, 'There are: url, retryDelays, timeout'],
])('responds with 400 to the webhook receiver %j', async (body, message) => {
  const { put, get } = await startTestApi();
  const response = await put('/webhooks/receiver', body);
  expect(response.status).toBe(400);
  expect(response.body.error.message).toContain(message);
  expect((await get('/webhooks')).body.receiver).toBeNull();
});

const refusedQueries: [path: string, message: string][] = [
  ['/transactions?limit=0', 'limit must be a whole number from 1 to 1000'],
  ['/transactions?limit=1001', 'limit must be a whole number from 1 to 1000'],
  ['/transactions?limit=', 'limit must be a whole number'],
  ['/transactions?limit=1e2', 'limit must be a whole number'],
  ['/transactions?status=paid', 'status must be one of pending'],
  ['/transactions?mode=sandbox', 'mode must be one of test, live'],
  ['/transactions?before=TXN-none', 'before must be the reference'],
  ['/transactions?sort=amount', 'unknown field "sort". There are: status, mode, search, before, limit'],
  ['/requests?operation=refund', 'operation must be one of'],
  ['/requests?limit=1001', 'limit must be'],
  ['/webhooks?limit=1001', 'limit must be'],
  ['/double-charges?within=-1', 'within must be a whole number from 0'],
];

test('responds with 400 to a query that it cannot read', async () => {
  const { get } = await startTestApi();
  for (const [path, message] of refusedQueries) {
    const { status, body } = await get(path);
    expect([path, status, body.error.message]).toEqual([path, 400, expect.stringContaining(message)]);
  }
});

test('deletes nothing if the query or body of a DELETE would not narrow it', async () => {
  const { get, post, remove, send } = await startTestApi();
  await post('/faults', { operation: 'verify', fault: { kind: 'reset' } });
  const { status, body } = await remove('/faults?operation=initialize');
  expect(status).toBe(400);
  expect(body.error.message).toContain('unknown field "operation". It has no fields');
  const withBody = await send('DELETE', '/faults', { body: JSON.stringify({ operation: 'initialize' }) });
  expect([withBody.status, withBody.body.error.message]).toEqual([
    400,
    body.error.message.replace('query', 'body'),
  ]);
  expect((await get('/faults')).body.faults).toHaveLength(1);
});

test('names every invalid field, and a misspelt one first', async () => {
  const { post } = await startTestApi();
  const { body } = await post('/transactions', { amonut: 25.5, mode: 'sandbox' });
  expect(body.error.message).toBe(
    'The body has an unknown field "amonut". Did you mean amount? Nothing was changed.',
  );
  const fields = body.error.issues.map(({ path }: { path: string }) => path);
  expect(fields).toEqual(expect.arrayContaining(['amount', 'customer_email', 'mode', '']));
});

test('never shows the name of a field that can be a key', async () => {
  const { post } = await startTestApi();
  const { body } = await post('/transactions', { ...payment, sk_live_4vK9qLm2Xw7RtZ: true });
  expect(body.error.message).toContain('an unknown field. There are: amount');
  expect(JSON.stringify(body)).not.toContain('4vK9');
});

test('responds with 404 to an unknown path', async () => {
  const { get, post } = await startTestApi();
  for (const { status, body } of [
    await get('/refunds'),
    await get('/faults/1'),
    await post('/refunds', {}),
  ]) {
    expect(status).toBe(404);
    expect(body.error.message).toContain('There is no such path. /sandbox lists what there is.');
  }
});

test.each([
  ['DELETE', '/transactions', 'GET, POST'],
  ['DELETE', '', 'GET'],
  ['GET', '/advance', 'POST'],
  ['GET', '/webhooks/receiver', 'PUT'],
])('responds with 405 to %s %s, and names the methods', async (method, path, allow) => {
  const { status, headers, body } = await (await startTestApi()).send(method, path);
  expect([status, headers.get('allow')]).toEqual([405, allow]);
  expect(body.error.message).toContain(`Use ${allow}.`);
});

test('responds with 409 to a webhook without a receiver', async () => {
  const { payments, post } = await startTestApi();
  const { reference } = await payments.initialize(payment);
  const { status, body } = await post('/webhooks', { reference });
  expect(status).toBe(409);
  expect(body.error.message).toContain('PUT /sandbox/webhooks/receiver');
  expect((await post('/webhooks', { reference: 'TXN-none' })).status).toBe(404);
});

test('responds with 413 to a body over 64 KiB, with or without a length', async () => {
  const { address, post } = await startTestApi();
  const fitting = JSON.stringify(payment);
  const largest = fitting + ' '.repeat(65_536 - fitting.length);
  expect((await post('/transactions', largest)).status).toBe(201);
  const { status, body } = await post('/transactions', `${largest} `);
  expect([status, body.error.message]).toEqual([
    413,
    'The body is larger than 65536 bytes. Nothing was changed.',
  ]);
  // The types of a browser's fetch do not have this option.
  const streamed = { duplex: 'half' };
  const headers = { 'content-type': 'application/json' };
  const stream = new Blob([`${largest} `]).stream();
  const sent = await fetch(`${address}/transactions`, { method: 'POST', headers, body: stream, ...streamed });
  expect(sent.status).toBe(413);
});

const notJson: Record<string, string>[] = [
  {},
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/jsonp' },
];

test.each(notJson)('responds with 415 to a write of the type %j', async (headers) => {
  const { send, sandbox, payments } = await startTestApi();
  await payments.initialize(payment);
  const { status, body } = await send('POST', '/reset', { headers });
  expect(status).toBe(415);
  expect(body.error.message).toContain('The Content-Type must be application/json');
  expect(sandbox.transactions).toHaveLength(1);
});

test.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON'])(
  'accepts a write of the type %s, also without a body',
  async (type) => {
    const { send, sandbox, payments } = await startTestApi();
    await payments.initialize(payment);
    const headers = { 'content-type': type };
    expect((await send('POST', '/reset', { headers })).status).toBe(204);
    expect(sandbox.transactions).toEqual([]);
  },
);
