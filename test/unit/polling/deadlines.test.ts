import { expect, test, vi } from 'vitest';
import { type WaitOptions, WaitTimeoutError } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import {
  flushMicrotasks,
  jumpClock,
  MINUTE,
  runToEnd,
  SECOND,
  timeSettlement,
  useFakeClock,
} from '../../helpers/fake-clock.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';

useFakeClock();

const DAY = 24 * 60 * MINUTE;
const LONGEST_TIMER = 2 ** 31 - 1;

const never = () => new Promise<never>(() => {});
const references = (count: number) => Array.from({ length: count }, (_, index) => `TXN-${index}`);

test('keeps the deadline exactly during a hanging request, and aborts it', async () => {
  const { client, seen } = createScriptedService(never);
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 7_300 })));
  expect(end).toMatchObject({
    at: 7_300,
    error: { code: 'wait_timeout', attempts: 1, lastStatus: undefined },
  });
  expect(seen).toHaveLength(1);
  expect(seen[0]?.signal.aborted).toBe(true);
});

test('keeps the deadline exactly while apiKey hangs, and sends nothing', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'), { apiKey: never });
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 7_300 })));
  expect(end).toMatchObject({ at: 7_300, error: { code: 'wait_timeout' } });
  expect(seen).toEqual([]);
});

test('keeps 1,000 deadlines exactly behind a queue of 10 requests a second', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'), {
    polling: { maxRequestsPerSecond: 10 },
  });
  const waits = references(1_000).map((reference, index) =>
    timeSettlement(client.waitForFinalStatus(reference, { timeout: 5_000 + 10 * index })),
  );
  const ends = await runToEnd(Promise.all(waits), MINUTE);
  expect(ends.map(({ at }) => at)).toEqual(ends.map((_, index) => 5_000 + 10 * index));
  expect(ends.every(({ error }) => error instanceof WaitTimeoutError)).toBe(true);
  expect(seen.length).toBeGreaterThanOrEqual(140);
  expect(seen.length).toBeLessThanOrEqual(150);
});

test('keeps deadlines while polls that hang fill maxConcurrency', async () => {
  const { client, seen } = createScriptedService(never, { polling: { maxConcurrency: 2 } });
  const waits = references(10).map((reference) =>
    timeSettlement(client.waitForFinalStatus(reference, { timeout: 7_300 })),
  );
  const ends = await runToEnd(Promise.all(waits));
  expect(ends.map(({ at }) => at)).toEqual(Array(10).fill(7_300));
  expect(seen).toHaveLength(2);
});

test('keeps the deadline exactly if a slot becomes free only then', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'), {
    latency: 400,
    polling: { maxConcurrency: 1 },
  });
  // The poll of this wait ends at 400 ms, before the timer of the deadline fires.
  timeSettlement(client.waitForFinalStatus('TXN-slow'));
  await vi.advanceTimersByTimeAsync(0);
  const startedAt = Date.now();
  const queued = timeSettlement(client.waitForFinalStatus('TXN-queued', { startedAt, timeout: 400 }));
  const end = await runToEnd(queued, SECOND);
  expect(end).toMatchObject({ at: 400, error: { code: 'wait_timeout', attempts: 0 } });
  expect(seen.map(({ reference }) => reference)).toEqual(['TXN-slow']);
  client.close();
});

test('makes no check after the deadline if the rate forbade one before', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'), {
    latency: 350,
    polling: { maxConcurrency: 1, maxRequestsPerSecond: 1 },
  });
  // The callback is busy from 350 ms to 450 ms, but the rate allows no poll before 1,000 ms.
  timeSettlement(client.waitForFinalStatus('TXN-slow', { onPoll: () => jumpClock(100) }));
  await vi.advanceTimersByTimeAsync(0);
  const startedAt = Date.now();
  const queued = timeSettlement(client.waitForFinalStatus('TXN-queued', { startedAt, timeout: 400 }));
  const end = await runToEnd(queued, 2 * SECOND);
  expect(end).toMatchObject({ at: 450, error: { code: 'wait_timeout', attempts: 0 } });
  expect(seen.map(({ reference }) => reference)).not.toContain('TXN-queued');
  client.close();
});

test('keeps the deadline exactly behind two polls, with both limits', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'), {
    latency: 300,
    polling: { maxConcurrency: 2, maxRequestsPerSecond: 10 },
  });
  const wait = (reference: string, options: WaitOptions) =>
    timeSettlement(client.waitForFinalStatus(reference, options));
  wait('TXN-2', { timeout: 1, startedAt: Date.now() - 2 * SECOND });
  wait('TXN-2', { timeout: MINUTE });
  await vi.advanceTimersByTimeAsync(5_189);
  wait('TXN-3', { timeout: MINUTE });
  await vi.advanceTimersByTimeAsync(10_900);
  wait('TXN-1', { timeout: 1 });
  const end = wait('TXN-0', { timeout: 400, startedAt: Date.now() });
  client.notify('TXN-3');
  // TXN-3 and TXN-2 are in flight when the poll of TXN-0 is due. TXN-3 ends at the deadline of TXN-0.
  expect(await runToEnd(end, SECOND)).toMatchObject({
    at: 400,
    error: { code: 'wait_timeout', attempts: 0 },
  });
  const sent = seen.slice(-3).map(({ at, reference }) => [at, reference]);
  expect(sent).toEqual([
    [16_089, 'TXN-1'],
    [16_189, 'TXN-3'],
    [16_448, 'TXN-2'],
  ]);
  client.close();
});

