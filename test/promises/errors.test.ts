/** Every failure says what may have happened to the money: `outcome`, `nextStep`. */

import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import {
  APIError,
  isPaymentsError,
  OutcomeUnknownError,
  PaymentsClient,
  TransactionMismatchError,
} from '../../src/index.ts';
import { API_KEY, catchError } from '../helpers/service.ts';
import { connectionRefused, momo, type Respond, world } from '../helpers/world.ts';

const unkeyed = { idempotencyKey: null };
const reset = new TypeError('fetch failed', {
  cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
});
const respondWith =
  (status: number, body: BodyInit | null = '{"message":"no"}', headers = {}): Respond =>
  () =>
    new Response(body, { status, headers });
const throwError =
  (error: unknown): Respond =>
  () => {
    throw error;
  };

async function failCharge(respond: Respond): Promise<unknown> {
  return await catchError(world({ respond }).shop.payments.chargeMobileMoney(momo, unkeyed));
}

async function failRead(respond: Respond): Promise<unknown> {
  return await catchError(world({ respond }).shop.payments.verify('TXN-1'));
}

test.each([
  ['a refused connection', throwError(connectionRefused), 'connection_error', 'not_sent', 'retry'],
  ['a reset connection', throwError(reset), 'outcome_unknown', 'unknown', 'review'],
  ['400', respondWith(400), 'invalid_request', 'rejected', 'correct'],
  ['401', respondWith(401), 'authentication_error', 'rejected', 'correct'],
  ['403', respondWith(403), 'permission_denied', 'rejected', 'correct'],
  ['404', respondWith(404), 'not_found', 'rejected', 'correct'],
  ['408', respondWith(408), 'outcome_unknown', 'unknown', 'review'],
  ['409', respondWith(409), 'conflict', 'rejected', 'correct'],
  ['422', respondWith(422), 'invalid_request', 'rejected', 'correct'],
  ['429', respondWith(429), 'rate_limited', 'rejected', 'retry'],
  ['499, which is not registered', respondWith(499), 'outcome_unknown', 'unknown', 'review'],
  [
    'a redirect',
    respondWith(307, null, { location: 'https://other.example' }),
    'outcome_unknown',
    'unknown',
    'review',
  ],
  ['500', respondWith(500), 'outcome_unknown', 'unknown', 'review'],
  ['an HTML page with 200', respondWith(200, '<html>'), 'outcome_unknown', 'unknown', 'review'],
  ['status: false', respondWith(200, '{"status":false}'), 'api_error', 'rejected', 'correct'],
  [
    'a refusal that names a transaction',
    respondWith(400, '{"reference":"TXN-9"}'),
    'outcome_unknown',
    'unknown',
    'review',
  ],
] as const)('a charge that ends with %s', async (_, respond, code, outcome, nextStep) => {
  expect(await failCharge(respond)).toMatchObject({ code, outcome, nextStep });
});

test.each([
  ['a reset connection', throwError(reset), 'connection_error', 'check'],
  ['401', respondWith(401), 'authentication_error', 'correct'],
  ['404', respondWith(404), 'not_found', 'correct'],
  ['503', respondWith(503), 'server_error', 'check'],
  ['an HTML page with 200', respondWith(200, '<html>'), 'unexpected_response', 'check'],
] as const)('a read that ends with %s says nothing about the money', async (_, respond, code, nextStep) => {
  expect(await failRead(respond)).toMatchObject({ code, outcome: null, nextStep });
});

test('a response with another amount is a mismatch that keeps the transaction', async () => {
  const { shop, service } = world();
  service.fault('chargeMobileMoney', { kind: 'wrongAmount', amount: '12.00' });
  const error = await catchError(shop.payments.chargeMobileMoney(momo, unkeyed));
  expect(error).toBeInstanceOf(TransactionMismatchError);
  expect(error).toMatchObject({
    outcome: 'unknown',
    nextStep: 'review',
    reference: service.charges[0]?.reference,
  });
});

test('an abort before anything was sent rejects with its own reason', async () => {
  const reason = new Error('The request ended.');
  const call = world().shop.payments.chargeMobileMoney(momo, {
    ...unkeyed,
    signal: AbortSignal.abort(reason),
  });
  expect(await catchError(call)).toBe(reason);
});

test('an abort of a charge in flight leaves its outcome unknown', async () => {
  const ending = new AbortController();
  const reason = new Error('The request ended.');
  const { shop } = world({
    respond() {
      ending.abort(reason);
      throw reason;
    },
  });
  const error = await catchError(
    shop.payments.chargeMobileMoney(momo, { ...unkeyed, signal: ending.signal }),
  );
  expect(error).toBeInstanceOf(OutcomeUnknownError);
  expect(error).toMatchObject({ cause: reason });
});

test('an error narrows by its code, with what the service said', async () => {
  const error = await failCharge(respondWith(429, '{"message":"Slow down."}', { 'retry-after': '7' }));
  expect(isPaymentsError(error) && error.code === 'rate_limited' && error.retryAfter).toBe(7_000);
  expect(error).toBeInstanceOf(APIError);
  expect(error).toMatchObject({ status: 429, serviceMessage: 'Slow down.' });
});

test('no error, event or printed client holds the API key, phone or email', async () => {
  const echo: Respond = async (request) => {
    const said = { message: `${request.headers.get('authorization')} ${await request.clone().text()}` };
    return new Response(JSON.stringify(said), { status: 400 });
  };
  const { shop, events } = world({ respond: echo });
  const error = await catchError(shop.payments.chargeMobileMoney(momo, unkeyed));
  const client = new PaymentsClient({ apiKey: API_KEY, baseUrl: 'https://payments.example/api/v1' });
  for (const shown of [error, events, client])
    for (const text of [inspect(shown, { depth: 9, showHidden: true }), JSON.stringify(shown)])
      for (const secret of [API_KEY, '412 3456', 'ama.serwaa']) expect(text).not.toContain(secret);
});

test('shows no API key in the reference of an event', async () => {
  const { shop, events } = world({ respond: () => new Response('no', { status: 404 }) });
  await catchError(shop.payments.waitForFinalStatus(`TXN-${API_KEY}`, { timeout: 60_000 }));
  expect(events.length).toBeGreaterThan(1);
  expect(JSON.stringify(events)).not.toContain(API_KEY);
});
