import { expect, onTestFinished, test, vi } from 'vitest';
import type { PaymentsEvent } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/index.ts';
import { calls, operationNames, posts, REFERENCE } from '../../helpers/calls.ts';
import { charged } from '../../helpers/keyed-calls.ts';
import { startRawService } from '../../helpers/raw-service.ts';
import { skipRetryDelays } from '../../helpers/retry-delays.ts';
import {
  API_KEY,
  catchError,
  charge,
  type Respond,
  respondFirst,
  sendJson,
  startService,
} from '../../helpers/service.ts';
import { world } from '../../helpers/world.ts';

/** It passes on a fake clock, and only once the request has arrived. */
const TIMEOUT = 10_000;

const withStatus =
  (status: number): Respond =>
  (response) =>
    sendJson(response, status, {});

/** What might have left a charge behind. Every status is in statuses.test.ts, and every cut in fault-sweep/. */
const temporary: [string, Respond][] = [
  ['a 408', withStatus(408)],
  ['a 503', withStatus(503)],
  ['a reset', (response) => response.socket?.resetAndDestroy()],
  ['a body that is no JSON', (response) => response.end('<html>')],
  ['a body over 1 MiB', (response) => response.end(' '.repeat(1024 * 1024 + 1))],
  ['a timeout', () => void vi.advanceTimersByTime(TIMEOUT)],
];

test.each(temporary)(
  'retries a read, and never a POST that might have arrived, after %s',
  async (_, fault) => {
    const { onEvent } = skipRetryDelays();
    for (const operation of operationNames) {
      const service = await startService(respondFirst(fault));
      const call = calls[operation](service.client({ maxRetries: 3, timeout: TIMEOUT, onEvent }));
      const unknown = { name: 'OutcomeUnknownError', outcome: 'unknown', retryable: false };
      if (operation === 'verify') expect(await call).toMatchObject({ status: 'success' });
      else expect(await catchError(call)).toMatchObject(unknown);
      expect(service.requests).toHaveLength(operation === 'verify' ? 2 : 1);
    }
  },
);

test.each(posts)('retries %s after a 429, with the same body', async (operation) => {
  const { onEvent } = skipRetryDelays();
  const service = await startService(respondFirst(429));
  const result = await calls[operation](service.client({ maxRetries: 1, onEvent }));
  expect(result).toMatchObject({ reference: REFERENCE });
  expect(service.requests).toHaveLength(2);
  expect(service.requests[0]?.body).toBe(service.requests[1]?.body);
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
  const client = service.client({ fetch: ownFetch, maxRetries: 5, onEvent });
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown' });
  expect(attempts).toBe(2);
});

test.for<[why: string, broken: 'mode' | 'journal', error: object]>([
  ['its API key is of another mode', 'mode', { code: 'configuration_error' }],
  ['the journal does not record it', 'journal', { code: 'journal_error' }],
])('sends no retry of a keyed call if %s', async ([, broken, error]) => {
  const store = memoryStore();
  let isBroken = false;
  const { shop, posts: sent } = world({
    respond: () => {
      isBroken = true;
      return new Response('{}', { status: 429 });
    },
    store: {
      ...store,
      write: async (...change) => {
        if (broken !== 'journal' || !isBroken) return await store.write(...change);
        isBroken = false;
        throw new Error('no database');
      },
    },
    client: {
      apiKey: () => (broken === 'mode' && isBroken ? 'sk_live_4vK9qLm2Xw7RtZ' : API_KEY),
      maxRetries: 1,
    },
  });
  const failure = await catchError(charged(shop.payments));
  expect(failure).toMatchObject({ ...error, operation: 'chargeMobileMoney', outcome: 'not_sent' });
  expect(sent).toHaveLength(1);
});

