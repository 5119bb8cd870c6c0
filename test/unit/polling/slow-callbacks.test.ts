import { expect, test, vi } from 'vitest';
import type { PaymentsEvent } from '../../../src/index.ts';
import { MINUTE, runToEnd, SECOND, timeSettlement, useFakeClock } from '../../helpers/fake-clock.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';

useFakeClock();

/** A service, and 100 waits that end after a second, each with a listener that keeps the thread busy for 10 ms. */
function withSlowListener() {
  const now = performance.now.bind(performance);
  let busy = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + busy);
  const onEvent = (event: PaymentsEvent) => {
    if (event.type === 'wait' && event.reference.startsWith('TXN-slow')) busy += 10;
  };
  const service = createScriptedService(respondInTurn('pending'), { onEvent });
  const slow = { startedAt: Date.now(), initialDelay: 5 * SECOND, timeout: SECOND };
  for (const reference of references('slow', 100))
    timeSettlement(service.client.waitForFinalStatus(reference, slow));
  return service;
}

const references = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `TXN-${name}-${index}`);

/** Its first poll is due in the tick in which the slow waits end. */
const dueThen = () => ({ startedAt: Date.now(), initialDelay: SECOND });

test('checks once if slow listeners kept the thread busy over a deadline', async () => {
  const { client, seen } = withSlowListener();
  for (const reference of references('near', 3))
    timeSettlement(client.waitForFinalStatus(reference, { ...dueThen(), timeout: SECOND + 900 }));
  timeSettlement(client.waitForFinalStatus('TXN-far', dueThen()));
  await vi.advanceTimersByTimeAsync(2 * SECOND);
  const after = seen.filter(({ at }) => at >= SECOND).map(({ reference, at }) => [reference, at]);
  const near = references('near', 3).map((reference) => [reference, 2 * SECOND + 5]);
  expect(after).toEqual([['TXN-far', 2 * SECOND], ...near]);
  client.close();
});

test('keeps the rate after a slow listener held polls back', async () => {
  const { client, seen } = withSlowListener();
  for (const reference of references('far', 50))
    timeSettlement(client.waitForFinalStatus(reference, dueThen()));
  await vi.advanceTimersByTimeAsync(2 * SECOND);
  const times = seen.map(({ at }) => at);
  expect(times.length).toBeGreaterThan(50);
  for (const [index, time] of times.slice(5).entries())
    expect(time - (times[index] ?? 0)).toBeGreaterThanOrEqual(100);
  client.close();
});

test('keeps a deadline exactly after a slow listener', async () => {
  const { client } = withSlowListener();
  const wait = timeSettlement(
    client.waitForFinalStatus('TXN-far', { ...dueThen(), initialDelay: MINUTE, timeout: 2_500 }),
  );
  expect(await runToEnd(wait)).toMatchObject({ at: 2_500, error: { code: 'wait_timeout' } });
});

test('checks once for a wait that starts late in the event of another', async () => {
  const startedAt = Date.now();
  let begun = false;
  const { client, seen } = createScriptedService(respondInTurn('pending'), {
    onEvent: ({ type }) => {
      if (type !== 'wait' || begun) return;
      begun = true;
      timeSettlement(client.waitForFinalStatus('TXN-late', { startedAt, timeout: SECOND }));
    },
  });
  timeSettlement(client.waitForFinalStatus('TXN-first', { startedAt, timeout: SECOND, initialDelay: 0 }));
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(begun).toBe(true);
  expect(seen.filter(({ reference }) => reference === 'TXN-late')).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});
