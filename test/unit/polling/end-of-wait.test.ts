import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { ClosedError, type PaymentsClient } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { flushMicrotasks, runToEnd, SECOND, timeSettlement, useFakeClock } from '../../helpers/fake-clock.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';
import { catchError, charge, payment } from '../../helpers/service.ts';

useFakeClock();

const never = () => new Promise<never>(() => {});
const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

test('checks nothing if the signal is already aborted', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const reason = new Error('too late');
  const signal = AbortSignal.abort(reason);
  const calls = [
    client.waitForFinalStatus(REFERENCE, { signal }),
    client.watch(REFERENCE, { signal }).next(),
    client.reconcile([REFERENCE], { signal }).next(),
  ];
  const ended = Promise.allSettled(calls);
  expect(vi.getTimerCount()).toBe(0);
  const rejected = { status: 'rejected', reason };
  expect(await runToEnd(ended)).toEqual([rejected, rejected, rejected]);
  expect(seen).toEqual([]);
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

const laterCalls: Record<string, (client: PaymentsClient) => Promise<unknown>> = {
  initialize: (client) => client.initialize(payment),
  chargeMobileMoney: (client) => client.chargeMobileMoney(charge),
  verify: (client) => client.verify(REFERENCE),
  check: (client) => client.check(REFERENCE),
  waitForFinalStatus: (client) => client.waitForFinalStatus(REFERENCE),
  watch: (client) => client.watch(REFERENCE).next(),
  reconcile: (client) => client.reconcile([REFERENCE]).next(),
};

test.each(Object.entries(laterCalls))(
  'rejects %s with ClosedError after close and sends nothing',
  async (_, call) => {
    const { client, seen } = createScriptedService(respondInTurn('success'));
    client.close();
    expect(await runToEnd(catchError(call(client)))).toBeInstanceOf(ClosedError);
    expect(seen).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  },
);

test('does not hang if a wait restarts in its wait event after its deadline', async () => {
  let again = 0;
  const startedAt = Date.now();
  const { client } = createScriptedService(respondInTurn('pending'), {
    onEvent: ({ type }) => {
      if (type !== 'wait' || ++again > 50) return;
      timeSettlement(client.waitForFinalStatus(REFERENCE, { startedAt, timeout: SECOND }));
    },
  });
  timeSettlement(client.waitForFinalStatus(REFERENCE, { startedAt, timeout: SECOND }));
  await vi.advanceTimersByTimeAsync(SECOND + 10);
  // One for each wake-up of the timer, so that all other work gets its turn in between.
  expect(again).toBeGreaterThan(1);
  expect(again).toBeLessThan(50);
  await runToEnd(Promise.resolve());
  expect(again).toBeGreaterThan(50);
  expect(vi.getTimerCount()).toBe(0);
});
