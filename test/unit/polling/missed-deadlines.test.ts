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
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';

useFakeClock();

const never = () => new Promise<never>(() => {});

/** A wait whose deadline passed long ago, as in a job that stayed in its queue for too long. */
const late = () => ({ startedAt: Date.now() - 11 * MINUTE });

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

test('rejects with the permanent error of the one check', async () => {
  const { client } = createScriptedService(respondInTurn(new Response('', { status: 403 })));
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, late())));
  expect(end).toMatchObject({ error: { status: 403 } });
});

test('waits ten seconds for the one check, and no longer', async () => {
  const { client, seen } = createScriptedService(never);
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, late())));
  expect(end).toMatchObject({ at: 10 * SECOND, error: { code: 'wait_timeout', attempts: 1 } });
  expect(seen.map(({ signal }) => signal.aborted)).toEqual([true]);
});

test('ends the one check on an abort', async () => {
  const { client, seen } = createScriptedService(never);
  const abort = new AbortController();
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE, { ...late(), signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(SECOND);
  abort.abort();
  expect(await wait).toMatchObject({ at: SECOND, error: abort.signal.reason });
  expect(seen.map(({ signal }) => signal.aborted)).toEqual([true]);
  expect(vi.getTimerCount()).toBe(0);
});

test('ends the one check on close', async () => {
  const { client } = createScriptedService(never);
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE, late()));
  await vi.advanceTimersByTimeAsync(SECOND);
  client.close();
  expect(await wait).toMatchObject({ at: SECOND, error: { code: 'closed' } });
  expect(vi.getTimerCount()).toBe(0);
});

test('shares the one check among waits on one reference', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending', 'success'), { latency: 100 });
  const longWait = timeSettlement(
    client.waitForFinalStatus(REFERENCE, { startedAt: Date.now(), initialDelay: MINUTE }),
  );
  const waits = [1, 2, 3].map(() => timeSettlement(client.waitForFinalStatus(REFERENCE, late())));
  const ends = await runToEnd(Promise.all(waits), SECOND);
  expect(ends.map(({ at }) => at)).toEqual([100, 100, 100]);
  expect(ends.every(({ error }) => String(error).includes('"pending" after 1 check'))).toBe(true);
  expect(seen).toHaveLength(1);
  expect(await runToEnd(longWait)).toMatchObject({ value: { status: 'success' } });
});

test('checks a shared reference at most once per second', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  timeSettlement(client.waitForFinalStatus(REFERENCE, { minDelay: MINUTE, maxDelay: MINUTE }));
  await vi.advanceTimersByTimeAsync(10 * SECOND);
  for (let count = 0; count < 40; count++) {
    timeSettlement(client.waitForFinalStatus(REFERENCE, late()));
    await vi.advanceTimersByTimeAsync(100);
  }
  await vi.advanceTimersByTimeAsync(SECOND);
  expect(seen.map(({ at }) => at)).toEqual([0, 10_000, 11_000, 12_000, 13_000, 14_000]);
  client.close();
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

test('calls onPoll and onEvent for the one check', async () => {
  const seen: unknown[] = [];
  const { client } = createScriptedService(respondInTurn('pending'), {
    onEvent: (event) => seen.push(event),
  });
  const onPoll = vi.fn();
  await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { ...late(), onPoll })));
  expect(onPoll).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ attempt: 1, nextDelay: null }));
  expect(seen).toContainEqual(expect.objectContaining({ type: 'poll', status: 'pending', delay: null }));
  expect(seen).toContainEqual(expect.objectContaining({ type: 'wait', result: 'timeout', attempts: 1 }));
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

test('ends at its deadline while a 429 still holds its reference back', async () => {
  const refusal = () => new Response('', { status: 429, headers: { 'retry-after': '2' } });
  const { client } = createScriptedService(() => refusal());
  const first = timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 9 * SECOND }));
  await vi.advanceTimersByTimeAsync(9 * SECOND);
  await first;
  const second = timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 400 }));
  expect(await runToEnd(second)).toMatchObject({ at: 400, error: { code: 'wait_timeout' } });
});
