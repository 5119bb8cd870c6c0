import { expect, onTestFinished, test, vi } from 'vitest';
import {
  type FetchInit,
  type PaymentsClient,
  PaymentsError,
  type PaymentsEvent,
} from '../../../src/index.ts';
import { calls, REFERENCE } from '../../helpers/calls.ts';
import { CLOSED_PORT, createClientFor, startRawService } from '../../helpers/raw-service.ts';
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

const operations = ['initialize', 'chargeMobileMoney', 'verify'] as const;

const startWholeService = () =>
  startService((response, { path }) => {
    const operation = operations.find((name) =>
      path.includes(name === 'chargeMobileMoney' ? 'charge' : name),
    );
    sendJson(response, 200, successBodies[operation ?? 'verify']());
  });

test('sends an X-Request-Id of its own with every request', async () => {
  const service = await startWholeService();
  const client = service.client();
  for (let round = 0; round < 2; round++) {
    for (const operation of operations) await calls[operation](client);
    await client.check(REFERENCE);
  }
  const ids = service.requests.map(({ headers }) => String(headers['x-request-id']));
  expect(ids).toHaveLength(8);
  expect(new Set(ids).size).toBe(8);
  for (const id of ids) expect(id).toMatch(UUID);
});

test('sends a new id with each attempt, and reports it in events', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const events: PaymentsEvent[] = [];
  const service = await startService(respondFirst(429));
  const onEvent = (event: PaymentsEvent) => void events.push(event);
  await service.client({ maxRetries: 1, onEvent }).chargeMobileMoney(charge);
  const [first, second] = service.requests.map(({ headers }) => headers['x-request-id']);
  expect(first).not.toBe(second);
  expect(events).toMatchObject([
    { type: 'request', requestId: first },
    { type: 'response', requestId: first },
    { type: 'retry' },
    { type: 'request', requestId: second },
    { type: 'response', requestId: second },
  ]);
  expect(events.filter((event) => 'serviceRequestId' in event)).toEqual([]);
});

test.each(['x-request-id', 'X-Request-ID'])("lets the caller's own %s win", async (name) => {
  const service = await startWholeService();
  await service.client({ headers: { [name]: 'order-17' } }).verify(REFERENCE);
  await service.client().verify(REFERENCE, { headers: { [name]: 'order-18' } });
  expect(service.requests.map(({ headers }) => headers['x-request-id'])).toEqual(['order-17', 'order-18']);
});

test.each(['initialize', 'chargeMobileMoney', 'verify'] as const)(
  'shows the id of %s on every error of a request',
  async (operation) => {
    // The time of a request passes once it has arrived.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const idOf = async (client: PaymentsClient) => {
      const failure = await catchError(calls[operation](client));
      if (!(failure instanceof PaymentsError)) throw failure;
      if (failure.cause instanceof PaymentsError) expect(failure.cause.requestId).toBe(failure.requestId);
      return [failure.code, failure.requestId];
    };
    const findSentId = (requests: string[]) => /^x-request-id: (.*)$/im.exec(requests.at(-1) ?? '')?.[1];
    const raw = async (bytes: string | undefined, options = {}) => {
      const service = await startRawService((socket) => {
        if (bytes === undefined) socket.resetAndDestroy();
        else if (bytes === '') vi.advanceTimersByTime(TIMEOUT);
        else socket.write(bytes);
      });
      const [code, id] = await idOf(service.client(options));
      expect([code, id]).toEqual([code, findSentId(service.requests)]);
      return code;
    };
    const sized = (text: string) => `content-length: ${text.length}\r\n\r\n${text}`;
    const other = JSON.stringify(successBodies[operation]({ reference: 'TXN-other', amount: '1.00' }));
    const codes = [
      await raw(undefined),
      await raw('', { timeout: TIMEOUT }),
      await raw(`HTTP/1.1 503 Busy\r\n${sized('')}`),
      await raw(`HTTP/1.1 422 No\r\n${sized('')}`),
      await raw(`HTTP/1.1 200 OK\r\n${sized('{}')}`),
      await raw(`HTTP/1.1 200 OK\r\n${sized(other)}`),
    ];
    const unknownCode = 'outcome_unknown';
    const isRead = operation === 'verify';
    expect(codes).toEqual([
      isRead ? 'connection_error' : unknownCode,
      isRead ? 'request_timeout' : unknownCode,
      isRead ? 'server_error' : unknownCode,
      'invalid_request',
      isRead ? 'unexpected_response' : unknownCode,
      'transaction_mismatch',
    ]);
    const refused = await idOf(createClientFor(`http://127.0.0.1:${CLOSED_PORT}`)());
    expect(refused).toEqual(['connection_error', expect.stringMatching(UUID)]);
  },
);

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

test('prevents a cached response of one charge for another', async () => {
  const service = await startService((response, _, count) =>
    sendJson(response, 200, successBodies.chargeMobileMoney({ reference: `TXN-${count}` })),
  );
  const own = globalThis.fetch;
  const cached = new Map<string, Response>();
  // As Next.js does under `force-cache`: requests that are equal in all of it share a response.
  vi.stubGlobal('fetch', async (request: Request, init: RequestInit) => {
    const { url, method, headers } = request;
    const key = JSON.stringify([url, method, [...headers], await request.clone().text()]);
    const response = cached.get(key) ?? (await own(request, init));
    cached.set(key, response);
    return response.clone();
  });
  const client = service.client();
  const charges = [await client.chargeMobileMoney(charge), await client.chargeMobileMoney(charge)];
  vi.unstubAllGlobals();
  expect(charges).toMatchObject([{ reference: 'TXN-1' }, { reference: 'TXN-2' }]);
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
