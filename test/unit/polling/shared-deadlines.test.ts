import { expect, test, vi } from 'vitest';
import { WaitTimeoutError } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, runToEnd, SECOND, timeSettlement, useFakeClock } from '../../helpers/fake-clock.ts';
import { createServiceWithSuccessFrom, measurePollTimes, readPollTimes } from '../../helpers/poll-times.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';

useFakeClock();

test('makes the polls of one for 50 waits with the same deadline', async () => {
  const alone = await measurePollTimes(Number.POSITIVE_INFINITY, MINUTE);
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const waits = Array.from({ length: 50 }, () =>
    timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE })),
  );
  const ends = await runToEnd(Promise.all(waits));
  expect(ends.every(({ at, error }) => at === MINUTE && error instanceof WaitTimeoutError)).toBe(true);
  expect(readPollTimes(seen)).toEqual(alone);
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

test('keeps the nearer deadline of a later wait, with a last poll before it', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const long = timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(5 * MINUTE + 2 * SECOND);
  const polls = seen.length;
  const short = timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 8_000 }));
  const end = await runToEnd(short, 8_000);
  expect(end).toMatchObject({ at: 8_000, error: { code: 'wait_timeout', attempts: 1 } });
  expect(readPollTimes(seen).slice(polls)).toEqual([5 * MINUTE + 9_500]);
  expect(await runToEnd(long)).toMatchObject({ at: 10 * MINUTE });
});

test('keeps minDelay if many short waits join a long one', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const long = timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(5 * MINUTE);
  const polls = seen.length;
  for (let count = 0; count < 120; count++) {
    timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 2_000 }));
    await vi.advanceTimersByTimeAsync(500);
  }
  expect(seen.length - polls).toBeLessThanOrEqual(MINUTE / 3_000);
  client.close();
  await long;
});

test('polls for a wait that joins after the final poll of another', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const first = timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE }));
  await vi.advanceTimersByTimeAsync(MINUTE - 200);
  const second = timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE }));
  await runToEnd(first, SECOND);
  const polls = seen.length;
  await runToEnd(second);
  expect(seen.length - polls).toBeGreaterThan(5);
});

test('keeps the other waits when one times out', async () => {
  const { client } = createServiceWithSuccessFrom(40 * SECOND);
  const [short, long] = await runToEnd(
    Promise.all([
      timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 10 * SECOND })),
      timeSettlement(client.waitForFinalStatus(REFERENCE)),
    ]),
  );
  expect(short).toMatchObject({ at: 10 * SECOND, error: { code: 'wait_timeout' } });
  expect(long.value?.status).toBe('success');
});
