import { getEventListeners } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  ClosedError,
  type Fetch,
  type PaymentsClient,
  type PaymentsClientOptions,
  type PaymentsEvent,
} from '../../../src/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { linkSignals } from '../../../src/support/timing.ts';
import { calls, operationNames, REFERENCE } from '../../helpers/calls.ts';
import { listenForTest } from '../../helpers/listen.ts';
import { CLOSED_PORT, createClientFor, startRawService } from '../../helpers/raw-service.ts';
import { skipRetryDelays } from '../../helpers/retry-delays.ts';
import {
  catchError,
  charge,
  respondFirst,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';
import { flushEventLoop } from '../../helpers/tcp-service.ts';

const reason = new Error('the customer left');
const createClient = createClientFor('https://payments.example');

test.each<[string, (abort: AbortController) => object]>([
  [
    'before the call',
    (abort) => {
      abort.abort(reason);
      return {};
    },
  ],
  ['while apiKey is pending', (abort) => ({ apiKey: () => pendingAfter(() => abort.abort(reason)) })],
  [
    'right before the request',
    (abort) => ({
      apiKey: async () => {
        queueMicrotask(() => abort.abort(reason));
        return 'sk_live_4vK9qLm2Xw7RtZ';
      },
    }),
  ],
  [
    'by a listener of the request event',
    (abort) => ({ onEvent: ({ type }: PaymentsEvent) => type === 'request' && abort.abort(reason) }),
  ],
])('rejects with the reason and sends nothing if aborted %s', async (_when, options) => {
  for (const operation of operationNames) {
    const abort = new AbortController();
    const service = await startService(200);
    const client = service.client(options(abort));
    let failure: unknown;
    void catchError(calls[operation](client, { signal: abort.signal })).then((error) => {
      failure = error;
    });
    // A call that hangs fails here.
    await expect.poll(() => failure).toBe(reason);
    expect(service.requests).toEqual([]);
  }
});

function pendingAfter(act: () => void): Promise<never> {
  setImmediate(act);
  return new Promise(() => {});
}

test.each<[string, unknown]>([
  ['an error', reason],
  ['an object', { why: 'the customer left' }],
  ['text', 'the customer left'],
  ['null', null],
  ["the platform's AbortError", undefined],
])('rejects with the reason as it is: %s', async (_what, given) => {
  const aborted = AbortSignal.abort(given);
  expect(await catchError(createClient().verify(REFERENCE, { signal: aborted }))).toBe(aborted.reason);
  const abort = new AbortController();
  const fetch = () => pendingAfter(() => abort.abort(given));
  const failure = await catchError(createClient({ fetch }).verify(REFERENCE, { signal: abort.signal }));
  expect(failure).toBe(abort.signal.reason);
});

test.each<[string, (socket: Socket, abort: () => void) => void]>([
  ['before the headers', (_, abort) => abort()],
  [
    'amid the body',
    (socket, abort) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{"status":tr');
      setTimeout(abort, 20);
    },
  ],
])('leaves a POST unknown and closes the connection after an abort %s', async (_when, respond) => {
  for (const operation of operationNames) {
    const abort = new AbortController();
    const closed = Promise.withResolvers<void>();
    const service = await startRawService((socket) => {
      socket.on('close', () => closed.resolve());
      respond(socket, () => abort.abort(reason));
    });
    const call = calls[operation](service.client({ maxRetries: 3 }), { signal: abort.signal });
    expectAborted(operation, await catchError(call));
    expect(service.requests).toHaveLength(1);
    await closed.promise;
  }
});

function expectAborted(operation: (typeof operationNames)[number], failure: unknown) {
  if (operation === 'verify') return expect(failure).toBe(reason);
  const unknown = { name: 'OutcomeUnknownError', operation, outcome: 'unknown', retryable: false };
  expect(failure).toMatchObject(unknown);
  return expect(Object(failure).cause).toBe(reason);
}

test('proves nothing by an abort while connecting', async () => {
  for (const operation of operationNames) {
    const abort = new AbortController();
    const server = createServer((socket) => socket.once('data', () => abort.abort(reason)));
    const client = createClientFor(`https://127.0.0.1:${await listenForTest(server)}/api/v1`)();
    expectAborted(operation, await catchError(calls[operation](client, { signal: abort.signal })));
  }
});

/** Starts a service that responds 429 once, and `onRetry` at the event of the retry. */
async function startBusy(onRetry: () => void, options = {}) {
  const service = await startService(respondFirst(429, {}, { 'retry-after': '25' }));
  const onEvent = ({ type }: PaymentsEvent) => type === 'retry' && onRetry();
  return { service, client: service.client({ maxRetries: 3, onEvent, ...options }) };
}

test.each(operationNames)(
  'rejects %s at once if aborted during the delay before a retry',
  async (operation) => {
    const abort = new AbortController();
    const { service, client } = await startBusy(() => setImmediate(() => abort.abort(reason)));
    expect(await catchError(calls[operation](client, { signal: abort.signal }))).toBe(reason);
    expect(service.requests).toHaveLength(1);
  },
);

test.each(operationNames)('ends the delay before a retry of %s on close()', async (operation) => {
  const journal = memoryJournal();
  const { service, client } = await startBusy(() => setImmediate(() => client.close()), { journal });
  const key = { idempotencyKey: 'order-17' };
  const call = operation === 'verify' ? client.verify(REFERENCE) : calls[operation](client, Object(key));
  const failure = await catchError(call);
  expect(failure).toBeInstanceOf(ClosedError);
  expect(failure).toMatchObject({ operation });
  expect(service.requests).toHaveLength(1);
  if (operation !== 'verify') expect(await journal.read('order-17')).toMatchObject({ state: 'not_sent' });
});

test('sends nothing if close() is called while the apiKey is pending', async () => {
  const service = await startService();
  const client: PaymentsClient = service.client({
    apiKey: async () => {
      client.close();
      return 'sk_live_late';
    },
  });
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toMatchObject({ code: 'closed', outcome: 'not_sent' });
  expect(service.requests).toEqual([]);
});

test("takes AbortSignal.timeout for the caller's abort, not for a timeout", async () => {
  const service = await startRawService(() => {});
  const signal = AbortSignal.timeout(30);
  expect(await catchError(service.client().verify(REFERENCE, { signal }))).toBe(signal.reason);
});

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
  for (let round = 0; round < 10; round++)
    await Promise.allSettled(operationNames.map((operation) => calls[operation](client, { signal })));
  const refused = createClientFor(`http://127.0.0.1:${CLOSED_PORT}`)({ onEvent, maxRetries: 1 });
  await catchError(refused.verify(REFERENCE, { signal }));
  expect(service.requests.length).toBeGreaterThan(30);
  expect(listeners(signal)).toBe(0);
});

