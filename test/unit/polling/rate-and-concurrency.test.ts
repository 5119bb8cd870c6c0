import { expect, test, vi } from 'vitest';
import type { PaymentsEvent } from '../../../src/index.ts';
import {
  flushMicrotasks,
  jumpClock,
  MINUTE,
  SECOND,
  timeSettlement,
  useFakeClock,
} from '../../helpers/fake-clock.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';

useFakeClock();

const references = (count: number) => Array.from({ length: count }, (_, index) => `TXN-${index}`);

/** Returns the largest number of times in any window of that length, its end excluded. */
function mostWithin(times: number[], length: number): number {
  let most = 0;
  let first = 0;
  for (const [last, time] of times.entries()) {
    while ((times[first] ?? time) <= time - length) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

test('keeps 50 polls a second and 5 in a tenth of one with 10,000 waits', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  for (const reference of references(10_000)) timeSettlement(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(30 * SECOND);
  const times = seen.map(({ at }) => at);
  expect(mostWithin(times, 1_000)).toBe(50);
  expect(mostWithin(times, 100)).toBe(5);
  expect(times).toHaveLength(30 * 50 + 5);
  client.close();
});

test.each([
  [1, 1],
  [2, 1],
  [7, 1],
  [19, 1],
  [25, 2],
  [29, 2],
  [55, 5],
  [100, 10],
  [333, 33],
])('keeps maxRequestsPerSecond %d in every second, with %d at once', async (most, burst) => {
  const { client, seen } = createScriptedService(respondInTurn('pending'), {
    polling: { maxRequestsPerSecond: most },
  });
  for (const reference of references(2_000)) timeSettlement(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(5 * SECOND);
  const times = seen.map(({ at }) => at);
  expect(mostWithin(times, 1_000)).toBeLessThanOrEqual(most);
  expect(mostWithin(times, 1)).toBe(burst);
  expect(times.length).toBeGreaterThan(5 * most * 0.93);
  client.close();
});

test.each([10, 20, 70, 1_000])('spreads %d a second evenly over tenths of a second', async (most) => {
  const { client, seen } = createScriptedService(respondInTurn('pending'), {
    polling: { maxRequestsPerSecond: most, maxConcurrency: 100 },
  });
  for (const reference of references(2_500)) timeSettlement(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(2 * SECOND - 1);
  const times = seen.map(({ at }) => at);
  expect(mostWithin(times, 1_000)).toBe(most);
  expect(mostWithin(times, 100)).toBe(most / 10);
  expect(times).toHaveLength(2 * most);
  client.close();
});

test('accepts a maxRequestsPerSecond below one', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'), {
    polling: { maxRequestsPerSecond: 0.25 },
  });
  for (const reference of references(10)) timeSettlement(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(15 * SECOND);
  expect(seen.map(({ at }) => at)).toEqual([0, 4_000, 8_000, 12_000]);
  client.close();
});

test('skips the polls that a busy thread missed', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  for (const reference of references(1_000)) timeSettlement(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(2 * SECOND);
  const before = seen.length;
  jumpClock(10 * SECOND);
  await vi.advanceTimersByTimeAsync(1 * SECOND - 1);
  expect(seen.length - before).toBeLessThanOrEqual(50);
  client.close();
});

/** Creates a service with slow responses that counts the requests in flight. */
function createSlowService(latency: number, maxConcurrency: number) {
  const load = { now: 0, most: 0 };
  const say = async () => {
    load.most = Math.max(load.most, ++load.now);
    await new Promise((resolve) => setTimeout(resolve, latency));
    load.now--;
    return 'pending';
  };
  return {
    load,
    ...createScriptedService(say, { polling: { maxConcurrency, maxRequestsPerSecond: 10_000 } }),
  };
}

test.each([1, 7, 64])('keeps %d polls in flight with 1,000 waits, no more and no fewer', async (most) => {
  const { client, load, seen } = createSlowService(500, most);
  for (const reference of references(1_000)) timeSettlement(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(5 * SECOND + 1);
  expect(load.most).toBe(most);
  expect(seen).toHaveLength(11 * most);
  client.close();
});

test('frees the slot of a poll that ends by abort, error or deadline', async () => {
  const never = () => new Promise<never>(() => {});
  const { client, seen } = createScriptedService(never, { polling: { maxConcurrency: 2 } });
  const abort = new AbortController();
  timeSettlement(client.waitForFinalStatus('TXN-0', { signal: abort.signal }));
  timeSettlement(client.waitForFinalStatus('TXN-1', { timeout: 2_000 }));
  await vi.advanceTimersByTimeAsync(500);
  timeSettlement(client.waitForFinalStatus('TXN-2'));
  await vi.advanceTimersByTimeAsync(500);
  timeSettlement(client.waitForFinalStatus('TXN-3'));
  expect(seen).toHaveLength(2);
  abort.abort();
  await vi.advanceTimersByTimeAsync(1);
  expect(seen).toHaveLength(3);
  await vi.advanceTimersByTimeAsync(SECOND);
  expect(seen.map(({ reference }) => reference)).toEqual(references(4));
  client.close();
});

test.each([
  ['while all slots are in use', { maxConcurrency: 2 }],
  ['while the rate limit is reached', { maxRequestsPerSecond: 0.1 }],
])('sets no timer again and again, %s', async (_, polling) => {
  const { client, seen } = createScriptedService(() => new Promise(() => {}), { polling });
  for (const reference of references(20)) timeSettlement(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(SECOND);
  const setTimer = vi.spyOn(globalThis, 'setTimeout');
  await vi.advanceTimersByTimeAsync(8 * SECOND);
  expect(setTimer.mock.calls.length).toBeLessThan(5);
  expect(seen.length).toBeLessThanOrEqual(2);
  client.close();
});

test('sends the earliest due poll first if the limit holds polls back', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'), {
    polling: { maxRequestsPerSecond: 10 },
  });
  const startedAt = Date.now();
  // In random order, and all due within one second.
  const shuffled = references(100).map((_, index) => (index * 37) % 100);
  for (const late of shuffled) {
    timeSettlement(client.waitForFinalStatus(`TXN-${late}`, { startedAt: startedAt - 10 * late }));
  }
  await vi.advanceTimersByTimeAsync(18 * SECOND);
  const firstPolls = seen.map(({ reference }) => reference).slice(0, 100);
  expect(firstPolls).toEqual(references(100).reverse());
  client.close();
});

test('sends polls that are already due before a notified one', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'), {
    polling: { maxRequestsPerSecond: 1 },
  });
  for (const reference of references(5)) timeSettlement(client.waitForFinalStatus(reference));
  timeSettlement(client.waitForFinalStatus('TXN-hinted', { startedAt: Date.now() }));
  await vi.advanceTimersByTimeAsync(1_500);
  client.notify('TXN-hinted');
  await vi.advanceTimersByTimeAsync(4 * SECOND);
  expect(seen.map(({ reference }) => reference).at(5)).toBe('TXN-hinted');
  client.close();
});

test('reports the lag of polls that the limit holds back', async () => {
  const late: number[] = [];
  const onEvent = (event: PaymentsEvent) => {
    if (event.type === 'poll') late.push(event.lag);
  };
  const { client } = createScriptedService(respondInTurn('pending'), {
    onEvent,
    polling: { maxRequestsPerSecond: 10 },
  });
  for (const reference of references(100)) timeSettlement(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(9_900);
  expect(late).toEqual(Array.from({ length: 100 }, (_, index) => 100 * index));
  client.close();
});

test('reports no lag below the limit', async () => {
  const late: number[] = [];
  const onEvent = (event: PaymentsEvent) => {
    if (event.type === 'poll') late.push(event.lag);
  };
  const { client } = createScriptedService(respondInTurn('pending'), { onEvent });
  for (const reference of references(5)) timeSettlement(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(new Set(late)).toEqual(new Set([0]));
  client.close();
  await flushMicrotasks();
});
