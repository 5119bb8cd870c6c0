import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import type { PaymentsClient } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import {
  clockJumps,
  MINUTE,
  microtasks,
  SECOND,
  settled,
  timed,
  useFakeClock,
} from '../../helpers/fake-clock.ts';
import { inTurn, scriptedService } from '../../helpers/scripted-service.ts';
import { failureOf } from '../../helpers/service.ts';

useFakeClock();

const never = () => new Promise<never>(() => {});
const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

/** Where a wait is when its end comes. */
const situations = [
  { where: 'in a sleep', say: inTurn('pending'), polling: {} },
  { where: 'in flight', say: never, polling: {} },
  { where: 'in the queue', say: never, polling: { maxConcurrency: 1 } },
  { where: 'in a pause', say: inTurn(new Response('', { status: 429 })), polling: {} },
] as const;

/** What ends it, two seconds after it began. */
const endings = {
  abort: (_: PaymentsClient, abort: AbortController) => abort.abort(new Error('the shop shuts down')),
  close: (client: PaymentsClient) => client.close(),
  deadline: () => {},
};

const cases = situations.flatMap((situation) =>
  (['abort', 'close', 'deadline'] as const).map((ending) => ({ ...situation, ending })),
);

test.each(cases)(
  'after $ending $where, no request leaves, and no timer and no listener is left',
  async ({ where, say, polling, ending }) => {
    const { client, seen } = scriptedService(say, { polling });
    const abort = new AbortController();
    const before = new AbortController();
    const asked = () => seen.filter(({ reference }) => reference === REFERENCE).length;
    const first = timed(client.waitForFinalStatus('TXN-first', { timeout: 2_001, signal: before.signal }));
    const wait = timed(
      client.waitForFinalStatus(REFERENCE, {
        signal: abort.signal,
        timeout: ending === 'deadline' ? 2_000 : MINUTE,
        initialDelay: 2_500,
        minDelay: 2_500,
      }),
    );
    await vi.advanceTimersByTimeAsync(2_000);
    endings[ending](client, abort);
    await microtasks();
    expect(listeners(abort.signal)).toBe(0);
    expect(await wait).toMatchObject({ at: 2_000, error: expect.any(Error) });
    const askedByThen = asked();
    expect(askedByThen === 0).toBe(where === 'in the queue');

    // The place in the queue is free now: nobody may take it for a wait that is over.
    before.abort();
    await microtasks();
    await first;
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect(asked()).toBe(askedByThen);
    expect([listeners(abort.signal), listeners(before.signal)]).toEqual([0, 0]);
  },
);

test('a wait rejects with the reason of the signal itself, whatever it is', async () => {
  const { client } = scriptedService(never);
  for (const reason of [new Error('shutting down'), 'text', { code: 7 }, null]) {
    const abort = new AbortController();
    const failure = failureOf(client.waitForFinalStatus(REFERENCE, { signal: abort.signal }));
    await vi.advanceTimersByTimeAsync(100);
    abort.abort(reason);
    expect(await failure).toBe(reason);
  }
});

test('with a signal that is aborted already, nothing is asked', async () => {
  const { client, seen } = scriptedService(inTurn('success'));
  const reason = new Error('too late');
  const signal = AbortSignal.abort(reason);
  expect(await failureOf(client.waitForFinalStatus(REFERENCE, { signal }))).toBe(reason);
  expect(await failureOf(client.watch(REFERENCE, { signal }).next())).toBe(reason);
  expect(await failureOf(client.reconcile([REFERENCE], { signal }).next())).toBe(reason);
  expect(vi.getTimerCount()).toBe(0);
  expect(seen).toEqual([]);
});

