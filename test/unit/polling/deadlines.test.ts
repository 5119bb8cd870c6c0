import { expect, test, vi } from 'vitest';
import { REFERENCE } from '../../helpers/calls.ts';
import {
  jumpClock,
  MINUTE,
  runToEnd,
  SECOND,
  timeSettlement,
  useFakeClock,
} from '../../helpers/fake-clock.ts';
import {
  createScriptedService,
  respondInTurn,
  type ScriptedResponse,
} from '../../helpers/scripted-service.ts';

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

test.each([
  ['after another', undefined, 2_000, [0, 1_800]],
  ['as the first', 0, 4_000, [3_600]],
])('makes a last poll a tenth of the time before the deadline, %s', async (_, ago, timeout, times) => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const options = ago === undefined ? { timeout } : { startedAt: Date.now() - ago, timeout };
  await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, options)));
  expect(seen.map(({ at }) => at)).toEqual(times);
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

test.each<[string, ScriptedResponse, object]>([
  ['is not final', 'pending', { code: 'wait_timeout', lastStatus: 'pending', elapsed: 11 * MINUTE + 300 }],
  ['fails', new Response('', { status: 503 }), { code: 'wait_timeout', lastError: { code: 'server_error' } }],
  ['does not match', 'success', { code: 'transaction_mismatch' }],
])('rejects a wait that started too late after one check that %s', async (_, response, expected) => {
  const { client, seen } = createScriptedService(respondInTurn(response), { latency: 300 });
  const options = { expect: { amount: '1.00' }, ...late() };
  const { at, error } = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, options)));
  expect(at).toBe(300);
  expect(error).toMatchObject(expected);
  expect(String(error).length).toBeLessThan(220);
  expect(seen).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
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

test('checks once after a freeze over the deadline', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending', 'success'));
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE, { minDelay: MINUTE, maxDelay: MINUTE }));
  await vi.advanceTimersByTimeAsync(SECOND);
  jumpClock(11 * MINUTE);
  expect(await runToEnd(wait)).toMatchObject({ value: { status: 'success' } });
  expect(seen).toHaveLength(2);
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
