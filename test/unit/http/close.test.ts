import { expect, onTestFinished, test, vi } from 'vitest';
import { ClosedError, type PaymentsClient, type PaymentsEvent } from '../../../src/index.ts';
import { memoryJournal } from '../../../src/journal/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { createClientFor } from '../../helpers/raw-service.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { flushEventLoop } from '../../helpers/tcp-service.ts';

/** Starts a service that responds 429 once, and accepts later requests. */
const busyOnce = () =>
  startService((response, { method }, count) => {
    if (count === 1) sendJson(response, 429, {}, { 'retry-after': '25' });
    else
      sendJson(response, 200, method === 'GET' ? successBodies.verify() : successBodies.chargeMobileMoney());
  });

/** Resolves when the client reports a retry. */
function whenRetrying() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const onEvent = ({ type }: PaymentsEvent) => {
    if (type === 'retry') resolve();
  };
  return { promise, onEvent };
}

test.each(['verify', 'charge', 'charge with a key'])(
  'ends the delay before a retry of a %s on close(), and sends nothing',
  async (what) => {
    const service = await busyOnce();
    const { promise, onEvent } = whenRetrying();
    const journal = memoryJournal();
    const client = service.client({ onEvent, journal, maxRetries: 1 });
    const idempotencyKey = what === 'charge with a key' ? 'order-17' : null;
    const failing = catchError(
      what === 'verify'
        ? client.verify('TXN-8f2c61d0')
        : client.chargeMobileMoney(charge, { idempotencyKey }),
    );
    await promise;
    client.close();
    const failure = await failing;
    expect(failure).toBeInstanceOf(ClosedError);
    expect(failure).toMatchObject({ operation: what === 'verify' ? 'verify' : 'chargeMobileMoney' });
    expect(service.requests).toHaveLength(1);
    if (what === 'charge with a key')
      expect(await journal.read('order-17')).toMatchObject({ state: 'not_sent' });
  },
);

test('sends nothing if close() is called while the apiKey is pending', async () => {
  const service = await busyOnce();
  const reached = Promise.withResolvers<void>();
  const key = Promise.withResolvers<string>();
  const client = service.client({
    apiKey: () => {
      reached.resolve();
      return key.promise;
    },
  });
  const failing = catchError(client.chargeMobileMoney(charge));
  await reached.promise;
  client.close();
  key.resolve('sk_live_late');
  expect(await failing).toMatchObject({ code: 'closed', outcome: 'not_sent' });
  expect(service.requests).toEqual([]);
});

test('starts no pause if a listener of the retry calls close()', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  let client: PaymentsClient | undefined;
  const ended = vi.fn();
  client = createClientFor('https://payments.example')({
    fetch: async () => Response.json({}, { status: 429, headers: { 'retry-after': '25' } }),
    maxRetries: 1,
    onEvent: ({ type }) => {
      if (type === 'retry') client?.close();
    },
  });
  client.verify(REFERENCE).catch(ended);
  // Several turns, because a response's body takes some. No timer fires in them.
  for (let count = 0; count < 10; count++) await flushEventLoop();
  expect(ended).toHaveBeenCalledExactlyOnceWith(expect.any(ClosedError));
  expect(vi.getTimerCount()).toBe(0);
});
