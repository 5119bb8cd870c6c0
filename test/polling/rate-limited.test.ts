import { expect, test, vi } from 'vitest';
import type { PaymentsClient } from '../../src/index.ts';
import { REFERENCE } from '../support/calls.ts';
import { MINUTE, SECOND, timed, useFakeClock } from '../support/fake-clock.ts';
import { inTurn, type Said, scriptedService } from '../support/scripted-service.ts';
import { charge, failureOf } from '../support/service.ts';

useFakeClock();

const references = (count: number) => Array.from({ length: count }, (_, index) => `TXN-${index}`);

const refusal = (retryAfter?: string) =>
  new Response('', { status: 429, headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter } });

/** Many waits, and a service that refuses one request from the eighth second on: the first to `refused`. */
async function refusedOnce(refused: (reference: string) => boolean, answer: () => Response, count = 200) {
  const began = performance.now();
  let refusedAt: number | undefined;
  const say = (reference: string): Said => {
    const now = performance.now() - began;
    if (refusedAt !== undefined || now < 8 * SECOND || !refused(reference)) return 'pending';
    refusedAt = now;
    return answer();
  };
  const { client, seen } = scriptedService(say, { maxRetries: 0 });
  for (const reference of references(count)) timed(client.waitForFinalStatus(reference, { minDelay: 2_000 }));
  await vi.advanceTimersByTimeAsync(8 * SECOND);
  return { client, seen, refusedAt: () => refusedAt ?? Number.NaN };
}

const isWaitedFor = (reference: string) => /^TXN-\d+$/.test(reference);

test.each([
  ['in seconds', () => refusal('7'), 7_000],
  ['as a date', () => refusal(new Date(Date.now() + 9_000).toUTCString()), 9_000],
  ['absent', () => refusal(), 5_000],
  ['of a form that cannot be read', () => refusal('soon'), 5_000],
  ['negative', () => refusal('-3'), 5_000],
  ['of no time', () => refusal('0'), 1_000],
  ['in the past', () => refusal(new Date(Date.now() - MINUTE).toUTCString()), 1_000],
  ['absurd', () => refusal('99999999999'), 60_000],
  ['a date in another century', () => refusal('Fri, 31 Dec 2999 23:59:59 GMT'), 60_000],
])('a 429 whose Retry-After is %s pauses every wait of the client', async (_, answer, pause) => {
  const { client, seen, refusedAt } = await refusedOnce(isWaitedFor, answer);
  await vi.advanceTimersByTimeAsync(pause + 5 * SECOND);
  const after = seen.filter(({ at }) => at > refusedAt()).map(({ at }) => at);
  const next = (after[0] ?? 0) - refusedAt();
  // A date has whole seconds.
  expect(next).toBeGreaterThan(pause - SECOND);
  expect(next).toBeLessThanOrEqual(pause + 100);
  expect(after.length).toBeGreaterThan(50);
  client.close();
});

test.each<[string, (client: PaymentsClient) => Promise<unknown>, string]>([
  ['a charge', (client) => client.chargeMobileMoney(charge), 'charge-mobile-money'],
  ['a verify', (client) => client.verify(REFERENCE), REFERENCE],
  ['a check', (client) => client.check(REFERENCE), REFERENCE],
])('a 429 to %s pauses every wait of the client', async (_, call, path) => {
  const { client, seen, refusedAt } = await refusedOnce(
    (reference) => reference === path,
    () => refusal('8'),
  );
  expect(await failureOf(call(client))).toMatchObject({ code: 'rate_limited', retryAfter: 8_000 });
  await vi.advanceTimersByTimeAsync(8 * SECOND - 1);
  expect(seen.filter(({ at }) => at > refusedAt())).toEqual([]);
  await vi.advanceTimersByTimeAsync(100);
  expect(seen.filter(({ at }) => at > refusedAt()).length).toBeGreaterThan(0);
  client.close();
});

test('after a pause the rate is half of what it was, then grows, then is whole again', async () => {
  const { client, seen, refusedAt } = await refusedOnce(isWaitedFor, () => refusal('10'), 1_000);
  await vi.advanceTimersByTimeAsync(20 * SECOND);
  const resumed = refusedAt() + 10 * SECOND;
  const inSecond = (second: number) =>
    seen.filter(({ at }) => at >= resumed + second * SECOND && at < resumed + (second + 1) * SECOND).length;
  const rates = Array.from({ length: 8 }, (_, second) => inSecond(second));
  expect(rates[0]).toBeGreaterThanOrEqual(25);
  expect(rates[0]).toBeLessThanOrEqual(30);
  for (const [second, rate] of rates.slice(0, 5).entries()) {
    expect(rate).toBeGreaterThanOrEqual(25 + 5 * second - 3);
    expect(rate).toBeLessThanOrEqual(30 + 5 * second + 3);
  }
  expect(rates.slice(6)).toEqual([50, 50]);
  client.close();
});

