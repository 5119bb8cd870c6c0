import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type FetchInit, PaymentsError, type PaymentsEvent } from '../../../src/index.ts';
import { calls, operationNames, REFERENCE } from '../../helpers/calls.ts';
import { CLOSED_PORT, createClientFor } from '../../helpers/raw-service.ts';
import {
  catchError,
  charge,
  respondFirst,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

const TIMEOUT = 10_000;

test('sends an id of its own with every attempt, and reports it in events', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const events: PaymentsEvent[] = [];
  const service = await startService(respondFirst(429));
  const client = service.client({ maxRetries: 1, onEvent: (event) => void events.push(event) });
  for (const operation of operationNames) await calls[operation](client);
  await client.check(REFERENCE);
  const ids = service.requests.map(({ headers }) => String(headers['x-request-id']));
  expect(new Set(ids).size).toBe(5);
  for (const id of ids) expect(id).toMatch(UUID);
  const [first, second] = ids;
  expect(events.slice(0, 5)).toMatchObject([
    { type: 'request', requestId: first },
    { type: 'response', requestId: first },
    { type: 'retry' },
    { type: 'request', requestId: second },
    { type: 'response', requestId: second },
  ]);
  expect(events.filter((event) => 'serviceRequestId' in event)).toEqual([]);
});

test.each(['x-request-id', 'X-Request-ID'])("lets the caller's own %s win", async (name) => {
  const service = await startService();
  await service.client({ headers: { [name]: 'order-17' } }).verify(REFERENCE);
  await service.client().verify(REFERENCE, { headers: { [name]: 'order-18' } });
  expect(service.requests.map(({ headers }) => headers['x-request-id'])).toEqual(['order-17', 'order-18']);
});

const other = successBodies.verify({ reference: 'TXN-other', amount: '1.00' });

test.each<[code: string, (response: ServerResponse) => unknown]>([
  ['connection_error', (response) => response.socket?.resetAndDestroy()],
  ['request_timeout', () => void vi.advanceTimersByTime(TIMEOUT)],
  ['server_error', (response) => sendJson(response, 503, {})],
  ['invalid_request', (response) => sendJson(response, 422, {})],
  ['unexpected_response', (response) => sendJson(response, 200, {})],
  ['transaction_mismatch', (response) => sendJson(response, 200, other)],
])('shows the id of the request on a %s, and on its cause', async (code, respond) => {
  // The time of a request passes once it has arrived.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const service = await startService(respond);
  const client = service.client({ timeout: TIMEOUT });
  const [onRead, onCharge] = [
    await catchError(client.verify(REFERENCE)),
    await catchError(client.chargeMobileMoney(charge)),
  ];
  const [readId, chargeId] = service.requests.map(({ headers }) => headers['x-request-id']);
  expect(onRead).toMatchObject({ code, requestId: readId });
  expect(onCharge).toMatchObject({ requestId: chargeId });
  const { cause } = Object(onCharge);
  if (cause instanceof PaymentsError) expect(cause.requestId).toBe(chargeId);
});

test('shows an id of a request that was not sent', async () => {
  const client = createClientFor(`http://127.0.0.1:${CLOSED_PORT}`)();
  const requestId = expect.stringMatching(UUID);
  expect(await catchError(client.chargeMobileMoney(charge))).toMatchObject({
    outcome: 'not_sent',
    requestId,
  });
});

test("shows the service's own id on an error instead, and both in events", async () => {
  const events: PaymentsEvent[] = [];
  const service = await startService((response) => sendJson(response, 422, {}, { 'x-request-id': 'req-7' }));
  const client = service.client({ onEvent: (event) => void events.push(event) });
  expect(await catchError(client.chargeMobileMoney(charge))).toMatchObject({ requestId: 'req-7' });
  const requestId = service.requests[0]?.headers['x-request-id'];
  expect(events).toMatchObject([
    { type: 'request', requestId },
    { type: 'response', requestId, serviceRequestId: 'req-7' },
  ]);
});

test.each([
  ['knows the id of 1,000 requests ago', 1_000, 'unknown'],
  ['forgets an id after 1,000 others, so that memory is bounded', 1_001, undefined],
] as const)('%s', async (_, before, outcome) => {
  const ids: string[] = [];
  const fetch = async (_: string, { headers }: FetchInit) => {
    ids.push(headers['x-request-id'] ?? '');
    const earlier = ids.at(-before) ?? '';
    if (ids.length < before) return Response.json(successBodies.verify());
    return Response.json(successBodies.chargeMobileMoney(), { headers: { 'x-request-id': earlier } });
  };
  const client = createClientFor('https://payments.example')({ fetch });
  for (let count = 1; count < before; count++) await client.verify(REFERENCE);
  const result = await client.chargeMobileMoney(charge).catch((error: unknown) => error);
  expect(result).toMatchObject(outcome ? { outcome } : { reference: REFERENCE, status: 'processing' });
});