test('follows neither signal once they are released', () => {
  const [own, closing] = [new AbortController(), new AbortController()];
  const { signal, release } = linkSignals(own.signal, closing.signal, () => new Error('closed'));
  release();
  closing.abort();
  own.abort();
  expect(signal.aborted).toBe(false);
});

const hanging = () => new Promise<never>(() => {});

test('leaves no listener after a timeout, even if fetch or apiKey never ends', async () => {
  const { signal } = new AbortController();
  const silent = await startRawService(() => {});
  const endless = [{ fetch: hanging }, { apiKey: hanging }].map((option) =>
    createClient({ ...option, timeout: 20 }),
  );
  for (const client of [silent.client({ timeout: 20 }), ...endless])
    for (const operation of operationNames) await catchError(calls[operation](client, { signal }));
  expect(listeners(signal)).toBe(0);
});

/** Counts only the timers of the client, not those of Node's fetch. */
function fakeTimers() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
}

const busy: Fetch = async () => Response.json({}, { status: 429, headers: { 'retry-after': '25' } });

test.each<[string, 'abort' | 'close', PaymentsClientOptions]>([
  ['an abort during fetch', 'abort', { fetch: hanging }],
  ['an abort during apiKey', 'abort', { apiKey: hanging }],
  ['an abort during the delay of a retry', 'abort', { fetch: busy }],
  ['close() during the delay of a retry', 'close', { fetch: busy }],
])('ends a call at once, with no timer left, after %s', async (_, how, options) => {
  fakeTimers();
  const abort = new AbortController();
  const client = createClient({ maxRetries: 1, ...options });
  const ended = vi.fn();
  client.verify(REFERENCE, { signal: abort.signal }).catch(ended);
  // Several turns, because a response's body takes some. No timer fires in them.
  await flushEventLoop(40);
  if (how === 'abort') abort.abort();
  else client.close();
  await flushEventLoop(8);
  const why = how === 'abort' ? abort.signal.reason : expect.any(ClosedError);
  expect(ended).toHaveBeenCalledExactlyOnceWith(why);
  expect(vi.getTimerCount()).toBe(0);
});

test('starts no pause if a listener of the retry calls close()', async () => {
  fakeTimers();
  const client: PaymentsClient = createClient({
    fetch: busy,
    maxRetries: 1,
    onEvent: ({ type }) => {
      if (type === 'retry') client.close();
    },
  });
  const ended = vi.fn();
  client.verify(REFERENCE).catch(ended);
  // Several turns, because a response's body takes some. No timer fires in them.
  await flushEventLoop(40);
  expect(ended).toHaveBeenCalledExactlyOnceWith(expect.any(ClosedError));
  expect(vi.getTimerCount()).toBe(0);
});
