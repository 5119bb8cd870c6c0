import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { startTestApi } from './script-api-client.ts';
import { charge, payment } from './start-sandbox.ts';
import { respondWith, startShop } from './start-shop.ts';

/**
 * Each line is a request with its body, its status, and fields of the result. A request of a shop has the mode of its key in
 * place of the method, and as its status 200 or the name of its error. `$1` is the transaction that was created first, SHOP the
 * address of a receiver that responds with 500 to two webhooks, `some` what is not null.
 */
const STORIES = `
creates a payment, which a client of its mode verifies
  POST /transactions PAYMENT -> 201 { reference: $1, mode: test, status: pending, reportedStatus: pending,
    failure: null, amount: "25.50", currency: GHS, customer_email: ama.serwaa@example.com, phone: null, network: null,
    paid_at: null, checkoutUrl: URL/checkout/$1, returnUrl: RETURN, plan: null }
  test verify $1 -> 200 { status: pending }
  live verify $1 -> NotFoundError
  POST /transactions { ...PAYMENT, mode: live, currency: usd, returnUrl: https://other.example/back } -> 201
    { mode: live, currency: USD, returnUrl: https://other.example/back }
  live verify $2 -> 200 { currency: USD }
  POST /transactions { ...PAYMENT, status: success } -> 201 { status: success, paid_at: some }
  test verify $3 -> 200 { status: success, paid_at: some }
  POST /transactions { ...PAYMENT, status: failed } -> 201 { status: failed, failure: declined, paid_at: null }
  POST /transactions { ...PAYMENT, status: abandoned } -> 201 { status: abandoned, paid_at: null }
  test verify $5 -> 200 { status: abandoned }
  GET /requests -> 200 { requests: [some, some, some, some, some] }
  GET / -> 200 { transactions: 5, returnUrl: RETURN, webhookUrl: null, now: some }
creates a charge, without a request, and its prompt expires
  POST /transactions { ...CHARGE, mode: test } -> 400
  POST /faults { operation: chargeMobileMoney, fault: { kind: responseLost } } -> 201
  POST /transactions CHARGE -> 201 { mode: live, phone: 024 412 3456, network: mtn, checkoutUrl: null, returnUrl: null,
    plan: { status: failed, settleAt: some } }
  GET /faults -> 200 { faults: [{ operation: chargeMobileMoney, fault: { kind: responseLost }, remaining: 1 }] }
  GET /requests -> 200 { requests: [] }
  POST /advance { milliseconds: 270000 } -> 200 { now: some }
  live verify $1 -> 200 { status: pending }
  POST /advance { milliseconds: 30000 } -> 200
  live verify $1 -> 200 { status: failed }
  GET /transactions/$1 -> 200 { failure: expired, plan: null, requests: [some, some], webhooks: [] }
moves a transaction now, later or by each verify
  live charge -> 200
  POST /transactions/$1 { status: failed } -> 200 { status: failed, failure: declined }
  POST /transactions/$1 { status: success } -> 200 { status: success, failure: null, paid_at: some }
  POST /transactions/$1 { status: abandoned } -> 200 { status: abandoned, paid_at: null }
  live initialize -> 200
  POST /transactions/$2 { status: success, after: 7200000 } -> 200 { status: pending, plan: { status: success } }
  POST /advance { milliseconds: 3600000 } -> 200
  live verify $2 -> 200 { status: pending }
  POST /advance { milliseconds: 3600000 } -> 200
  live verify $2 -> 200 { status: success }
  POST /transactions/$2 { script: [processing, failed] } -> 200 { plan: { script: [processing, failed] } }
  live verify $2 -> 200 { status: processing }
  live verify $2 -> 200 { status: failed }
  live verify $2 -> 200 { status: failed }
  POST /transactions/TXN-none { status: success } -> 404
  GET /transactions/TXN-none -> 404
moves transactions that do not exist yet
  POST /transactions/next { status: failed } -> 204
  POST /transactions/next { script: [abandoned] } -> 204
  POST /transactions/next { status: success, after: 60000 } -> 204
  live initialize -> 200
  live initialize -> 200
  live initialize -> 200
  live verify $1 -> 200 { status: failed }
  live verify $2 -> 200 { status: abandoned }
  live verify $3 -> 200 { status: pending }
breaks the next requests of an operation
  POST /faults { operation: chargeMobileMoney, fault: { kind: responseLost }, times: 2 } -> 201 { faults: [{ remaining: 2 }] }
  live charge -> OutcomeUnknownError
  GET /faults -> 200 { faults: [{ operation: chargeMobileMoney, fault: { kind: responseLost }, remaining: 1 }] }
  live charge -> OutcomeUnknownError
  GET /faults -> 200 { faults: [] }
  live charge -> 200
  POST /faults { operation: verify, fault: { kind: reset } } -> 201 { faults: [{ operation: verify, remaining: 1 }] }
  live verify $1 -> ConnectionError
  live verify $1 -> 200
  POST /faults { operation: verify, fault: { kind: reset }, times: always } -> 201 { faults: [{ remaining: always }] }
  live verify $1 -> ConnectionError
  live verify $1 -> ConnectionError
  DELETE /faults -> 204
  live verify $1 -> 200
shows requests with their results, newest first
  live initialize -> 200
  live initialize -> 200
  POST /faults { operation: verify, fault: { kind: status, status: 503 } } -> 201
  live verify $1 -> ServerError
  live verify $2 -> 200
  GET /transactions/$1 -> 200 { requests: [{ operation: verify, method: GET, path: /transactions/verify/$1, mode: live,
    hasKey: true, body: null, reference: $1, status: 503, fault: status, errorBody: some, duration: some, requestId: some },
    { operation: initialize, status: 200, errorBody: null, body: { amount: 25.5 } }] }
  GET /transactions/$1?limit=1 -> 200 { requests: [{ operation: verify }] }
  GET /requests?operation=verify -> 200 { requests: [{ reference: $2 }, { reference: $1 }] }
  GET /requests?reference=$2 -> 200 { requests: [{ operation: verify }, { operation: initialize }] }
  GET /requests?limit=1 -> 200 { requests: [{ reference: $2, operation: verify }] }
finds charges that were made twice, within a time
  live charge -> 200
  GET /double-charges -> 200 { doubleCharges: [] }
  POST /advance { milliseconds: 60000 } -> 200
  live charge -> 200
  GET /double-charges -> 200 { doubleCharges: [{ first: $1, second: $2, amount: "25.50", currency: GHS, apart: some }] }
  GET /double-charges?within=59000 -> 200 { doubleCharges: [] }
lists transactions of one status, one mode, or with a text
  POST /transactions { ...PAYMENT, status: success } -> 201
  POST /transactions CHARGE -> 201
  GET /transactions -> 200 { transactions: [{ reference: $2 }, { reference: $1 }], total: 2, next: null }
  GET /transactions?status=success -> 200 { transactions: [{ reference: $1 }], total: 1 }
  GET /transactions?mode=live -> 200 { transactions: [{ reference: $2 }], total: 1 }
  GET /transactions?search=024412 -> 200 { transactions: [{ reference: $2 }], total: 1 }
  POST /transactions/$2 { status: failed } -> 200
  GET /transactions?status=declined -> 200 { transactions: [{ reference: $2 }], total: 1 }
sends webhooks, and forged ones, to a receiver that is set
  live charge -> 200
  POST /webhooks { reference: $1 } -> 409
  PUT /webhooks/receiver { url: SHOP, retryDelays: [1000], timeout: 2000 } -> 200 { receiver: SHOP }
  GET / -> 200 { webhookUrl: SHOP }
  POST /transactions/$1 { status: success } -> 200
  POST /webhooks/flush {} -> 200 { receiver: SHOP, webhooks: [{ reference: $1, url: SHOP, state: failed, fault: null,
    dueAt: null, attempts: [{ status: 500 }, { status: 500, error: null }],
    body: { event: transaction.success, data: { reference: $1, amount: "25.50" } } }] }
  live initialize -> 200
  POST /webhooks { reference: $2 } -> 201 { reference: $2, fault: null }
  POST /webhooks { reference: $2, forged: { reference: TXN-X, amount: "1.00", status: success } } -> 201
    { reference: $2, fault: forged, body: { data: { reference: TXN-X, amount: "1.00", status: success } } }
  POST /webhooks { reference: TXN-none } -> 404
  live verify $2 -> 200 { status: pending }
  POST /webhooks/flush {} -> 200 { webhooks: [{ state: delivered }, { state: delivered }, some] }
  GET /webhooks?reference=$1 -> 200 { webhooks: [{ reference: $1 }] }
  GET /webhooks?limit=1 -> 200 { webhooks: [{ fault: forged }] }
  GET /transactions/$2 -> 200 { webhooks: [{ fault: forged }, { fault: null }] }
  PUT /webhooks/receiver { url: null } -> 200 { receiver: null }
  POST /transactions/$2 { status: success } -> 200
  GET /webhooks -> 200 { receiver: null, webhooks: [some, some, some] }
orders faults of the next webhooks, and resets all but the receiver
  PUT /webhooks/receiver { url: SHOP } -> 200
  live initialize -> 200
  POST /faults { operation: verify, fault: { kind: reset } } -> 201
  POST /transactions/$1 { status: success } -> 200
  POST /webhooks/faults { fault: { kind: late, delay: 60000 }, times: 2 } -> 201
    { faults: [{ fault: { kind: late, delay: 60000 }, remaining: 2 }] }
  DELETE /webhooks/faults -> 204
  GET /webhooks/faults -> 200 { faults: [] }
  POST /webhooks/faults { fault: { kind: early }, times: always } -> 201 { faults: [{ fault: { kind: early } }] }
  POST /reset {} -> 204
  GET / -> 200 { transactions: 0 }
  GET /requests -> 200 { requests: [] }
  GET /faults -> 200 { faults: [] }
  GET /webhooks/faults -> 200 { faults: [] }
  GET /webhooks -> 200 { receiver: SHOP, webhooks: [] }
never shows an API key, of a receiver or in a forged field
  PUT /webhooks/receiver { url: SHOP, retryDelays: [] } -> 200
  live initialize -> 200
  POST /webhooks { reference: $1, forged: { status: sk_live_4vK9qLm2Xw7RtZ } } -> 201
    { body: { data: { status: "[REDACTED]" } } }
  POST /webhooks/flush {} -> 200 { webhooks: [{ attempts: [{ body: "key: [REDACTED]" }] }] }
`;

