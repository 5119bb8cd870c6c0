import { expect, test } from 'vitest';
import { MAX_DELAY_MS } from '../../../../src/developers/service/ledger.ts';
import { startTestApi } from './script-api-client.ts';
import { payment } from './start-sandbox.ts';

const verify = { operation: 'verify' };
const phone = '0244123456';
const transactions = 'POST /transactions';
const move = 'POST /transactions/:reference';
const faults = 'POST /faults';
const receiver = 'PUT /webhooks/receiver';
const url = 'https://shop.example/';

/** A request, its body, and what the message of its refusal contains. */
type Refusal = [request: string, body: unknown, message: string, status?: number];

const refusals: Refusal[] = [
  [transactions, [], 'must be a JSON object'],
  [transactions, 'null', 'must be a JSON object'],
  [transactions, '{"amount":', 'The body is not JSON'],
  [transactions, { ...payment, amuont: 1 }, 'unknown field "amuont". Did you mean amount?'],
  [
    transactions,
    { ...payment, sandbox_return_url: url },
    'There are: amount, customer_email, currency, phone, network, mode, returnUrl, status',
  ],
  [transactions, { customer_email: 'ama@example.com' }, 'amount must be a number'],
  [transactions, { ...payment, phone }, 'both phone and network'],
  [transactions, { ...payment, network: 'mtn' }, 'both phone and network'],
  [transactions, { ...payment, phone, network: 'mtn', returnUrl: url }, 'no returnUrl'],
  [
    transactions,
    { ...payment, returnUrl: 'javascript:alert(1)' },
    'returnUrl must be an http or https address',
  ],
  [transactions, { ...payment, mode: 'sandbox' }, 'mode must be one of test, live'],
  [transactions, { ...payment, status: 'pending' }, 'status must be one of success, failed, abandoned'],
  [transactions, { ...payment, sk_live_4vK9qLm2Xw7RtZ: true }, 'an unknown field. There are: amount'],
  [move, {}, 'either a status or a script'],
  [move, { status: 'processing' }, 'status must be one of success, failed, abandoned'],
  [move, { status: 'success', script: ['success'] }, 'either a status or a script'],
  [move, { script: ['pending'], after: 1 }, 'after with a status only'],
  [move, { script: [] }, 'at least one status'],
  [move, { status: 'success', after: 0.5 }, 'after must be a whole number from 0'],
  [move, { status: 'success', after: MAX_DELAY_MS + 1 }, `to ${MAX_DELAY_MS}`],
  [faults, { fault: { kind: 'reset' } }, 'operation must be one of initialize, chargeMobileMoney, verify'],
  [faults, verify, 'fault must be an object with a kind'],
  [faults, { ...verify, fault: { kind: 'explode' } }, 'fault.kind must be one of status, rateLimited'],
  [faults, { ...verify, fault: { kind: 'rateLimited', retryafter: 5 } }, 'Did you mean retryAfter?'],
  [faults, { ...verify, fault: { kind: 'lateApproval', after: 5 } }, 'Unknown fault lateApproval for verify'],
  [faults, { ...verify, fault: { kind: 'reset' }, times: 0 }, 'times must be a whole number'],
  [faults, { ...verify, fault: { kind: 'reset' }, times: 'forever' }, 'or always'],
  // It would not narrow what is deleted.
  [
    'DELETE /faults?operation=initialize',
    undefined,
    'The query has an unknown field "operation". It has no fields',
  ],
  [
    'DELETE /faults',
    { operation: 'initialize' },
    'The body has an unknown field "operation". It has no fields',
  ],
  ['POST /webhooks', {}, 'reference must be a string'],
  ['POST /webhooks', { reference: 'TXN-1', forged: { sum: '1.00' } }, 'There are: reference, amount, status'],
  ['POST /webhooks', { reference: 'REFERENCE' }, 'PUT /sandbox/webhooks/receiver', 409],
  ['POST /webhooks', { reference: 'TXN-none' }, 'There is no transaction', 404],
  ['POST /webhooks/faults', { fault: { kind: 'vanish' } }, 'must be one of late, twice, lost, forged, early'],
  ['POST /webhooks/flush', { now: true }, 'It has no fields'],
  [receiver, {}, 'url must be a string'],
  [receiver, { url: 'ftp://shop.example/' }, 'url must be an http or https address'],
  [receiver, { url, retryDelays: [1, -1] }, 'retryDelays.1 must be milliseconds from 0'],
  [receiver, { url, timeout: 0 }, 'timeout must be milliseconds from 1'],
  [receiver, { url, retries: 3 }, 'There are: url, retryDelays, timeout'],
  ['POST /advance', {}, 'milliseconds must be a whole number from 0'],
  ['POST /advance', { milliseconds: -1 }, `milliseconds must be a whole number from 0 to ${MAX_DELAY_MS}`],
  ['POST /advance', '{"milliseconds":1e999}', 'milliseconds must be a whole number'],
  ['POST /reset', { transactions: true }, 'It has no fields'],
  ...['0', '1001', '', '1e2'].map(
    (limit): Refusal => [
      `GET /transactions?limit=${limit}`,
      undefined,
      'limit must be a whole number from 1 to 1000',
    ],
  ),
  ['GET /transactions?status=paid', undefined, 'status must be one of pending'],
  ['GET /transactions?mode=sandbox', undefined, 'mode must be one of test, live'],
  ['GET /transactions?before=TXN-none', undefined, 'before must be the reference'],
  ['GET /transactions?sort=amount', undefined, 'There are: status, mode, search, before, limit'],
  ['GET /requests?operation=refund', undefined, 'operation must be one of'],
  ['GET /webhooks?limit=1001', undefined, 'limit must be'],
  ['GET /double-charges?within=-1', undefined, 'within must be a whole number from 0'],
  ['GET /refunds', undefined, 'There is no such path. /sandbox lists what there is.', 404],
  ['GET /faults/1', undefined, 'There is no such path.', 404],
  ['POST /refunds', {}, 'There is no such path.', 404],
  ['DELETE /transactions', undefined, 'Use GET, POST.', 405],
  ['DELETE ', undefined, 'Use GET.', 405],
  ['GET /advance', undefined, 'Use POST.', 405],
  ['GET /webhooks/receiver', undefined, 'Use PUT.', 405],
];