test('keeps the deadline exactly during a pause after a 429', async () => {
  const refusal = new Response('', { status: 429, headers: { 'retry-after': '60' } });
  const { client, seen } = createScriptedService(respondInTurn(refusal));
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 7_300 })));
  expect(end).toMatchObject({ at: 7_300, error: { lastError: { code: 'rate_limited' } } });
  expect(seen).toHaveLength(1);
});

test('counts the deadline from startedAt', async () => {
  const { client } = createScriptedService(respondInTurn('pending'));
  const startedAt = Date.now() - 50 * SECOND;
  const end = await runToEnd(
    timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE, startedAt })),
  );
  expect(end).toMatchObject({ at: 10_000, error: { elapsed: MINUTE, startedAt } });
});

test('makes the last poll half a second before the deadline', async () => {
  const statuses = respondInTurn(...Array(11).fill('pending'), 'success');
  const { client, seen } = createScriptedService(statuses, { latency: 400 });
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE })));
  expect(seen.at(-1)?.at).toBe(MINUTE - 500);
  expect(end).toMatchObject({ at: MINUTE - 100, value: { status: 'success' } });
});

test('makes the last poll a tenth of the time before a near deadline', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 2_000 })));
  expect(seen.map(({ at }) => at)).toEqual([0, 1_800]);
});

test('polls once if the deadline comes before the first check', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const startedAt = Date.now();
  await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { startedAt, timeout: 4_000 })));
  expect(seen.map(({ at }) => at)).toEqual([3_600]);
});

test('polls once after a deadline that passed while the thread was busy', async () => {
  const response = Promise.withResolvers<string>();
  const { client, seen } = createScriptedService(
    (reference) => (reference === 'TXN-slow' ? response.promise : 'pending'),
    {
      polling: { maxConcurrency: 1 },
    },
  );
  const slow = client.waitForFinalStatus('TXN-slow');
  const queued = timeSettlement(client.waitForFinalStatus('TXN-queued', { timeout: 5_000 }));
  await vi.advanceTimersByTimeAsync(1_000);
  jumpClock(10_000);
  response.resolve('success');
  await flushMicrotasks();
  await slow;
  expect(await runToEnd(queued)).toMatchObject({ at: 11_005, error: { code: 'wait_timeout', attempts: 1 } });
  expect(seen.map(({ reference }) => reference)).toEqual(['TXN-slow', 'TXN-queued']);
});

test('keeps a deadline exactly that is longer than one timer can hold', async () => {
  const timeout = 3 * LONGEST_TIMER + 12_345;
  const rare = { initialDelay: 20 * DAY, minDelay: 20 * DAY, maxDelay: 20 * DAY };
  const { client, seen } = createScriptedService(respondInTurn('pending'), { polling: rare });
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout })), 100 * DAY);
  expect(end).toMatchObject({ at: timeout, error: { code: 'wait_timeout' } });
  expect(seen.map(({ at }) => at / DAY)).toEqual([0, 20, 40, expect.closeTo(timeout / DAY, 4)]);
});

test('waits without a deadline through a delay longer than one timer can hold', async () => {
  const rare = { initialDelay: LONGEST_TIMER, minDelay: LONGEST_TIMER, maxDelay: LONGEST_TIMER };
  const { client, seen } = createScriptedService(respondInTurn('pending', 'pending', 'pending', 'success'), {
    polling: rare,
  });
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: Number.POSITIVE_INFINITY }));
  expect(await runToEnd(wait, 100 * DAY)).toMatchObject({ value: { status: 'success' } });
  expect(seen.map(({ at }) => at)).toEqual([0, 1, 2, 3].map((count) => count * LONGEST_TIMER));
});

test('keeps waits with and without a deadline apart', async () => {
  const { client } = createScriptedService((reference) => (reference === 'TXN-a' ? 'pending' : 'success'));
  const endless = client.waitForFinalStatus('TXN-a', { timeout: Number.POSITIVE_INFINITY });
  let ended = false;
  endless.catch(() => {}).finally(() => (ended = true));
  const near = timeSettlement(client.waitForFinalStatus('TXN-a', { timeout: 9_000 }));
  const far = timeSettlement(client.waitForFinalStatus('TXN-b', { timeout: 3 * LONGEST_TIMER }));
  expect(await runToEnd(near, 9_000)).toMatchObject({ at: 9_000, error: { code: 'wait_timeout' } });
  expect(await far).toMatchObject({ value: { status: 'success' } });
  await vi.advanceTimersByTimeAsync(60 * MINUTE);
  expect(ended).toBe(false);
  client.close();
  await flushMicrotasks();
  expect(ended).toBe(true);
});
