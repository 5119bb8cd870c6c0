import { describe, expect, test, vi } from 'vitest';
import { calls, posts, REFERENCE } from '../../helpers/calls.ts';
import { CLOSED_PORT, createClientFor, startRawService } from '../../helpers/raw-service.ts';
import { skipRetryDelays } from '../../helpers/retry-delays.ts';
import {
  catchError,
  charge,
  type Respond,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';

/** Responds to the first request with a fault, and to later ones without. */
const failingOnce =
  (fault: Respond): Respond =>
  (response, request, count) => {
    if (count === 1) return fault(response, request, count);
    const operation = request.method === 'GET' ? 'verify' : 'chargeMobileMoney';
    return sendJson(response, 200, successBodies[operation]());
  };

const withStatus =
  (status: number, headers = {}): Respond =>
  (response) =>
    sendJson(response, status, {}, headers);

const cutShort: Respond = (response) => {
  response.writeHead(200, { 'content-length': 99 });
  response.write('{"sta', () => response.destroy());
};

/** It passes on a fake clock, and only once the request has arrived. */
const TIMEOUT = 10_000;

const temporary: [string, Respond][] = [
  ...[408, 425, 429, 500, 502, 503, 504, 599].map((status): [string, Respond] => [
    `${status}`,
    withStatus(status),
  ]),
  ['a reset', (response) => response.socket?.resetAndDestroy()],
  ['a body that is no JSON', (response) => response.end('<html>')],
  ['a body that is cut short', cutShort],
  ['a body without its fields', (response) => response.end('{"status":true}')],
  ['a body over 1 MiB', (response) => response.end(' '.repeat(1024 * 1024 + 1))],
  ['a timeout', () => void vi.advanceTimersByTime(TIMEOUT)],
];

describe('retries verify after', () => {
  test.each(temporary)('%s', async (_what, fault) => {
    const { onEvent } = skipRetryDelays();
    const service = await startService(failingOnce(fault));
    const client = service.client({ maxRetries: 1, onEvent, timeout: TIMEOUT });
    expect(await client.verify(REFERENCE)).toMatchObject({ status: 'success' });
    expect(service.requests).toHaveLength(2);
  });
});

describe('never retries a POST that might have arrived, after', () => {
  const unknownPosts = temporary.filter(([what]) => !['425', '429'].includes(what));
  test.each(unknownPosts)('%s', async (_what, fault) => {
    skipRetryDelays();
    const service = await startService(failingOnce(fault));
    for (const [index, operation] of posts.entries()) {
      const client = service.client({ maxRetries: 5, timeout: TIMEOUT });
      if (index > 0) service.requests.length = 0;
      const failure = await catchError(calls[operation](client));
      expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown', retryable: false });
      expect(service.requests).toHaveLength(1);
    }
  });
});

test.each([400, 401, 402, 403, 404, 409, 422, 425])(
  'does not retry a POST refused with %i',
  async (status) => {
    const service = await startService(withStatus(status));
    const failure = await catchError(service.client({ maxRetries: 5 }).chargeMobileMoney(charge));
    expect(failure).toMatchObject({ status, outcome: 'rejected' });
    expect(service.requests).toHaveLength(1);
  },
);

test.each([400, 401, 403, 404, 409, 422])('does not retry verify after a %i', async (status) => {
  const service = await startService(withStatus(status));
  await catchError(service.client({ maxRetries: 5 }).verify(REFERENCE));
  expect(service.requests).toHaveLength(1);
});

test.each(posts)('retries %s after a 429, with the same body', async (operation) => {
  const { onEvent } = skipRetryDelays();
  const service = await startService((response, _request, count) =>
    count === 1 ? sendJson(response, 429, {}) : sendJson(response, 200, successBodies[operation]()),
  );
  const result = await calls[operation](service.client({ maxRetries: 1, onEvent }));
  expect(result).toMatchObject({ reference: REFERENCE });
  expect(service.requests).toHaveLength(2);
  expect(service.requests[0]?.body).toBe(service.requests[1]?.body);
});

test('retries a charge if no connection was made', async () => {
  const { delays, onEvent } = skipRetryDelays();
  const client = createClientFor(`http://127.0.0.1:${CLOSED_PORT}/api/v1`)({ maxRetries: 3, onEvent });
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'ConnectionError', outcome: 'not_sent', retryable: true });
  expect(delays).toHaveLength(3);
});

test('reports unknown after a refused and then a broken connection', async () => {
  const { onEvent } = skipRetryDelays();
  const service = await startRawService((socket) => socket.resetAndDestroy());
  let attempts = 0;
  const { hostname: address, port } = new URL(service.baseUrl);
  const about = { code: 'ECONNREFUSED', syscall: 'connect', address, port: Number(port) };
  const refused = Object.assign(new Error('refused'), about);
  const ownFetch: typeof fetch = (...request) =>
    ++attempts === 1 ? Promise.reject(refused) : fetch(...request);
  const failure = await catchError(
    service.client({ fetch: ownFetch, maxRetries: 5, onEvent }).chargeMobileMoney(charge),
  );
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown' });
  expect(attempts).toBe(2);
});

test.each([
  [undefined, 3],
  [0, 1],
  [4, 5],
])('maxRetries %s makes at most %i requests', async (maxRetries, requests) => {
  const { onEvent } = skipRetryDelays();
  const service = await startService(withStatus(503));
  await catchError(service.client({ maxRetries, onEvent }).verify(REFERENCE));
  expect(service.requests).toHaveLength(requests);
});

test("replaces the client's maxRetries with the call's", async () => {
  const { onEvent } = skipRetryDelays();
  const service = await startService(withStatus(503));
  const client = service.client({ maxRetries: 4, onEvent });
  await catchError(client.verify(REFERENCE, { maxRetries: 1 }));
  expect(service.requests).toHaveLength(2);
  await catchError(client.verify(REFERENCE, { maxRetries: 0 }));
  expect(service.requests).toHaveLength(3);
});

test('throws the last error', async () => {
  const { onEvent } = skipRetryDelays();
  const service = await startService((response, _request, count) => sendJson(response, 500 + count, {}));
  expect(await catchError(service.client({ maxRetries: 2, onEvent }).verify(REFERENCE))).toMatchObject({
    status: 503,
  });
});

test('sends one request for a check, whatever maxRetries is', async () => {
  const service = await startService(503);
  const client = service.client({ maxRetries: 3 });
  expect(await catchError(client.check(REFERENCE, { maxRetries: 3 }))).toMatchObject({ status: 503 });
  expect(await catchError(client.check(REFERENCE))).toMatchObject({ retryable: true });
  expect(service.requests).toHaveLength(2);
});