test('requests that were under way together and are refused together halve the rate once', async () => {
  const began = performance.now();
  const { client, seen } = scriptedService(
    () => (performance.now() - began < SECOND ? refusal('0') : 'pending'),
    { latency: 300, polling: { maxRequestsPerSecond: 100 } },
  );
  for (const reference of references(500)) timed(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(400);
  expect(seen.length).toBeGreaterThanOrEqual(30);
  await vi.advanceTimersByTimeAsync(20 * SECOND);
  const resumed = seen.filter(({ at }) => at > 400);
  const inFirstSecond = resumed.filter(({ at }) => at < (resumed[0]?.at ?? 0) + SECOND);
  expect(inFirstSecond.length).toBeGreaterThanOrEqual(50);
  expect(inFirstSecond.length).toBeLessThanOrEqual(60);
  client.close();
});

test('a service that refuses again and again is asked ever more slowly, and never given up', async () => {
  const { client, seen } = scriptedService(() => refusal('5'));
  for (const reference of references(100)) timed(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(5 * MINUTE);
  const inMinute = (minute: number) =>
    seen.filter(({ at }) => at >= minute * MINUTE && at < (minute + 1) * MINUTE).length;
  expect(inMinute(0)).toBeLessThanOrEqual(60);
  expect(inMinute(4)).toBeLessThanOrEqual(15);
  expect(inMinute(4)).toBeGreaterThan(0);
  client.close();
});

test('a service that has refused for long is asked at the full rate soon after it stops', async () => {
  const began = performance.now();
  const { client, seen } = scriptedService(() =>
    performance.now() - began < 2 * MINUTE ? refusal('1') : 'pending',
  );
  for (const reference of references(1_000)) timed(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(2 * MINUTE + 20 * SECOND);
  const atLast = seen.filter(({ at }) => at >= 2 * MINUTE + 15 * SECOND);
  expect(atLast.length).toBeGreaterThanOrEqual(245);
  client.close();
});

test('no hint gets through a pause', async () => {
  const { client, seen, refusedAt } = await refusedOnce(isWaitedFor, () => refusal('10'));
  for (let moment = 0; moment < 9_500; moment += 100) {
    for (const reference of references(200)) client.notify(reference);
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(seen.filter(({ at }) => at > refusedAt())).toEqual([]);
  client.close();
});

test('a wait that begins in a pause is asked for after it', async () => {
  const { client, seen, refusedAt } = await refusedOnce(isWaitedFor, () => refusal('10'));
  await vi.advanceTimersByTimeAsync(SECOND);
  timed(client.waitForFinalStatus('TXN-late'));
  await vi.advanceTimersByTimeAsync(MINUTE);
  const first = seen.find(({ reference }) => reference === 'TXN-late');
  expect(first?.at).toBeGreaterThanOrEqual(refusedAt() + 10 * SECOND);
  client.close();
});

test('an absurd Retry-After of a 503 holds back the polls of its reference for a minute, not for ever', async () => {
  const busy = new Response('', { status: 503, headers: { 'retry-after': '99999999' } });
  const { client, seen } = scriptedService(inTurn(busy, 'success'));
  timed(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(2 * MINUTE);
  expect(seen.map(({ at }) => at)).toEqual([0, MINUTE]);
});

test('Retry-After of a 503 or of a 200 holds back the polls of that reference, and no others', async () => {
  const later = { headers: { 'retry-after': '20' } };
  const { client, seen } = scriptedService((reference) =>
    reference === 'TXN-other' ? 'pending' : new Response('', { status: 503, ...later }),
  );
  timed(client.waitForFinalStatus(REFERENCE));
  timed(client.waitForFinalStatus('TXN-other'));
  await vi.advanceTimersByTimeAsync(45 * SECOND);
  const momentsOf = (of: string) => seen.filter(({ reference }) => reference === of).map(({ at }) => at);
  expect(momentsOf(REFERENCE)).toEqual([0, 20_000, 40_000]);
  expect(momentsOf('TXN-other').length).toBeGreaterThan(8);
  const polite = inTurn(Response.json({ status: true, data: { reference: REFERENCE } }, later), 'success');
  const second = scriptedService(polite);
  timed(second.client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(30 * SECOND);
  expect(second.seen.map(({ at }) => at)).toEqual([0, 8_000]);
  client.close();
});
