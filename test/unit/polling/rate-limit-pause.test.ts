import { expect, test, vi } from 'vitest';
import type { PaymentsClient } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, SECOND, timeSettlement, useFakeClock } from '../../helpers/fake-clock.ts';
import {
  createScriptedService,
  respondInTurn,
  type ScriptedResponse,
} from '../../helpers/scripted-service.ts';
import { catchError, charge } from '../../helpers/service.ts';

useFakeClock();

const references = (count: number) => Array.from({ length: count }, (_, index) => `TXN-${index}`);

const refusal = (retryAfter?: string) =>
  new Response('', { status: 429, headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter } });

interface Limit {
  /** The first request that is refused, after the eighth second. */
  first(reference: string): boolean;
  refuse(): Response;
  /** How long every request is refused from then on, in milliseconds. */
  lasts: number;
  count?: number;
}

/** Many waits, and a service that limits the key: after it refused one request, it refuses all for a while. */
async function limitedByKey({ first, refuse, lasts, count = 200 }: Limit) {
  const start = performance.now();
  let refusedAt: number | undefined;
  const say = (reference: string): ScriptedResponse => {
    const now = performance.now() - start;
    if (refusedAt === undefined && now >= 8 * SECOND && first(reference)) refusedAt = now;
    return refusedAt !== undefined && now < refusedAt + lasts ? refuse() : 'pending';
  };
  const { client, seen } = createScriptedService(say, { maxRetries: 0 });
  for (const reference of references(count))
    timeSettlement(client.waitForFinalStatus(reference, { minDelay: 2_000 }));
  await vi.advanceTimersByTimeAsync(8 * SECOND);
  const after = () => seen.filter(({ at }) => at > (refusedAt ?? Number.NaN));
  return { client, seen, after, refusedAt: () => refusedAt ?? Number.NaN };
}

const isWaitedFor = (reference: string) => /^TXN-\d+$/.test(reference);

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
])('pauses every wait but one probe after a 429, Retry-After %s', async (_, refuse, pause) => {
  const { client, after, refusedAt } = await limitedByKey({ first: isWaitedFor, refuse, lasts: pause });
  await vi.advanceTimersByTimeAsync(pause + 6 * SECOND);
  const [probe, next, ...others] = after().map(({ at }) => at - refusedAt());
  expect(probe).toBe(Math.min(1_000, pause / 2));
  // A date has whole seconds. The probe was refused too, so the pause counts from the probe.
  expect(next).toBeGreaterThan(pause - SECOND);
  expect(next).toBeLessThanOrEqual(pause + SECOND + 100);
  expect(others.length).toBeGreaterThan(50);
  client.close();
});

test.each<[string, (client: PaymentsClient) => Promise<unknown>, string, number]>([
  ['a charge', (client) => client.chargeMobileMoney(charge), 'charge-mobile-money', 0],
  ['a verify', (client) => client.verify(REFERENCE), REFERENCE, 1],
  ['a check', (client) => client.check(REFERENCE), REFERENCE, 1],
])('pauses every wait after a 429 to %s', async (_, call, path, probes) => {
  const { client, after } = await limitedByKey({
    first: (reference) => reference === path,
    refuse: () => refusal('8'),
    lasts: 7 * SECOND,
  });
  expect(await catchError(call(client))).toMatchObject({ code: 'rate_limited', retryAfter: 8_000 });
  await vi.advanceTimersByTimeAsync(8 * SECOND - 1);
  expect(after()).toHaveLength(probes);
  await vi.advanceTimersByTimeAsync(SECOND + 100);
  expect(after().length).toBeGreaterThan(probes);
  client.close();
});

test('pauses every wait after a 429 to a charge whose outcome is unknown', async () => {
  const { client, after } = await limitedByKey({
    first: (reference) => reference === 'charge-mobile-money',
    refuse: () => Response.json({ reference: REFERENCE }, { status: 429, headers: { 'retry-after': '8' } }),
    lasts: 7 * SECOND,
  });
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toMatchObject({ code: 'outcome_unknown', cause: { code: 'rate_limited' } });
  await vi.advanceTimersByTimeAsync(8 * SECOND - 1);
  expect(after()).toEqual([]);
  await vi.advanceTimersByTimeAsync(SECOND + 100);
  expect(after().length).toBeGreaterThan(0);
  client.close();
});

