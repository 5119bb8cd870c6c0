import { expect, test, vi } from 'vitest';
import type { Poll } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, runToEnd, SECOND, timeSettlement, useFakeClock } from '../../helpers/fake-clock.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';

useFakeClock();

/** Returns the times of the polls, in milliseconds. */
const readPollTimes = (seen: { at: number }[]) => seen.map(({ at }) => at);

const fast = { initialDelay: 0, minDelay: 500, maxDelay: 500 };

const slow = { initialDelay: 0, minDelay: MINUTE, maxDelay: MINUTE };

test('sends the headers of the first wait, in place of those of the client', async () => {
  const headers = { 'x-shop': 'all' };
  const { client, seen } = createScriptedService(respondInTurn('pending', 'success'), { headers });
  const shop = (name: string) => client.waitForFinalStatus(REFERENCE, { headers: { 'x-shop': name } });
  await runToEnd(Promise.all([shop('accra'), shop('kumasi')]));
  expect(seen.map(({ headers }) => headers.get('x-shop'))).toEqual(['accra', 'accra']);
});

test('counts the poll in flight as the first poll of a joining wait', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'), { latency: SECOND });
  const first = timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(500);
  const attempts: number[] = [];
  const onPoll = ({ attempt }: Poll) => void attempts.push(attempt);
  const second = timeSettlement(client.waitForFinalStatus(REFERENCE, { onPoll }));
  expect(await runToEnd(second)).toMatchObject({ at: 500, value: { status: 'success' } });
  expect(attempts).toEqual([1]);
  await first;
  expect(seen).toHaveLength(1);
});

test('starts anew for a later wait: with a poll, a count and its own headers', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending', 'pending', 'success'));
  await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 6_000 })), 7_000);
  expect(seen).toHaveLength(2);
  const polls: number[] = [];
  const again = timeSettlement(
    client.waitForFinalStatus(REFERENCE, {
      headers: { 'x-shop': 'tema' },
      onPoll: ({ attempt }) => polls.push(attempt),
    }),
  );
  expect(await runToEnd(again)).toMatchObject({ at: 0, value: { status: 'success' } });
  expect(seen.map(({ at }) => at)).toEqual([0, 5_500, 7_000]);
  expect(seen[2]?.headers.get('x-shop')).toBe('tema');
  expect(polls).toEqual([1]);
});

test('polls as often as a joining wait asks for', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  timeSettlement(client.waitForFinalStatus(REFERENCE, slow));
  await vi.advanceTimersByTimeAsync(10_100);
  timeSettlement(client.waitForFinalStatus(REFERENCE, fast));
  await vi.advanceTimersByTimeAsync(1_500);
  expect(readPollTimes(seen)).toEqual([0, 10_100, 10_600, 11_100, 11_600]);
  client.close();
});

test('polls as seldom as the remaining waits allow when the frequent one ends', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const abort = new AbortController();
  timeSettlement(client.waitForFinalStatus(REFERENCE, { ...fast, signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(1_200);
  timeSettlement(client.waitForFinalStatus(REFERENCE));
  abort.abort();
  await vi.advanceTimersByTimeAsync(11_800);
  expect(readPollTimes(seen)).toEqual([0, 500, 1_000, 1_500, 8_000, 11_000]);
  client.close();
});

test('polls no sooner for a joining wait than the service asked for', async () => {
  const busy = new Response('', { status: 503, headers: { 'retry-after': '12' } });
  const { client, seen } = createScriptedService(respondInTurn(busy, 'pending'));
  timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(SECOND);
  timeSettlement(client.waitForFinalStatus(REFERENCE, fast));
  await vi.advanceTimersByTimeAsync(12 * SECOND);
  expect(readPollTimes(seen)).toEqual([0, 12_000, 12_500, 13_000]);
  client.close();
});

test('keeps minDelay between polls, and to deadlines that follow one another', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const timeouts = Array.from({ length: 50 }, (_, index) => MINUTE + 250 * index);
  const waits = timeouts.map((timeout) => timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout })));
  const ends = await runToEnd(Promise.all(waits));
  expect(ends.map(({ at }) => at)).toEqual(timeouts);
  const times = readPollTimes(seen);
  const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  // Only the very last poll can be brought forward by a deadline.
  expect(Math.min(...pauses.slice(0, -1))).toBeGreaterThanOrEqual(3_000);
  for (const timeout of timeouts) {
    const lastPoll = Math.max(...times.filter((time) => time <= timeout));
    expect(timeout - lastPoll).toBeLessThanOrEqual(3_500);
  }
});
