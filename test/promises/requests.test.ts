/** What is checked, what is sent, and what comes back: the client's calls. */

import { expect, test } from 'vitest';
import { ConfigurationError, InvalidInputError, PaymentsClient } from '../../src/index.ts';
import { API_KEY, catchError } from '../helpers/service.ts';
import { connectionRefused, momo, page, type Respond, world } from '../helpers/world.ts';

const unkeyed = { idempotencyKey: null };

/** Keeps what is sent. */
function recordRequests() {
  const sent: { headers: Headers; body: unknown; url: string; redirect: string }[] = [];
  const respond: Respond = async (request) => {
    const { headers, url, redirect } = request;
    sent.push({ headers, url, redirect, body: JSON.parse((await request.clone().text()) || 'null') });
    return undefined;
  };
  return { sent, respond };
}

test('a charge sends the documented fields, with a JSON number as its amount', async () => {
  const { sent, respond } = recordRequests();
  await world({ respond }).shop.payments.chargeMobileMoney({ ...momo, currency: 'ghs' }, unkeyed);
  expect(sent).toMatchObject([
    { url: 'https://payments.example/api/v1/transactions/charge-mobile-money', redirect: 'manual' },
  ]);
  expect(sent[0]?.body).toEqual({ ...momo, amount: 25.5, currency: 'GHS' });
});

