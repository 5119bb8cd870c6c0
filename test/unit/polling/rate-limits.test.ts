import { expect, test, vi } from 'vitest';
import type { PaymentsClient, PollEvent } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, SECOND, timeSettlement, useFakeClock } from '../../helpers/fake-clock.ts';
import { createReferences } from '../../helpers/reconciliation.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';
import { catchError, charge, successBodies } from '../../helpers/service.ts';

useFakeClock();

function startWaits(client: PaymentsClient, count: number): void {
  for (const reference of createReferences(count)) timeSettlement(client.waitForFinalStatus(reference));
}

const countBetween = (seen: { at: number }[], from: number, to: number) =>
  seen.filter(({ at }) => at >= from && at < to).length;

const refusal = (retryAfter?: string) =>
  new Response('', { status: 429, headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter } });

test.each([
  [0.25, 1, 2],
  [19, 1, 95],
  [70, 7, 350],
  [333, 33, 1_650],
  [1_000, 100, 5_000],
])('keeps maxRequestsPerSecond %d in every second, with %d at once', async (most, burst, inFiveSeconds) => {
  const polling = { maxRequestsPerSecond: most, maxConcurrency: 100 };
  const { client, seen } = createScriptedService(respondInTurn('pending'), { polling });
  startWaits(client, Math.ceil(6 * most));
  await vi.advanceTimersByTimeAsync(5 * SECOND - 1);
  const mostWithin = (length: number) =>
    Math.max(...seen.map(({ at }) => countBetween(seen, at, at + length)));
  expect(seen).toHaveLength(inFiveSeconds);
  expect(mostWithin(SECOND)).toBeLessThanOrEqual(Math.max(1, most));
  expect(mostWithin(1)).toBe(burst);
  client.close();
});

test.each([1, 64])('keeps %d polls in flight with 1,000 waits, no more and no fewer', async (most) => {
  const load = { now: 0, most: 0 };
  const { client, seen } = createScriptedService(
    async () => {
      load.most = Math.max(load.most, ++load.now);
      await new Promise((resolve) => setTimeout(resolve, 500));
      load.now--;
      return 'pending';
    },
    { polling: { maxConcurrency: most, maxRequestsPerSecond: 10_000 } },
  );
  startWaits(client, 1_000);
  await vi.advanceTimersByTimeAsync(5 * SECOND + 1);
  expect([load.most, seen.length]).toEqual([most, 11 * most]);
  client.close();
});

test.each([
  ['while all slots are in use', { maxConcurrency: 2 }],
  ['while the rate limit is reached', { maxRequestsPerSecond: 0.1 }],
])('sets no timer again and again, %s', async (_, polling) => {
  const { client } = createScriptedService(() => new Promise(() => {}), { polling });
  startWaits(client, 20);
  await vi.advanceTimersByTimeAsync(SECOND);
  const setTimer = vi.spyOn(globalThis, 'setTimeout');
  await vi.advanceTimersByTimeAsync(8 * SECOND);
  expect(setTimer.mock.calls.length).toBeLessThan(5);
  client.close();
});

test('sends the earliest due poll first, and reports how late it is', async () => {
  const polls: PollEvent[] = [];
  const { client } = createScriptedService(respondInTurn('pending'), {
    polling: { maxRequestsPerSecond: 10 },
    onEvent: (event) => void (event.type === 'poll' && polls.push(event)),
  });
  const now = Date.now();
  // In mixed order: the first poll of each is due at a time of its own, at most a second from now.
  for (let index = 0; index < 100; index++) {
    const order = (index * 37) % 100;
    timeSettlement(client.waitForFinalStatus(`TXN-${order}`, { startedAt: now - 8_000 + 10 * order }));
  }
  await vi.advanceTimersByTimeAsync(495);
  // It is due now: after those that became due before, and before the others.
  client.notify('TXN-99');
  await vi.advanceTimersByTimeAsync(9_450);
  const expected = [...createReferences(50), 'TXN-99', ...createReferences(99).slice(50)];
  expect(polls.map(({ reference }) => reference)).toEqual(expected);
  expect(polls.slice(0, 50).map(({ lag }) => lag)).toEqual(
    expected.slice(0, 50).map((_, index) => 90 * index),
  );
  client.close();
});