const stories = STORIES.trim()
  .split(/\n(?=\S)/)
  .map((story) => story.replace(/\n {4,}/g, ' ').split(/\n\s+/))
  .map(([title = '', ...steps]): [string, string[]] => [title, steps]);

test.each(stories)('%s', async (_, steps) => {
  const { url: shop } = await startShop(respondWith([500, 500], 'key: sk_live_4vK9qLm2Xw7RtZ'));
  const returnUrl = 'https://shop.example/return';
  const { sandbox, client, send } = await startTestApi({ returnUrl });
  /** Reads an object, with what its words stand for. */
  const read = (text: string): unknown => {
    const flow = text
      .replace(/PAYMENT|CHARGE/, (name) => JSON.stringify(name === 'CHARGE' ? charge : payment))
      .replace(/\.\.\.\{(.*?)\}/, '$1');
    return JSON.parse(JSON.stringify(parse(flow)), (_name, value) =>
      value === 'some' ? expect.anything() : value,
    );
  };
  const sendFromShop = async (mode: string, operation: string | undefined, reference = '') => {
    const payments = client({ apiKey: mode === 'live' ? sandbox.liveKey : sandbox.testKey });
    const create =
      operation === 'charge' ? () => payments.chargeMobileMoney(charge) : () => payments.initialize(payment);
    const sending: Promise<object> = operation === 'verify' ? payments.verify(reference) : create();
    return sending.then(
      (body) => ({ status: '200', body }),
      (error: unknown) => ({ status: error instanceof Error ? error.name : '', body: {} }),
    );
  };
  for (const step of steps) {
    const fill = (text: string) =>
      text
        .replace(/\$(\d)/g, (_name, nth: string) => sandbox.transactions[Number(nth) - 1]?.reference ?? '')
        .replace(/SHOP|URL|RETURN/g, (name) => ({ SHOP: shop, URL: sandbox.url })[name] ?? returnUrl);
    const [given = '', expected = ''] = step.split(' -> ');
    const [, method = '', path = '', more = ''] = /^(\w+) (\S+) ?(.*)$/.exec(fill(given)) ?? [];
    const isOfShop = method === 'live' || method === 'test';
    const headers = { 'content-type': 'application/json' };
    const init = more === '' ? {} : { headers, body: JSON.stringify(read(more)) };
    const response = isOfShop
      ? await sendFromShop(method, path, more)
      : await send(method, path.replace(/^\/$/, ''), init);
    const [, status, result = '{}'] = /^(\w+) ?(.+)?$/.exec(fill(expected)) ?? [];
    const got = { step, status: String(response.status), body: response.body ?? {} };
    expect(got).toMatchObject({ step, status, body: read(result) });
  }
});

