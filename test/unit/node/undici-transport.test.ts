import { randomBytes } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { getEventListeners, once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { HttpResponse, http } from 'msw';
import { setupServer } from 'msw/node';
import { Agent } from 'undici';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ConfigurationError, PaymentsClient, type PaymentsClientOptions } from '../../../src/index.ts';
import { type UndiciTransportOptions, undiciTransport } from '../../../src/node/index.ts';
import { calls, REFERENCE } from '../../helpers/calls.ts';
import { startRawService } from '../../helpers/raw-service.ts';
import {
  API_KEY,
  catchError,
  charge,
  type Service,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';
import { flushEventLoop } from '../../helpers/tcp-service.ts';

const MiB = 1024 * 1024;
/** On a fake clock, in milliseconds. */
const TIMEOUT = 30_000;

function clientOver(
  service: Pick<Service, 'client'>,
  options?: UndiciTransportOptions,
  others?: PaymentsClientOptions,
): PaymentsClient {
  const transport = undiciTransport(options);
  onTestFinished(() => transport.close());
  return service.client({ transport, ...others });
}

test('sends what fetch sends, and nothing that undici adds', async () => {
  const service = await startService();
  const byFetch = await startService();
  const headers = { 'x-shop': 'accra' };
  const clients = [clientOver(service, {}, { headers }), byFetch.client({ headers })];
  for (const client of clients) {
    for (const operation of ['initialize', 'chargeMobileMoney', 'verify'] as const)
      await calls[operation](client);
  }
  const own = ['host', 'connection', 'accept', 'accept-encoding', 'user-agent', 'authorization'].concat(
    'x-request-id',
    'x-shop',
  );
  const ofBody = ['content-type', 'content-length'];
  for (const [index, { headers, ...request }] of service.requests.entries()) {
    const { headers: fetched, ...same } = byFetch.requests[index] ?? { headers: {} };
    expect(request).toEqual(same);
    expect(Object.keys(headers).sort()).toEqual([...own, ...(request.body ? ofBody : [])].sort());
    const others = { host: expect.anything(), 'x-request-id': expect.stringMatching(/^[\da-f-]{36}$/) };
    expect(fetched).toMatchObject({ ...headers, ...others });
  }
  expect(service.requests).toHaveLength(3);
});

test('sends past the global fetch and MSW', async () => {
  const service = await startService();
  const seen = vi.spyOn(globalThis, 'fetch');
  const server = setupServer(
    http.all('*', () => HttpResponse.json(successBodies.verify({ status: 'failed' }))),
  );
  server.listen();
  onTestFinished(() => server.close());
  expect(await clientOver(service).verify(REFERENCE)).toMatchObject({ status: 'success' });
  expect(seen).not.toHaveBeenCalled();
  expect(service.requests).toHaveLength(1);
});

test('publishes undici:request:create, as OpenTelemetry needs', async () => {
  const service = await startService();
  const paths: string[] = [];
  const note = (message: unknown) => {
    const { request } = message as { request: { method: string; path: string } };
    paths.push(`${request.method} ${request.path}`);
  };
  subscribe('undici:request:create', note);
  onTestFinished(() => void unsubscribe('undici:request:create', note));
  const client = clientOver(service);
  await client.chargeMobileMoney(charge);
  await client.verify(REFERENCE);
  expect(paths).toEqual([
    'POST /api/v1/transactions/charge-mobile-money',
    `GET /api/v1/transactions/verify/${REFERENCE}`,
  ]);
});

test('reuses connections, and opens at most `connections`', async () => {
  const service = await startService();
  let opened = 0;
  service.server.on('connection', () => opened++);
  const client = clientOver(service, { connections: 2 });
  await Promise.all(Array.from({ length: 12 }, () => client.verify(REFERENCE)));
  expect(opened).toBe(2);
});

test('never sends a charge that timed out waiting for a connection', async () => {
  const held = Promise.withResolvers<void>();
  const service = await startService(async (response, { method }) => {
    if (method === 'GET') await held.promise;
    sendJson(response, 200, method === 'GET' ? successBodies.verify() : successBodies.chargeMobileMoney());
  });
  const client = clientOver(service, { connections: 1 });
  const holding = client.verify(REFERENCE);
  await vi.waitFor(() => expect(service.requests).toHaveLength(1));
  const failure = await catchError(client.chargeMobileMoney(charge, { timeout: 30 }));
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown' });
  held.resolve();
  await holding;
  await client.verify(REFERENCE);
  expect(service.requests.map(({ method }) => method)).toEqual(['GET', 'GET']);
});

test.each([
  ['1 s, which is too short to be safe: it is not used again', 'timeout=1', 2],
  ['30 s: it is used again', 'timeout=30', 1],
])('keeps an idle connection for %s', async (_what, hint, expected) => {
  let opened = 0;
  const service = await startService(200, successBodies.verify(), { 'keep-alive': hint });
  service.server.on('connection', () => opened++);
  const client = clientOver(service);
  await client.verify(REFERENCE);
  await flushEventLoop();
  await client.verify(REFERENCE);
  expect(opened).toBe(expected);
});

test('reads an endless encoded body no faster than it is decoded', async () => {
  const { setTimeout: setRealTimeout } = globalThis;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const stopped = Promise.withResolvers<void>();
  const nothing = Buffer.concat(Array.from({ length: 4_096 }, () => gzipSync('')));
  const before = process.memoryUsage().arrayBuffers;
  let [poured, most] = [0, 0];
  const service = await startService((response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    function* pieces() {
      for (; poured < 4_096 * MiB; poured += nothing.length) {
        most = Math.max(most, process.memoryUsage().arrayBuffers - before);
        yield nothing;
      }
    }
    pipeline(Readable.from(pieces()), response).then(stopped.resolve, stopped.resolve);
    setRealTimeout(() => vi.advanceTimersByTime(TIMEOUT), 2_500);
  });
  const failure = await catchError(clientOver(service).chargeMobileMoney(charge, { timeout: TIMEOUT }));
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', cause: { name: 'RequestTimeoutError' } });
  await stopped.promise;
  expect(poured).toBeLessThan(4_096 * MiB);
  expect(most).toBeLessThan(128 * MiB);
});

test.each<[string, (text: string) => Buffer]>([
  ['gzip', gzipSync],
  ['gzip, br', (text) => brotliCompressSync(gzipSync(text))],
])('reads a long body in %s to its end', async (encoding, pack) => {
  // It is not made shorter, so it fills what the decompressor takes at once.
  const more = randomBytes(300_000).toString('hex');
  const packed = pack(JSON.stringify({ ...successBodies.chargeMobileMoney(), more }));
  const service = await startService(200, packed, { 'content-encoding': encoding });
  const charged = clientOver(service).chargeMobileMoney(charge, { timeout: 5_000 });
  expect(await charged.catch((error: unknown) => error)).toMatchObject({ reference: REFERENCE });
});

test('frees the connection of a long body that cannot be decoded', async () => {
  const service = await startService(200, randomBytes(1_000_000), { 'content-encoding': 'gzip' });
  const transport = undiciTransport();
  const failure = await catchError(service.client({ transport }).chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', cause: { name: 'ConnectionError' } });
  const onClosed = vi.fn();
  void transport.close().then(onClosed);
  await vi.waitFor(() => expect(onClosed).toHaveBeenCalledOnce());
});

test('finds a transaction in the second of two headers of one name', async () => {
  const links = ['</help>', `</transactions/verify/${REFERENCE}>`];
  const service = await startService((response) => response.writeHead(409, { link: links }).end());
  const failure = await catchError(clientOver(service).chargeMobileMoney(charge));
  expect(failure).toMatchObject({ outcome: 'unknown', reference: REFERENCE });
});

test("sends over the merchant's dispatcher, and close() leaves it open", async () => {
  const service = await startService();
  const dispatcher = new Agent();
  onTestFinished(() => dispatcher.close());
  const dispatched = vi.spyOn(dispatcher, 'dispatch');
  const transport = undiciTransport({ dispatcher });
  const client = service.client({ transport });
  await client.verify(REFERENCE);
  await transport.close();
  await client.verify(REFERENCE);
  expect(dispatched).toHaveBeenCalledTimes(2);
});

test('lets requests in flight end on close(), and takes no more', async () => {
  const held = Promise.withResolvers<void>();
  const service = await startService(async (response, _request, count) => {
    if (count === 1) await held.promise;
    sendJson(response, 200, successBodies.verify());
  });
  const gone = once(service.server, 'connection').then(([socket]) => once(socket, 'close'));
  const transport = undiciTransport();
  const client = service.client({ transport });
  const call = client.verify(REFERENCE);
  await vi.waitFor(() => expect(service.requests).toHaveLength(1));
  const closed = transport.close();
  held.resolve();
  expect(await call).toMatchObject({ status: 'success' });
  await Promise.all([closed, gone]);
  expect(await catchError(client.verify(REFERENCE))).toMatchObject({ name: 'ConnectionError' });
  expect(service.requests).toHaveLength(1);
});

test('leaves no listener on a signal that outlives its requests', async () => {
  const service = await startService((response, _, count) => {
    if (count === 2) response.socket?.destroy();
    else sendJson(response, 200, { filler: 'a'.repeat(count === 3 ? MiB : 0) });
  });
  const transport = undiciTransport();
  onTestFinished(() => transport.close());
  const { signal } = new AbortController();
  const request = { method: 'GET', url: service.baseUrl, headers: {}, body: undefined, signal } as const;
  const send = (isWanted: boolean) => transport.send(request, { onHeaders() {}, onData: () => isWanted });
  await send(true);
  await catchError(send(true));
  await send(false);
  expect(service.requests).toHaveLength(3);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test.each([407, 421])('reports rejected after a %i, and sends once', async (status) => {
  const service = await startService(status, { message: 'No.' });
  const failure = await catchError(clientOver(service).chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'APIError', status, outcome: 'rejected', retryable: false });
  expect(service.requests).toHaveLength(1);
});

test('takes no body in an unknown encoding for a response', async () => {
  const service = await startRawService((socket) => {
    socket.end('HTTP/1.1 200 OK\r\ncontent-encoding: pack\r\ncontent-length: 4\r\n\r\n\x01\x02\x03\x04');
  });
  const failure = await catchError(clientOver(service).chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', cause: { name: 'UnexpectedResponseError' } });
});

test.each([
  ['connections: 0', { connections: 0 }],
  ['connections: 1.5', { connections: 1.5 }],
  ['a dispatcher that is none', { dispatcher: {} }],
  ['connections beside a dispatcher', { connections: 1, dispatcher: new Agent() }],
  ['an option that there is not', { connection: 1 }],
])('refuses %s in undiciTransport', (_what, options) => {
  expect(() => undiciTransport(options as UndiciTransportOptions)).toThrow(ConfigurationError);
});

test.each([
  ['something else than a transport', { transport: {} }],
  ['a fetch beside a transport', { transport: undiciTransport(), fetch }],
])('refuses %s in the client', (_what, options) => {
  const others = { apiKey: API_KEY, baseUrl: 'https://payments.example' };
  expect(() => new PaymentsClient({ ...others, ...(options as PaymentsClientOptions) })).toThrow(
    ConfigurationError,
  );
});
