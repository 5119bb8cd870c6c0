import { expect, test, vi } from 'vitest';
import type { WaitOptions } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import {
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

/** A wait whose deadline passed long ago, as in a job that stayed in its queue for too long. */
const late = () => ({ startedAt: Date.now() - 11 * MINUTE });

test('keeps the deadline exactly while apiKey hangs, and sends nothing', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'), { apiKey: never });
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 7_300 })));
  expect(end).toMatchObject({ at: 7_300, error: { code: 'wait_timeout' } });
  expect(seen).toEqual([]);
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

test.each(['success', 'failed'])(
  'resolves with %s if the deadline passed before the wait started',
  async (status) => {
    const { client, seen } = createScriptedService(respondInTurn(status));
    const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, late())));
    expect(end).toMatchObject({ at: 0, value: { status } });
    expect(seen).toHaveLength(1);
  },
);

test('compares expect on the check of a wait that started too late', async () => {
  const { client } = createScriptedService(respondInTurn('success'));
  const expectation = { expect: { amount: '1.00' }, ...late() };
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, expectation)));
  expect(end).toMatchObject({ error: { code: 'transaction_mismatch' } });
});

test('times out after one check that is not final', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'), { latency: 300 });
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, late())));
  const error = { code: 'wait_timeout', attempts: 1, lastStatus: 'pending', elapsed: 11 * MINUTE + 300 };
  expect(end).toMatchObject({ at: 300, error });
  expect(String(end.error).length).toBeLessThan(220);
  expect(seen).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

test('times out after one check that fails, and reports its error', async () => {
  const { client, seen } = createScriptedService(respondInTurn(new Response('', { status: 503 })));
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, late())));
  expect(end).toMatchObject({
    at: 0,
    error: { code: 'wait_timeout', attempts: 1, lastError: { code: 'server_error' } },
  });
  expect(seen).toHaveLength(1);
});

test('waits ten seconds for the one check, and no longer', async () => {
  const { client, seen } = createScriptedService(never);
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, late())));
  expect(end).toMatchObject({ at: 10 * SECOND, error: { code: 'wait_timeout', attempts: 1 } });
  expect(seen.map(({ signal }) => signal.aborted)).toEqual([true]);
});

test('checks a late wait ahead of a full queue', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'), {
    polling: { maxRequestsPerSecond: 10 },
  });
  for (let index = 0; index < 1_000; index++) timeSettlement(client.waitForFinalStatus(`TXN-${index}`));
  await vi.advanceTimersByTimeAsync(20 * SECOND);
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus('TXN-late', late())), SECOND);
  expect(end).toMatchObject({ at: expect.toSatisfy((at: number) => at <= 100), error: { attempts: 1 } });
  expect(seen.filter(({ reference }) => reference === 'TXN-late')).toHaveLength(1);
  client.close();
});

test.each([
  ['maxConcurrency', { maxConcurrency: 1 }, never],
  ['a pause after a 429', {}, () => new Response('', { status: 429, headers: { 'retry-after': '60' } })],
])('reports that no check was sent if %s prevents it', async (_, polling, say) => {
  const { client, seen } = createScriptedService(say, { polling });
  for (let index = 0; index < 10; index++) timeSettlement(client.waitForFinalStatus(`TXN-${index}`));
  await vi.advanceTimersByTimeAsync(2 * SECOND);
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, late())), 20 * SECOND);
  expect(end).toMatchObject({ at: 10 * SECOND, error: { code: 'wait_timeout', attempts: 0 } });
  expect(String(end.error)).toContain('no check could be sent');
  expect(seen.filter(({ reference }) => reference === REFERENCE)).toEqual([]);
  client.close();
});

test('yields the status of the one check, and then times out', async () => {
  const { client } = createScriptedService(respondInTurn('processing'));
  const statuses: string[] = [];
  const reading = (async () => {
    for await (const { status } of client.watch(REFERENCE, late())) statuses.push(status);
  })();
  expect(await runToEnd(timeSettlement(reading))).toMatchObject({ error: { code: 'wait_timeout' } });
  expect(statuses).toEqual(['processing']);
});

test('checks once after a freeze over the deadline', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending', 'success'));
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE, { minDelay: MINUTE, maxDelay: MINUTE }));
  await vi.advanceTimersByTimeAsync(SECOND);
  jumpClock(11 * MINUTE);
  expect(await runToEnd(wait)).toMatchObject({ value: { status: 'success' } });
  expect(seen).toHaveLength(2);
});