test.each([
  ['in seconds', () => refusal('7'), 7_000],
  ['as a date', () => refusal(new Date(Date.now() + 9_000).toUTCString()), 9_000],
  ['absent', () => refusal(), 5_000],
  ['malformed', () => refusal('soon'), 5_000],
  ['negative', () => refusal('-3'), 5_000],
  ['zero', () => refusal('0'), 1_000],
  ['in the past', () => refusal(new Date(Date.now() - MINUTE).toUTCString()), 1_000],
  ['absurd', () => refusal('99999999999'), 60_000],
  ['a date in another century', () => refusal('Fri, 31 Dec 2999 23:59:59 GMT'), 60_000],
])('pauses every wait after a 429, Retry-After %s', async (_, refuse, pause) => {
  vi.setSystemTime('2026-11-28T10:00:00Z');
  const { client, seen } = createScriptedService((name) => (name === 'TXN-0' ? refuse() : 'pending'));
  startWaits(client, 1);
  await vi.advanceTimersByTimeAsync(0);
  startWaits(client, 2);
  await vi.advanceTimersByTimeAsync(pause);
  expect(seen.slice(0, 2)).toMatchObject([
    { reference: 'TXN-0', at: 0 },
    { reference: 'TXN-1', at: pause },
  ]);
  client.close();
});

test.each<[string, (client: PaymentsClient) => Promise<unknown>, body: string]>([
  ['a charge', (client) => client.chargeMobileMoney(charge), ''],
  [
    'a charge whose outcome is unknown',
    (client) => client.chargeMobileMoney(charge),
    `{"reference":"TXN-1"}`,
  ],
  ['a verify', (client) => client.verify(REFERENCE), ''],
  ['a check', (client) => client.check(REFERENCE), ''],
])('pauses every wait after a 429 to %s', async (_, call, body) => {
  const busy = new Response(body, { status: 429, headers: { 'retry-after': '8' } });
  const { client, seen } = createScriptedService((name) => (name === 'TXN-0' ? 'success' : busy), {
    maxRetries: 0,
  });
  await catchError(call(client));
  const wait = timeSettlement(client.waitForFinalStatus('TXN-0'));
  await vi.advanceTimersByTimeAsync(8 * SECOND);
  expect(await wait).toMatchObject({ at: 8_000, value: { status: 'success' } });
  expect(seen).toHaveLength(2);
});

test('pauses every wait for the longest Retry-After of several 429', async () => {
  const pauses = ['20', '2'];
  const { client, seen } = createScriptedService(
    (name) => (name === 'TXN-0' ? 'pending' : refusal(pauses.shift())),
    { maxRetries: 0 },
  );
  await catchError(client.verify('TXN-1'));
  await catchError(client.verify('TXN-2'));
  startWaits(client, 1);
  await vi.advanceTimersByTimeAsync(20 * SECOND);
  expect(seen.slice(2)).toMatchObject([{ reference: 'TXN-0', at: 20_000 }]);
  client.close();
});

test('slows down each time the service refuses, and recovers when it stops', async () => {
  const startedAt = performance.now();
  const { client, seen } = createScriptedService(() =>
    performance.now() - startedAt < 5 * MINUTE ? refusal('5') : 'pending',
  );
  startWaits(client, 1_000);
  await vi.advanceTimersByTimeAsync(5 * MINUTE + 20 * SECOND);
  const inMinutes = [0, 1, 2, 3, 4].map((minute) =>
    countBetween(seen, minute * MINUTE, (minute + 1) * MINUTE),
  );
  expect(inMinutes).toEqual([17, 12, 12, 12, 12]);
  expect(countBetween(seen, 5 * MINUTE + 15 * SECOND, 5 * MINUTE + 20 * SECOND)).toBe(250);
  client.close();
});

test.each([
  ['at most a minute', 99_999_999, [0, 60_000]],
  ['and other references do not', 20, [0, 20_000, 40_000, 60_000]],
])('waits for the Retry-After of a 503 to its reference, %s', async (_, retryAfter, times) => {
  const headers = { 'retry-after': String(retryAfter) };
  const { client, seen } = createScriptedService((reference) =>
    reference === REFERENCE ? new Response('', { status: 503, headers }) : 'pending',
  );
  timeSettlement(client.waitForFinalStatus(REFERENCE));
  startWaits(client, 1);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen.filter(({ reference }) => reference === REFERENCE).map(({ at }) => at)).toEqual(times);
  expect(seen.filter(({ reference }) => reference === 'TXN-0')).toHaveLength(13);
  client.close();
});

test('waits for the Retry-After beside a status', async () => {
  const { client, seen } = createScriptedService(() =>
    Response.json(successBodies.verify({ status: 'pending' }), { headers: { 'retry-after': '20' } }),
  );
  timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen.map(({ at }) => at)).toEqual([0, 20_000, 40_000, 60_000]);
  client.close();
});
