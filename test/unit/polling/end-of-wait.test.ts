import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import type { PaymentsClient } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import {
  flushMicrotasks,
  MINUTE,
  runToEnd,
  SECOND,
  timeSettlement,
  useFakeClock,
} from '../../helpers/fake-clock.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';
import { catchError } from '../../helpers/service.ts';

useFakeClock();

const never = () => new Promise<never>(() => {});
const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

/** The states in which a wait can end. */
const situations = [
  { where: 'between polls', say: respondInTurn('pending'), polling: {} },
  { where: 'in flight', say: never, polling: {} },
  { where: 'in the queue', say: never, polling: { maxConcurrency: 1 } },
  { where: 'in a pause after a 429', say: respondInTurn(new Response('', { status: 429 })), polling: {} },
] as const;

/** What ends it, two seconds after its start. */
const endings = {
  abort: (_: PaymentsClient, abort: AbortController) => abort.abort(new Error('the shop shuts down')),
  close: (client: PaymentsClient) => client.close(),
  deadline: () => {},
};

const cases = situations.flatMap((situation) =>
  (['abort', 'close', 'deadline'] as const).map((ending) => ({ ...situation, ending })),
);

test.each(cases)(
  'leaves no request, timer or listener after $ending $where',
  async ({ where, say, polling, ending }) => {
    const { client, seen } = createScriptedService(say, { polling });
    const abort = new AbortController();
    const before = new AbortController();
    const sent = () => seen.filter(({ reference }) => reference === REFERENCE).length;
    const first = timeSettlement(
      client.waitForFinalStatus('TXN-first', { timeout: 2_001, signal: before.signal }),
    );
    const wait = timeSettlement(
      client.waitForFinalStatus(REFERENCE, {
        signal: abort.signal,
        timeout: ending === 'deadline' ? 2_000 : MINUTE,
        initialDelay: 2_500,
        minDelay: 2_500,
      }),
    );
    await vi.advanceTimersByTimeAsync(2_000);
    endings[ending](client, abort);
    await flushMicrotasks();
    expect(listeners(abort.signal)).toBe(0);
    expect(await wait).toMatchObject({ at: 2_000, error: expect.any(Error) });
    const sentBefore = sent();
    expect(sentBefore === 0).toBe(where === 'in the queue');

    // The slot is free now: no request must leave for a wait that has ended.
    before.abort();
    await flushMicrotasks();
    await first;
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect(sent()).toBe(sentBefore);
    expect([listeners(abort.signal), listeners(before.signal)]).toEqual([0, 0]);
  },
);

test('rejects with the reason of the signal, whatever it is', async () => {
  const { client } = createScriptedService(never);
  for (const reason of [new Error('shutting down'), 'text', { code: 7 }, null]) {
    const abort = new AbortController();
    const failure = catchError(client.waitForFinalStatus(REFERENCE, { signal: abort.signal }));
    await vi.advanceTimersByTimeAsync(100);
    abort.abort(reason);
    expect(await failure).toBe(reason);
  }
});

test('checks nothing if the signal is already aborted', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const reason = new Error('too late');
  const signal = AbortSignal.abort(reason);
  expect(await catchError(client.waitForFinalStatus(REFERENCE, { signal }))).toBe(reason);
  expect(await catchError(client.watch(REFERENCE, { signal }).next())).toBe(reason);
  expect(await catchError(client.reconcile([REFERENCE], { signal }).next())).toBe(reason);
  expect(vi.getTimerCount()).toBe(0);
  expect(seen).toEqual([]);
});

test('sends no request after an abort before the first request', async () => {
  const key = Promise.withResolvers<string>();
  const { client, seen } = createScriptedService(respondInTurn('success'), { apiKey: () => key.promise });
  const abort = new AbortController();
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(100);
  abort.abort();
  key.resolve('sk_test_late');
  await runToEnd(wait);
  expect(seen).toEqual([]);
});

test('ignores a response that arrives after the end of the wait', async () => {
  const responses: ((status: string) => void)[] = [];
  const { client, seen } = createScriptedService(() => new Promise((resolve) => responses.push(resolve)));
  const abort = new AbortController();
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(100);
  abort.abort();
  for (const respond of responses) respond('pending');
  expect(await wait).toMatchObject({ at: 100, value: undefined });
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

test('leaves no timer and no listener after a final status', async () => {
  const { client } = createScriptedService(respondInTurn('pending', 'success'));
  const { signal } = new AbortController();
  await runToEnd(client.waitForFinalStatus(REFERENCE, { signal }), 8 * SECOND);
  expect(vi.getTimerCount()).toBe(0);
  expect(listeners(signal)).toBe(0);
});

test('keeps one listener and one timer for 10,000 waits, and none after abort', async () => {
  const { client } = createScriptedService(never);
  const abort = new AbortController();
  const waits = Array.from({ length: 10_000 }, (_, index) =>
    timeSettlement(
      client.waitForFinalStatus(`TXN-${index}`, { signal: abort.signal, startedAt: Date.now() }),
    ),
  );
  expect(listeners(abort.signal)).toBe(1);
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(9 * SECOND);
  expect(listeners(abort.signal)).toBe(1);
  const reason = new Error('shutting down');
  abort.abort(reason);
  const ends = await Promise.all(waits);
  expect(ends.every(({ error }) => error === reason)).toBe(true);
  await flushMicrotasks();
  expect(listeners(abort.signal)).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test('keeps the listener as long as one wait on the signal', async () => {
  const { client } = createScriptedService((reference) => (reference === 'TXN-long' ? 'pending' : 'success'));
  const { signal } = new AbortController();
  const long = timeSettlement(client.waitForFinalStatus('TXN-long', { signal, timeout: MINUTE }));
  await runToEnd(client.waitForFinalStatus('TXN-short', { signal }), SECOND);
  expect(listeners(signal)).toBe(1);
  await runToEnd(long);
  expect(listeners(signal)).toBe(0);
});

test('accepts a new wait on a signal that other waits have left', async () => {
  const { client } = createScriptedService((reference) => (reference === 'TXN-long' ? 'pending' : 'success'));
  const abort = new AbortController();
  await runToEnd(client.waitForFinalStatus('TXN-short', { signal: abort.signal }), SECOND);
  const long = timeSettlement(client.waitForFinalStatus('TXN-long', { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(SECOND);
  abort.abort();
  expect(await long).toMatchObject({ at: SECOND, error: { name: 'AbortError' } });
});

test('ends the wait and leaves nothing after break in a watch', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const { signal } = new AbortController();
  const statuses: string[] = [];
  const reading = (async () => {
    for await (const { status } of client.watch(REFERENCE, { signal })) {
      statuses.push(status);
      break;
    }
  })();
  await runToEnd(reading, SECOND);
  expect(statuses).toEqual(['pending']);
  expect(vi.getTimerCount()).toBe(0);
  expect(listeners(signal)).toBe(0);
  await vi.advanceTimersByTimeAsync(10 * MINUTE);
  expect(seen).toHaveLength(1);
});

test('checks nothing if no reader reads the watch', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  client.watch(REFERENCE);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toEqual([]);
});