test('an abort before the first request has left keeps it from leaving', async () => {
  const key = Promise.withResolvers<string>();
  const { client, seen } = scriptedService(inTurn('success'), { apiKey: () => key.promise });
  const abort = new AbortController();
  const wait = timed(client.waitForFinalStatus(REFERENCE, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(100);
  abort.abort();
  key.resolve('sk_test_late');
  await settled(wait);
  expect(seen).toEqual([]);
});

test('an answer that comes after the end changes nothing and causes nothing', async () => {
  const answers: ((status: string) => void)[] = [];
  const { client, seen } = scriptedService(() => new Promise((resolve) => answers.push(resolve)));
  const abort = new AbortController();
  const wait = timed(client.waitForFinalStatus(REFERENCE, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(100);
  abort.abort();
  for (const answer of answers) answer('pending');
  expect(await wait).toMatchObject({ at: 100, value: undefined });
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

test('a final status ends a wait with no timer and no listener left', async () => {
  const { client } = scriptedService(inTurn('pending', 'success'));
  const { signal } = new AbortController();
  await settled(client.waitForFinalStatus(REFERENCE, { signal }), 8 * SECOND);
  expect(vi.getTimerCount()).toBe(0);
  expect(listeners(signal)).toBe(0);
});

test('10,000 waits have one listener on the signal that they share, and one timer; after the abort, none', async () => {
  const { client } = scriptedService(never);
  const abort = new AbortController();
  const waits = Array.from({ length: 10_000 }, (_, index) =>
    timed(client.waitForFinalStatus(`TXN-${index}`, { signal: abort.signal, startedAt: Date.now() })),
  );
  expect(listeners(abort.signal)).toBe(1);
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(9 * SECOND);
  expect(listeners(abort.signal)).toBe(1);
  const reason = new Error('shutting down');
  abort.abort(reason);
  const ends = await Promise.all(waits);
  expect(ends.every(({ error }) => error === reason)).toBe(true);
  await microtasks();
  expect(listeners(abort.signal)).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test('the listener stays as long as one wait on the signal does', async () => {
  const { client } = scriptedService((reference) => (reference === 'TXN-long' ? 'pending' : 'success'));
  const { signal } = new AbortController();
  const long = timed(client.waitForFinalStatus('TXN-long', { signal, timeout: MINUTE }));
  await settled(client.waitForFinalStatus('TXN-short', { signal }), SECOND);
  expect(listeners(signal)).toBe(1);
  await settled(long);
  expect(listeners(signal)).toBe(0);
});

test('a signal that waits have left serves the next one too', async () => {
  const { client } = scriptedService((reference) => (reference === 'TXN-long' ? 'pending' : 'success'));
  const abort = new AbortController();
  await settled(client.waitForFinalStatus('TXN-short', { signal: abort.signal }), SECOND);
  const long = timed(client.waitForFinalStatus('TXN-long', { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(SECOND);
  abort.abort();
  expect(await long).toMatchObject({ at: SECOND, error: { name: 'AbortError' } });
});

test('break out of watch ends the wait: no request leaves, and no timer and no listener is left', async () => {
  const { client, seen } = scriptedService(inTurn('pending'));
  const { signal } = new AbortController();
  const statuses: string[] = [];
  const reading = (async () => {
    for await (const { status } of client.watch(REFERENCE, { signal })) {
      statuses.push(status);
      break;
    }
  })();
  await settled(reading, SECOND);
  expect(statuses).toEqual(['pending']);
  expect(vi.getTimerCount()).toBe(0);
  expect(listeners(signal)).toBe(0);
  await vi.advanceTimersByTimeAsync(10 * MINUTE);
  expect(seen).toHaveLength(1);
});

test('a watch that nobody reads asks nothing', async () => {
  const { client, seen } = scriptedService(inTurn('pending'));
  client.watch(REFERENCE);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toEqual([]);
});

test('a machine that slept over the deadline asks once more, and ends the wait', async () => {
  const { client, seen } = scriptedService(inTurn('pending'));
  const wait = timed(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(SECOND);
  clockJumps(60 * MINUTE);
  expect(await settled(wait, MINUTE)).toMatchObject({ error: { code: 'wait_timeout', attempts: 2 } });
  expect(seen).toHaveLength(2);
  expect(vi.getTimerCount()).toBe(0);
});