test.each([
  [undefined, undefined, 3],
  [0, undefined, 1],
  [4, undefined, 5],
  [4, 1, 2],
  [4, 0, 1],
])('with maxRetries %s, and %s of the call, makes %i requests', async (ofClient, ofCall, requests) => {
  const { onEvent } = skipRetryDelays();
  const service = await startService((response, _request, count) => sendJson(response, 500 + count, {}));
  const client = service.client({ maxRetries: ofClient, onEvent });
  const options = ofCall === undefined ? {} : { maxRetries: ofCall };
  expect(await catchError(client.verify(REFERENCE, options))).toMatchObject({ status: 500 + requests });
  expect(service.requests).toHaveLength(requests);
});

test.each([
  [0, [0, 0, 0, 0, 0, 0]],
  [0.5, [250, 500, 1000, 2000, 4000, 4000]],
  [1 - 2 ** -53, [500, 1000, 2000, 4000, 8000, 8000]],
])('doubles the backoff up to a cap, with full jitter: at random %d', async (random, expected) => {
  vi.spyOn(Math, 'random').mockReturnValue(random);
  const { delays, onEvent } = skipRetryDelays();
  const service = await startService(503);
  await catchError(service.client({ maxRetries: 6, onEvent }).verify(REFERENCE));
  expect(delays).toEqual(expected);
});

test.each<[status: number, header: string | undefined, delay: number]>([
  [429, '2', 2_250],
  [503, '2', 2_250],
  [408, '2', 2_250],
  [429, '30', 30_250],
  [429, 'Sat, 21 Nov 2026 10:15:07 GMT', 7_250],
  [429, undefined, 250],
  [429, '', 250],
  [429, '0', 250],
  [429, '-5', 250],
  [429, '1e3', 250],
  [429, 'Infinity', 250],
  [429, 'soon', 250],
  [429, 'Wed, 21 Oct 2015 07:28:00 GMT', 250],
  [429, 'Sat, 41 Nov 2026 10:15:07 GMT', 250],
])('after a %i with the Retry-After %j, waits for %i ms', async (status, header, expected) => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 10, 21, 10, 15, 0) });
  onTestFinished(() => void vi.useRealTimers());
  const service = await startService(status, {}, header === undefined ? {} : { 'retry-after': header });
  const abort = new AbortController();
  const delays: number[] = [];
  const onEvent = (event: PaymentsEvent) => {
    if (event.type !== 'retry') return;
    delays.push(event.delay);
    abort.abort();
  };
  await catchError(service.client({ maxRetries: 1, onEvent }).verify(REFERENCE, { signal: abort.signal }));
  expect(delays).toEqual([expected]);
});

test.each([
  ['31', 31_000],
  ['9'.repeat(30), 2 ** 31 - 1],
  ['Fri, 31 Dec 9999 23:59:59 GMT', 2 ** 31 - 1],
])('ends the call at once after a Retry-After over 30 seconds: %s', async (header, retryAfter) => {
  const service = await startService(429, {}, { 'retry-after': header });
  const abort = new AbortController();
  // A pause would last longer than the test.
  const onEvent = ({ type }: PaymentsEvent) => type === 'retry' && abort.abort();
  const client = service.client({ maxRetries: 5, onEvent });
  const { signal } = abort;
  for (const call of [client.verify(REFERENCE, { signal }), client.chargeMobileMoney(charge, { signal })])
    expect(await catchError(call)).toMatchObject({ name: 'RateLimitError', retryAfter, retryable: true });
  expect(service.requests).toHaveLength(2);
});

test('retries exactly when the delay has passed under fake timers', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const service = await startService(respondFirst(429, {}, { 'retry-after': '10' }));
  const announced = Promise.withResolvers<number>();
  const sent = vi.fn();
  const onEvent = (event: PaymentsEvent) => {
    if (event.type === 'request') sent();
    if (event.type === 'retry') announced.resolve(event.delay);
  };
  const call = service.client({ maxRetries: 1, onEvent }).verify(REFERENCE);
  expect(await announced.promise).toBe(10_250);
  await vi.advanceTimersByTimeAsync(10_249);
  expect(sent).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(await call).toMatchObject({ status: 'success' });
});