test('refuses what it cannot read with a clear error, and changes nothing', async () => {
  const { payments, get, post, send } = await startTestApi();
  const { reference } = await payments.initialize(payment);
  await post('/faults', { operation: 'initialize', fault: { kind: 'reset' } });
  const read = async () => {
    const { now: _, ...state } = (await get('')).body;
    return [state, (await get('/faults')).body, (await get(`/transactions/${reference}`)).body];
  };
  const before = await read();
  const headers = { 'content-type': 'application/json' };
  for (const [request, given, expected, status = 400] of refusals) {
    const [method = '', path = ''] = request.replace(':reference', reference).split(' ');
    const text = typeof given === 'string' ? given : JSON.stringify(given)?.replace('REFERENCE', reference);
    const response = await send(method, path, text === undefined ? {} : { headers, body: text });
    const { message } = response.body.error;
    expect({ request, given, status: response.status, message }).toEqual({
      request,
      given,
      status,
      message: expect.stringContaining(expected),
    });
    expect(message.length).toBeLessThanOrEqual(200);
    expect(message).not.toContain('4vK9');
    if (status === 405) expect(message).toContain(`Use ${response.headers.get('allow')}.`);
    expect(await read()).toEqual(before);
  }
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

test('refuses a body over 64 KiB, with or without a length', async () => {
  const { send, post } = await startTestApi();
  const fitting = JSON.stringify(payment);
  const largest = fitting + ' '.repeat(65_536 - fitting.length);
  expect((await post('/transactions', largest)).status).toBe(201);
  const headers = { 'content-type': 'application/json' };
  // The types of a browser's fetch do not have this option.
  const streamed = { duplex: 'half' };
  for (const body of [`${largest} `, new Blob([`${largest} `]).stream()]) {
    const response = await send('POST', '/transactions', { headers, body, ...streamed });
    expect([response.status, response.body.error.message]).toEqual([
      413,
      'The body is larger than 65536 bytes. Nothing was changed.',
    ]);
  }
});

test.each([
  ['application/json', 204],
  ['application/json; charset=utf-8', 204],
  ['Application/JSON', 204],
  ['application/jsonp', 415],
  ['text/plain', 415],
  [undefined, 415],
])('responds to a write of the type %s, also without a body, with %d', async (type, expected) => {
  const { send, sandbox, payments } = await startTestApi();
  await payments.initialize(payment);
  const { status } = await send('POST', '/reset', {
    headers: type === undefined ? {} : { 'content-type': type },
  });
  expect(status).toBe(expected);
  expect(sandbox.transactions).toHaveLength(expected === 204 ? 0 : 1);
});