test('each request has a bearer key, an id of its own and a version', async () => {
  const { sent, respond } = recordRequests();
  const { payments } = world({ respond }).shop;
  await payments.initialize(page);
  await payments.initialize(page);
  const [first, second] = sent.map(({ headers }) => headers);
  expect(first?.get('authorization')).toBe(`Bearer ${API_KEY}`);
  expect(first?.get('user-agent')).toMatch(/^payment-collection-client\/\d/);
  expect(first?.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
  expect(first?.get('x-request-id')).not.toBe(second?.get('x-request-id'));
});

test.each([
  ['an amount under 1', { amount: '0.99' }],
  ['three decimals', { amount: 25.505 }],
  ['a network that does not exist', { network: 'vodafone' }],
  ['a phone number without a digit', { phone: 'n/a' }],
  ['an email address without @', { customer_email: 'ama' }],
  ['a misspelt field', { curency: 'USD' }],
])('%s is refused before anything is sent', async (_, wrong) => {
  const { shop, requests } = world();
  const call = Reflect.apply(shop.payments.chargeMobileMoney, shop.payments, [
    { ...momo, ...wrong },
    unkeyed,
  ]);
  const error = await catchError(call);
  expect(error).toBeInstanceOf(InvalidInputError);
  expect(error).toMatchObject({ outcome: 'not_sent', issues: [{ path: Object.keys(wrong)[0] }] });
  expect(requests).toEqual([]);
});

test('all faults of an input are named together', async () => {
  const call = world().shop.payments.initialize({ amount: '0', customer_email: 'x', currency: 'cedi' });
  expect(await catchError(call)).toMatchObject({
    issues: [{ path: 'amount' }, { path: 'customer_email' }, { path: 'currency' }],
  });
});

test('maxAmount refuses pesewas that were taken for cedis', async () => {
  const { shop, requests } = world({ client: { maxAmount: '1000' } });
  expect(await catchError(shop.payments.initialize({ ...page, amount: 2550 }))).toBeInstanceOf(
    InvalidInputError,
  );
  expect(requests).toEqual([]);
});

test('a result is the unwrapped data, whose status is that of the payment', async () => {
  const { shop, service } = world();
  const { reference } = await shop.payments.chargeMobileMoney(momo, unkeyed);
  service.approve(reference);
  expect(await shop.payments.verify(reference)).toEqual({
    reference,
    status: 'success',
    amount: '25.50',
    currency: 'GHS',
    customer_email: momo.customer_email,
    paid_at: expect.stringMatching(/^\d{4}-/),
  });
});

test('an unrecognised status and unknown fields are kept', async () => {
  const data = { reference: 'TXN-1', status: 'on_hold', amount: 25.5, currency: 'GHS', fee: '0.10' };
  const { shop } = world({ respond: () => Response.json({ status: true, data }) });
  expect(await shop.payments.verify('TXN-1')).toEqual({
    ...data,
    status: 'unrecognised',
    raw_status: 'on_hold',
    amount: '25.50',
    customer_email: null,
    paid_at: null,
  });
});

test('expect refuses a payment of another amount', async () => {
  const { shop, service } = world();
  const { reference } = await shop.payments.chargeMobileMoney(momo, unkeyed);
  service.approve(reference);
  const wrong = shop.payments.verify(reference, { expect: { amount: '30.00', currency: 'GHS' } });
  expect(await catchError(wrong)).toMatchObject({ code: 'transaction_mismatch', outcome: null });
});

test('a checkout page must lead to its own transaction', async () => {
  const data = {
    ...{ reference: 'TXN-1', amount: '25.50', currency: 'GHS' },
    checkout_url: 'https://pay.example/checkout/TXN-2',
  };
  const { shop } = world({ respond: () => Response.json({ status: true, data }) });
  expect(await catchError(shop.payments.initialize(page))).toMatchObject({ code: 'transaction_mismatch' });
});

test('a checkout page is a web address, so that no script runs in its place', async () => {
  const data = {
    ...{ reference: 'TXN-1', amount: '25.50', currency: 'GHS' },
    checkout_url: 'javascript:alert(1)//TXN-1',
  };
  const { shop } = world({ respond: () => Response.json({ status: true, data }) });
  expect(await catchError(shop.payments.initialize(page))).toMatchObject({
    code: 'outcome_unknown',
    cause: { code: 'unexpected_response' },
  });
});

test('a header of a call takes the place of that of the client', async () => {
  const { sent, respond } = recordRequests();
  const { payments } = world({ respond, client: { headers: { 'x-shop': 'accra', 'x-till': '1' } } }).shop;
  await payments.initialize(page, { headers: { 'X-Shop': 'kumasi' } });
  expect([sent[0]?.headers.get('x-shop'), sent[0]?.headers.get('x-till')]).toEqual(['kumasi', '1']);
});

test('a function that returns no API key ends a call at its timeout', async () => {
  const { shop, clock, requests } = world({
    client: { apiKey: () => new Promise(() => {}), timeout: 5_000 },
  });
  const call = catchError(shop.payments.chargeMobileMoney(momo, unkeyed));
  const ended = await Promise.race([call, clock.pass(10_000)]);
  expect(ended).toMatchObject({ code: 'configuration_error', outcome: 'not_sent', retryable: true });
  expect(requests).toEqual([]);
});

test('a POST is repeated only if nothing was sent, or after a 429', async () => {
  const failing = (failure: () => Response) => {
    let count = 0;
    const begun = world({
      client: { maxRetries: 2 },
      respond: () => (++count === 1 ? failure() : undefined),
    });
    return { begun, call: begun.shop.payments.chargeMobileMoney(momo, unkeyed) };
  };
  const refused = failing(() => {
    throw connectionRefused;
  });
  const limited = failing(() => new Response('{}', { status: 429 }));
  const broken = failing(() => new Response('{}', { status: 502 }));
  await Promise.all([refused.call, limited.call, catchError(broken.call)]);
  expect([refused, limited, broken].map(({ begun }) => begun.posts.length)).toEqual([2, 2, 1]);
});

test('a read is repeated after a temporary error', async () => {
  const { shop, service, checks } = world({ client: { maxRetries: 2 } });
  const { reference } = await shop.payments.chargeMobileMoney(momo, unkeyed);
  service.fault('verify', { kind: 'status', status: 503 });
  service.fault('verify', { kind: 'truncated' });
  expect(await shop.payments.verify(reference)).toMatchObject({ reference });
  expect(checks).toHaveLength(3);
});

test.each([0, 1, 3])('a call sends one request, and at most %i retries', async (maxRetries) => {
  const { shop, checks, posts } = world({
    client: { maxRetries },
    respond: ({ method }) => new Response('{}', { status: method === 'GET' ? 503 : 429 }),
  });
  const calls = [shop.payments.verify('TXN-1'), shop.payments.chargeMobileMoney(momo, unkeyed)];
  expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect([checks.length, posts.length]).toEqual([maxRetries + 1, maxRetries + 1]);
});

test('a body that comes too slowly ends with the timeout', async () => {
  const { shop, service, clock } = world({ client: { timeout: 5_000 } });
  const { reference } = await shop.payments.chargeMobileMoney(momo, unkeyed);
  service.fault('verify', { kind: 'slowBody', interval: 1_000 });
  const before = clock.now;
  expect(await catchError(shop.payments.verify(reference))).toMatchObject({ code: 'request_timeout' });
  expect(clock.now - before).toBeLessThanOrEqual(5_000);
});

test.each([
  ['no API key', { apiKey: '' }],
  ['http to another machine', { baseUrl: 'http://payments.example/api/v1' }],
  ['credentials in the address', { baseUrl: 'https://user:word@payments.example/api/v1' }],
  ['a test key in live mode', { mode: 'live' }],
  ['a misspelt option', { apikey: 'x' }],
] as const)('a client with %s is refused', (_, wrong) => {
  const options = { apiKey: API_KEY, baseUrl: 'https://payments.example/api/v1', ...wrong };
  expect(() => Reflect.construct(PaymentsClient, [options])).toThrow(ConfigurationError);
});

test('events tell what was sent and how it ended, without a secret', async () => {
  const { shop, events } = world();
  await shop.payments.chargeMobileMoney(momo, unkeyed);
  expect(events.map(({ type }) => type)).toEqual(['request', 'response']);
  expect(JSON.stringify(events)).not.toMatch(/412|ama\.serwaa|sk_test/);
});

test('an onEvent that throws changes no result', async () => {
  const onEvent = () => {
    throw new Error('The metrics are away.');
  };
  const { shop } = world({ client: { onEvent } });
  expect(await shop.payments.initialize(page)).toMatchObject({ amount: '25.50' });
});
