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

test('checks once if the thread was busy from the start to the deadline', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 100 }));
  jumpClock(300);
  expect(await runToEnd(wait)).toMatchObject({ value: { status: 'success' } });
  expect(seen).toHaveLength(1);
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
