import { createServer } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { OutcomeUnknownError, type PaymentsEvent } from '../../../src/index.ts';
import { calls, posts, REFERENCE } from '../../helpers/calls.ts';
import { listenForTest } from '../../helpers/listen.ts';
import { createClientFor, startRawService } from '../../helpers/raw-service.ts';
import { catchError, sendJson, startService, successBodies } from '../../helpers/service.ts';

const operations = [...posts, 'verify'] as const;

const reasons: [string, unknown][] = [
  ['an error of the caller', new Error('the customer left')],
  ['an object', { why: 'the customer left' }],
  ['text', 'the customer left'],
  ['null', null],
];

test.each(reasons)(
  'sends nothing if the signal is already aborted, and rejects with %s',
  async (_what, reason) => {
    const service = await startService(200);
    for (const operation of operations) {
      const signal = AbortSignal.abort(reason);
      expect(await catchError(calls[operation](service.client(), { signal }))).toBe(reason);
    }
    expect(service.requests).toEqual([]);
  },
);

test("rejects with the platform's AbortError if an abort has no reason", async () => {
  const client = createClientFor('https://payments.example')();
  const signal = AbortSignal.abort();
  const failure = await catchError(client.verify(REFERENCE, { signal }));
  expect(failure).toBe(signal.reason);
  expect(failure).toMatchObject({ name: 'AbortError' });
});

describe('an abort in flight', () => {
  const parts: [string, string][] = [
    ['before the headers', ''],
    ['amid the body', 'HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{"status":tr'],
  ];

  test.each(parts)(
    '%s of a read rejects with the reason, unchanged, and is not retried',
    async (_when, part) => {
      for (const [, reason] of reasons) {
        const abort = new AbortController();
        const service = await startRawService((socket) => {
          socket.write(part);
          setTimeout(() => abort.abort(reason), 20);
        });
        const call = service.client({ maxRetries: 3 }).verify(REFERENCE, { signal: abort.signal });
        expect(await catchError(call)).toBe(reason);
        expect(service.requests).toHaveLength(1);
      }
    },
  );

  test.each(parts)(
    'throws OutcomeUnknownError with the reason as cause: %s of a POST',
    async (_when, part) => {
      for (const [, reason] of reasons) {
        for (const operation of posts) {
          const abort = new AbortController();
          const service = await startRawService((socket) => {
            socket.write(part);
            setTimeout(() => abort.abort(reason), 20);
          });
          const call = calls[operation](service.client({ maxRetries: 3 }), { signal: abort.signal });
          const failure = await catchError(call);
          expect(failure).toBeInstanceOf(OutcomeUnknownError);
          expect(failure).toMatchObject({ operation, outcome: 'unknown', retryable: false });
          expect(failure instanceof Error && failure.cause).toBe(reason);
          expect(service.requests).toHaveLength(1);
        }
      }
    },
  );

  test('proves nothing while connecting', async () => {
    for (const operation of operations) {
      const reason = new Error('the customer left');
      const abort = new AbortController();
      const server = createServer((socket) => socket.once('data', () => abort.abort(reason)));
      const client = createClientFor(`https://127.0.0.1:${await listenForTest(server)}/api/v1`)();
      const failure = await catchError(calls[operation](client, { signal: abort.signal }));
      if (operation === 'verify') expect(failure).toBe(reason);
      else expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown', cause: reason });
    }
  });

  test('ends a fetch that ignores its signal', async () => {
    const reason = new Error('the customer left');
    for (const operation of operations) {
      const abort = new AbortController();
      const fetch = () => {
        setImmediate(() => abort.abort(reason));
        return new Promise<Response>(() => {});
      };
      const client = createClientFor('https://payments.example')({ fetch });
      const failure = await catchError(calls[operation](client, { signal: abort.signal }));
      expect(operation === 'verify' ? failure : failure instanceof Error && failure.cause).toBe(reason);
    }
  });

  test('closes the connection', async () => {
    const abort = new AbortController();
    const closed = Promise.withResolvers<void>();
    const service = await startRawService((socket) => {
      socket.on('close', () => closed.resolve());
      abort.abort();
    });
    await catchError(service.client().verify(REFERENCE, { signal: abort.signal }));
    await closed.promise;
  });
});

test.each(operations)('rejects %s at once if aborted during the delay before a retry', async (operation) => {
  const reason = new Error('the customer left');
  const abort = new AbortController();
  const service = await startService(429, {}, { 'retry-after': '25' });
  const onEvent = ({ type }: PaymentsEvent) => {
    if (type === 'retry') setTimeout(() => abort.abort(reason), 20);
  };
  const client = service.client({ maxRetries: 3, onEvent });
  expect(await catchError(calls[operation](client, { signal: abort.signal }))).toBe(reason);
  expect(service.requests).toHaveLength(1);
});

const late: [when: string, abortIn: (abort: () => void) => Promise<string>][] = [
  [
    'while apiKey is pending',
    (abort) => {
      setTimeout(abort, 20);
      return new Promise(() => {});
    },
  ],
  [
    'right before the request',
    async (abort) => {
      queueMicrotask(abort);
      return 'sk_live_4vK9qLm2Xw7RtZ';
    },
  ],
];

test.each(late)('rejects and sends nothing if aborted %s', async (_when, abortIn) => {
  for (const operation of operations) {
    const reason = new Error('the customer left');
    const abort = new AbortController();
    const service = await startService(200);
    const apiKey = () => abortIn(() => abort.abort(reason));
    const call = calls[operation](service.client({ apiKey }), { signal: abort.signal });
    expect(await catchError(call)).toBe(reason);
    expect(service.requests).toEqual([]);
  }
});

test.each(operations)('rejects %s and sends nothing if aborted right after the call', async (operation) => {
  const reason = new Error('the customer left');
  const abort = new AbortController();
  const service = await startService(200);
  const call = catchError(calls[operation](service.client(), { signal: abort.signal }));
  if (operation === 'verify') queueMicrotask(() => abort.abort(reason));
  else abort.abort(reason);
  expect(await call).toBe(reason);
  expect(service.requests).toEqual([]);
});

test('ignores an abort after the result', async () => {
  const abort = new AbortController();
  const service = await startService();
  const transaction = await service.client().verify(REFERENCE, { signal: abort.signal });
  abort.abort();
  expect(transaction).toMatchObject({ status: 'success' });
});

test("takes AbortSignal.timeout for the caller's abort, not for a timeout", async () => {
  const service = await startRawService(() => {});
  const signal = AbortSignal.timeout(30);
  expect(await catchError(service.client().verify(REFERENCE, { signal }))).toBe(signal.reason);
});

test('aborts one call and no other of the client', async () => {
  const abort = new AbortController();
  const service = await startService(async (response, _request, count) => {
    if (count === 1) return;
    abort.abort();
    await vi.waitFor(() => expect(abort.signal.aborted).toBe(true));
    sendJson(response, 200, successBodies.verify());
  });
  const client = service.client();
  const aborted = catchError(client.verify(REFERENCE, { signal: abort.signal }));
  await vi.waitFor(() => expect(service.requests).toHaveLength(1));
  expect(await client.verify(REFERENCE)).toMatchObject({ status: 'success' });
  expect(await aborted).toBe(abort.signal.reason);
});
