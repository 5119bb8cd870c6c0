import { getEventListeners } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { calls, posts, REFERENCE } from '../../helpers/calls.ts';
import { CLOSED_PORT, createClientFor, startRawService } from '../../helpers/raw-service.ts';
import { skipRetryDelays } from '../../helpers/retry-delays.ts';
import { catchError, sendJson, startService, successBodies } from '../../helpers/service.ts';

const operations = [...posts, 'verify'] as const;

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

test('leaves no listener on a signal that many calls share', async () => {
  const { signal } = new AbortController();
  const { onEvent } = skipRetryDelays();
  const service = await startService((response, _request, count) => {
    if (count % 4 === 1) return sendJson(response, 429, {});
    if (count % 4 === 2) return response.socket?.destroy();
    return sendJson(response, count % 4 === 3 ? 404 : 200, successBodies.verify());
  });
  const client = service.client({ onEvent, maxRetries: 1, apiKey: async () => 'sk_live_4vK9qLm2Xw7RtZ' });
  for (let round = 0; round < 10; round++) {
    await Promise.allSettled(operations.map((operation) => calls[operation](client, { signal })));
  }
  const refused = createClientFor(`http://127.0.0.1:${CLOSED_PORT}`)({ onEvent, maxRetries: 1 });
  await catchError(refused.verify(REFERENCE, { signal }));
  expect(service.requests.length).toBeGreaterThan(30);
  expect(listeners(signal)).toBe(0);
});

test('leaves no listener after a timeout, even if fetch or apiKey never ends', async () => {
  const { signal } = new AbortController();
  const hanging = () => new Promise<never>(() => {});
  const silent = await startRawService(() => {});
  const of = createClientFor('https://payments.example');
  const clients = [
    silent.client({ timeout: 20 }),
    of({ fetch: hanging, timeout: 20 }),
    of({ apiKey: hanging, timeout: 20 }),
  ];
  for (const client of clients) {
    for (const operation of operations) await catchError(calls[operation](client, { signal }));
  }
  expect(listeners(signal)).toBe(0);
});

test('has one listener on the signal while a call is in flight', async () => {
  const abort = new AbortController();
  const arrived = Promise.withResolvers<void>();
  const service = await startRawService(() => arrived.resolve());
  const call = catchError(service.client().verify(REFERENCE, { signal: abort.signal }));
  await arrived.promise;
  expect(listeners(abort.signal)).toBe(1);
  abort.abort();
  await call;
  expect(listeners(abort.signal)).toBe(0);
});

/** Counts only the timers of the client, not those of Node's fetch. */
const fetches = [
  async () => Response.json(successBodies.verify()),
  async () => Response.json({}, { status: 404 }),
  async () => new Response('<html>'),
  () => Promise.reject(new TypeError('fetch failed')),
  () => {
    throw new TypeError('fetch failed');
  },
];

test.each(fetches)('leaves no timer after a call that ends with: %s', async (fetch) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const apiKey = async () => 'sk_live_4vK9qLm2Xw7RtZ';
  const client = createClientFor('https://payments.example')({ fetch, apiKey });
  await Promise.allSettled(operations.map((operation) => calls[operation](client)));
  expect(vi.getTimerCount()).toBe(0);
});

test('leaves no timer after an abort, even if fetch or apiKey never ends', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  for (const hangs of ['fetch', 'apiKey', 'retry']) {
    const abort = new AbortController();
    const hanging = () => {
      setImmediate(() => abort.abort());
      return new Promise<never>(() => {});
    };
    const busy = async () => {
      setImmediate(() => setImmediate(() => abort.abort()));
      return Response.json({}, { status: 429, headers: { 'retry-after': '20' } });
    };
    const options = { fetch: { fetch: hanging }, apiKey: { apiKey: hanging }, retry: { fetch: busy } }[hangs];
    const client = createClientFor('https://payments.example')({ maxRetries: 1, ...options });
    await catchError(client.verify(REFERENCE, { signal: abort.signal }));
    expect(vi.getTimerCount()).toBe(0);
  }
});