test('checks again if a freeze might have lost the response', async () => {
  const { client, seen } = createScriptedService((_, count) => (count === 1 ? never() : 'success'));
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(SECOND);
  jumpClock(11 * MINUTE);
  expect(await runToEnd(wait)).toMatchObject({ value: { status: 'success' } });
  expect(seen.map(({ signal }) => signal.aborted)).toEqual([true, false]);
});

test('checks again if the process freezes once more during the check', async () => {
  const { client, seen } = createScriptedService((_, count) => (count < 3 ? never() : 'success'));
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(SECOND);
  jumpClock(11 * MINUTE);
  await vi.advanceTimersByTimeAsync(9 * SECOND);
  expect(seen).toHaveLength(2);
  jumpClock(11 * MINUTE);
  expect(await runToEnd(wait)).toMatchObject({ value: { status: 'success' } });
  expect(seen).toHaveLength(3);
});

test('checks once if the thread was busy from the start to the deadline', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 100 }));
  jumpClock(300);
  expect(await runToEnd(wait)).toMatchObject({ value: { status: 'success' } });
  expect(seen).toHaveLength(1);
});

test('keeps to the schedule after a sleep without any wait', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success', 'pending'));
  await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE)), SECOND);
  vi.setSystemTime(Date.now() + 60 * MINUTE);
  timeSettlement(client.waitForFinalStatus(REFERENCE, { startedAt: Date.now(), initialDelay: 8 * SECOND }));
  await vi.advanceTimersByTimeAsync(8 * SECOND);
  expect(seen.map(({ at }) => at)).toEqual([0, 9_000]);
  client.close();
});

test('checks within ten seconds after a sleep that stopped the timers', async () => {
  const { client, seen } = createScriptedService((_, count) => (count === 2 ? never() : 'pending'));
  timeSettlement(client.waitForFinalStatus(REFERENCE, { minDelay: MINUTE, maxDelay: MINUTE }));
  await vi.advanceTimersByTimeAsync(MINUTE + SECOND);
  vi.setSystemTime(Date.now() + 60 * MINUTE);
  await vi.advanceTimersByTimeAsync(10 * SECOND);
  // The request in flight might have lost its connection while the machine slept.
  expect(seen.map(({ signal }) => signal.aborted)).toEqual([false, true, false]);
  client.close();
});

test('checks once if slow listeners kept the thread busy over a deadline', async () => {
  const now = performance.now.bind(performance);
  let busy = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + busy);
  const { client, seen } = createScriptedService(respondInTurn('pending'), {
    onEvent: (event) => {
      if (event.type === 'wait' && event.reference.startsWith('TXN-slow')) busy += 10;
    },
  });
  const wait = (reference: string, initialDelay: number, timeout: number) =>
    timeSettlement(client.waitForFinalStatus(reference, { startedAt: Date.now(), initialDelay, timeout }));
  for (let index = 0; index < 100; index++) wait(`TXN-slow-${index}`, 5 * SECOND, SECOND);
  // The first poll of each is due in the tick in which the slow waits end.
  for (let index = 0; index < 3; index++) wait(`TXN-near-${index}`, SECOND, 1_900);
  wait('TXN-far', SECOND, MINUTE);
  await vi.advanceTimersByTimeAsync(2 * SECOND);
  const after = seen.filter(({ at }) => at >= SECOND).map(({ reference, at }) => [reference, at]);
  const near = [0, 1, 2].map((index) => [`TXN-near-${index}`, 2 * SECOND + 5]);
  expect(after).toEqual([['TXN-far', 2 * SECOND], ...near]);
  client.close();
});

test('keeps deadlines while polls that hang fill maxConcurrency', async () => {
  const { client, seen } = createScriptedService(never, { polling: { maxConcurrency: 2 } });
  const waits = Array.from({ length: 10 }, (_, index) =>
    timeSettlement(client.waitForFinalStatus(`TXN-${index}`, { timeout: 7_300 })),
  );
  const ends = await runToEnd(Promise.all(waits));
  expect(ends.map(({ at }) => at)).toEqual(Array(10).fill(7_300));
  expect(seen).toHaveLength(2);
});