test('tells a script what a shop needs, and links only to existing paths', async () => {
  const { sandbox, get } = await startTestApi();
  const { baseUrl, testKey, liveKey, url } = sandbox;
  const { body } = await get('');
  expect(body).toMatchObject({ baseUrl, testKey, liveKey, url });
  expect(Math.abs(body.now - Date.now())).toBeLessThan(60_000);
  expect(Object.keys(body.links).length).toBeGreaterThan(5);
  for (const link of Object.values(body.links))
    expect([200, 405], `${link}`).toContain((await fetch(`${sandbox.url}${link}`)).status);
});

test('lists transactions page by page, and never one twice', async () => {
  const { sandbox, get, post } = await startTestApi();
  const created: string[] = [];
  for (let count = 0; count < 101; count++) {
    const mode = count === 2 ? 'live' : 'test';
    created.unshift((await post('/transactions', { ...payment, mode })).body.reference);
  }
  const seen: string[] = [];
  let next: string | null = '/sandbox/transactions?mode=test';
  while (next !== null) {
    const page: Response = await fetch(sandbox.url + next);
    const body: { transactions: { reference: string }[]; next: string | null } = await page.json();
    expect(body.transactions.length).toBeLessThanOrEqual(100);
    seen.push(...body.transactions.map(({ reference }) => reference));
    // One more, as a busy shop makes it.
    await post('/transactions', payment);
    next = body.next;
  }
  expect(seen).toEqual(created.toSpliced(-3, 1));
  // The last page is full.
  expect((await get(`/transactions?before=${created[0]}&mode=test&limit=99`)).body.next).toBeNull();
});