test('halves the rate after a pause, then recovers to the full rate', async () => {
  const { client, seen, refusedAt } = await limitedByKey({
    first: (path) => path === 'charge-mobile-money',
    refuse: () => refusal('10'),
    lasts: SECOND,
    count: 1_000,
  });
  await catchError(client.chargeMobileMoney(charge));
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

test('halves the rate once if requests in flight together are refused', async () => {
  const start = performance.now();
  const { client, seen } = createScriptedService(
    () => (performance.now() - start < 450 ? refusal('0') : 'pending'),
    { latency: 300, polling: { maxRequestsPerSecond: 100 } },
  );
  for (const reference of references(500)) timeSettlement(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(400);
  expect(seen.length).toBeGreaterThanOrEqual(30);
  await vi.advanceTimersByTimeAsync(20 * SECOND);
  const resumed = seen.filter(({ at }) => at > SECOND);
  const inFirstSecond = resumed.filter(({ at }) => at < (resumed[0]?.at ?? 0) + SECOND);
  expect(inFirstSecond.length).toBeGreaterThanOrEqual(50);
  expect(inFirstSecond.length).toBeLessThanOrEqual(60);
  client.close();
});

test('slows down each time the service refuses, and never gives up', async () => {
  const { client, seen } = createScriptedService(() => refusal('5'));
  for (const reference of references(100)) timeSettlement(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(5 * MINUTE);
  const inMinute = (minute: number) =>
    seen.filter(({ at }) => at >= minute * MINUTE && at < (minute + 1) * MINUTE).length;
  expect(inMinute(0)).toBeLessThanOrEqual(60);
  expect(inMinute(4)).toBeLessThanOrEqual(15);
  expect(inMinute(4)).toBeGreaterThan(0);
  client.close();
});

test('recovers the full rate soon after a long refusal ends', async () => {
  const start = performance.now();
  const { client, seen } = createScriptedService(() =>
    performance.now() - start < 2 * MINUTE ? refusal('1') : 'pending',
  );
  for (const reference of references(1_000)) timeSettlement(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(2 * MINUTE + 23 * SECOND);
  const atLast = seen.filter(({ at }) => at >= 2 * MINUTE + 18 * SECOND);
  expect(atLast.length).toBeGreaterThanOrEqual(245);
  client.close();
});

test('sends no poll for notify during a pause', async () => {
  const { client, after } = await limitedByKey({
    first: isWaitedFor,
    refuse: () => refusal('10'),
    lasts: 11 * SECOND,
  });
  for (let time = 0; time < 9_500; time += 100) {
    for (const reference of references(200)) client.notify(reference);
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(after()).toHaveLength(1);
  client.close();
});

test('keeps a long pause when a later 429 asks for a short one', async () => {
  const retryAfter = ['30', '1'];
  const { client, after } = await limitedByKey({
    first: (path) => path === 'charge-mobile-money',
    refuse: () => refusal(retryAfter.shift()),
    lasts: SECOND,
  });
  for (const expected of [30_000, 1_000])
    expect(await catchError(client.chargeMobileMoney(charge))).toMatchObject({ retryAfter: expected });
  // The second charge is the only request since the first one was refused.
  const sent = after().length;
  await vi.advanceTimersByTimeAsync(30 * SECOND - 1);
  expect(after()).toHaveLength(sent);
  await vi.advanceTimersByTimeAsync(SECOND);
  expect(after().length).toBeGreaterThan(sent);
  client.close();
});

test('keeps a pause if its probe gets a 503', async () => {
  let requests = 0;
  const { client, seen } = createScriptedService(
    () => (++requests === 1 ? refusal('30') : new Response('', { status: 503 })),
    { polling: { maxRequestsPerSecond: 10 } },
  );
  for (const reference of references(10)) timeSettlement(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(30 * SECOND - 1);
  expect(seen.map(({ at }) => at)).toEqual([0, 1_000]);
  await vi.advanceTimersByTimeAsync(SECOND);
  expect(seen.length).toBeGreaterThan(2);
  client.close();
});

test('polls after the pause for a wait that starts during it', async () => {
  const { client, seen, refusedAt } = await limitedByKey({
    first: isWaitedFor,
    refuse: () => refusal('10'),
    lasts: 10 * SECOND,
  });
  await vi.advanceTimersByTimeAsync(2 * SECOND);
  timeSettlement(client.waitForFinalStatus('TXN-late'));
  await vi.advanceTimersByTimeAsync(MINUTE);
  const first = seen.find(({ reference }) => reference === 'TXN-late');
  expect(first?.at).toBeGreaterThanOrEqual(refusedAt() + 10 * SECOND);
  client.close();
});

test('limits an absurd Retry-After of a 503 to a minute', async () => {
  const busy = new Response('', { status: 503, headers: { 'retry-after': '99999999' } });
  const { client, seen } = createScriptedService(respondInTurn(busy, 'success'));
  timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(2 * MINUTE);
  expect(seen.map(({ at }) => at)).toEqual([0, MINUTE]);
});

test('holds back only the polls of the reference whose Retry-After it was', async () => {
  const later = { headers: { 'retry-after': '20' } };
  const { client, seen } = createScriptedService((reference) =>
    reference === 'TXN-other' ? 'pending' : new Response('', { status: 503, ...later }),
  );
  timeSettlement(client.waitForFinalStatus(REFERENCE));
  timeSettlement(client.waitForFinalStatus('TXN-other'));
  await vi.advanceTimersByTimeAsync(48 * SECOND);
  const momentsOf = (of: string) => seen.filter(({ reference }) => reference === of).map(({ at }) => at);
  expect(momentsOf(REFERENCE)).toEqual([0, 20_000, 40_000]);
  expect(momentsOf('TXN-other').length).toBeGreaterThan(8);
  const polite = respondInTurn(
    Response.json({ status: true, data: { reference: REFERENCE } }, later),
    'success',
  );
  const second = createScriptedService(polite);
  timeSettlement(second.client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(30 * SECOND);
  expect(second.seen.map(({ at }) => at)).toEqual([0, 8_000]);
  client.close();
});
