import { expect, test, vi } from 'vitest';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, SECOND, timeSettlement, useFakeClock } from '../../helpers/fake-clock.ts';
import { readPollTimes } from '../../helpers/poll-times.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';

useFakeClock();

const fast = { initialDelay: 0, minDelay: 500, maxDelay: 500 };
const slow = { initialDelay: 0, minDelay: MINUTE, maxDelay: MINUTE };

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

test('keeps the frequent schedule when the wait with the rare one ends', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const abort = new AbortController();
  timeSettlement(client.waitForFinalStatus(REFERENCE, { ...slow, signal: abort.signal }));
  timeSettlement(client.waitForFinalStatus(REFERENCE, fast));
  await vi.advanceTimersByTimeAsync(700);
  abort.abort();
  await vi.advanceTimersByTimeAsync(SECOND);
  expect(readPollTimes(seen)).toEqual([0, 500, 1_000, 1_500]);
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

test('makes the polls of one for waits with equal options of their own', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'), { latency: 200 });
  const alike = { minDelay: 4_000, maxDelay: 4_000, initialDelay: 0 };
  for (let count = 0; count < 20; count++) {
    timeSettlement(client.waitForFinalStatus(REFERENCE, { ...alike }));
    await vi.advanceTimersByTimeAsync(700);
  }
  expect(readPollTimes(seen)).toEqual([0, 4_200, 8_400, 12_600]);
  client.close();
});
