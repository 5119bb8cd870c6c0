import { expect, test, vi } from 'vitest';
import { MINUTE, SECOND, useFakeClock } from '../../helpers/fake-clock.ts';
import { createScriptedService, type ScriptedResponse } from '../../helpers/scripted-service.ts';
import { chooseSize } from '../../helpers/sized.ts';

useFakeClock();

/** Options of this test alone, so that no figure depends on a default. */
const schedule = { initialDelay: 5_000, minDelay: 4_000, maxDelay: 4_000, timeout: 5 * MINUTE };
const LATENCY = 50;

const refusal = (seconds: number) =>
  new Response('', { status: 429, headers: { 'retry-after': String(seconds) } });

const median = (list: number[]) => list.toSorted((a, b) => a - b)[list.length >> 1];

interface Crowd {
  /** Returns the Retry-After in seconds if the service refuses a request at `now`. */
  refuses(reference: string, now: number): number | undefined;
  /** References that stay pending, and their place among the others. */
  bad?: number;
  order?: 'first' | 'last' | 'mixed';
  /** In milliseconds. */
  lasts: number;
}

/** Runs 500 payments that are approved one after another, and returns how late their waits detect it. */
async function crowd({ refuses, bad = 0, order = 'mixed', lasts }: Crowd) {
  const count = 500;
  const startTime = performance.now();
  const since = () => performance.now() - startTime;
  const approvedAt = (index: number) => 5 * SECOND + ((index * 37) % count) * 80;
  const { client, seen } = createScriptedService(
    (reference): ScriptedResponse => {
      const seconds = refuses(reference, since());
      if (seconds !== undefined) return refusal(seconds);
      const index = Number(reference.slice('TXN-'.length));
      return since() < approvedAt(index) ? 'pending' : 'success';
    },
    { latency: LATENCY, polling: schedule },
  );
  const delays: number[] = [];
  const good = Array.from({ length: count }, (_, index) => () => {
    client.waitForFinalStatus(`TXN-${index}`).then(
      () => delays.push(since() - approvedAt(index)),
      () => delays.push(Number.POSITIVE_INFINITY),
    );
  });
  const others = Array.from({ length: bad }, (_, index) => () => {
    client.waitForFinalStatus(`TXN-bad${index}`).catch(() => {});
  });
  const apart = Math.ceil(count / Math.max(1, bad));
  const starts = {
    first: [...others, ...good],
    last: [...good, ...others],
    mixed: good.flatMap((start, index) => [
      start,
      ...others.slice(index / apart, index % apart === 3 ? index / apart + 1 : 0),
    ]),
  };
  for (const start of starts[order]) start();
  await vi.advanceTimersByTimeAsync(lasts);
  client.close();
  await vi.advanceTimersByTimeAsync(SECOND);
  const isBad = ({ reference }: { reference: string }) => reference.startsWith('TXN-bad');
  return {
    median: median(delays) ?? 0,
    most: Math.max(...delays),
    requests: seen.length,
    badRequests: seen.filter(isBad).length,
    delays,
  };
}

const limitedByReference = (seconds: number) => (reference: string) =>
  reference.startsWith('TXN-bad') ? seconds : undefined;

/** Measured without a refused reference. The rate is the limit: 500 references want 125 polls a second. */
const USUAL = { median: 2_910, most: 9_850 };

test('detects 500 payments within this time if no request is refused', async () => {
  const seen = await crowd({ refuses: () => undefined, lasts: 75 * SECOND });
  expect(seen).toMatchObject(USUAL);
});

type Refused = [count: number, seconds: number, order: 'first' | 'last' | 'mixed'];
const inAnyOrder: Refused[] = [
  [1, 5, 'first'],
  [20, 5, 'first'],
  [20, 60, 'last'],
];

test.each<Refused>([[1, 60, 'mixed'], [20, 1, 'mixed'], [20, 60, 'first'], ...chooseSize([], inAnyOrder)])(
  'delays no other wait for %d references refused for %d s, %s',
  async (bad, seconds, order) => {
    const lasts = 75 * SECOND;
    const seen = await crowd({ refuses: limitedByReference(seconds), bad, order, lasts });
    expect(seen.delays).toHaveLength(500);
    expect(seen.median).toBeLessThan(1.15 * USUAL.median);
    expect(seen.most).toBeLessThan(USUAL.most + 5 * SECOND);
    // No request about a refused reference leaves before its Retry-After.
    expect(seen.badRequests).toBeLessThanOrEqual(bad * (1 + Math.ceil(lasts / (seconds * SECOND))));
  },
);

/** Creates a rate limit that accepts `most` requests in each window, and refuses the others. */
function createWindowLimit(most: number, seconds: number) {
  let windowEnds = 0;
  let taken = 0;
  return (_: string, now: number) => {
    if (now >= windowEnds) {
      windowEnds = now + seconds * SECOND;
      taken = 0;
    }
    return ++taken > most ? Math.ceil((windowEnds - now) / SECOND) : undefined;
  };
}

/** Creates a rate limit that accepts `perSecond` requests in a second, and then refuses all for `seconds`. */
function createBlockingLimit(perSecond: number, seconds: number) {
  let blockedUntil = 0;
  let tokens = perSecond;
  let last = 0;
  return (_: string, now: number) => {
    tokens = Math.min(perSecond, tokens + ((now - last) / SECOND) * perSecond);
    last = now;
    if (now >= blockedUntil && tokens >= 1) {
      tokens--;
      return undefined;
    }
    blockedUntil = Math.max(blockedUntil, now + seconds * SECOND);
    return seconds;
  };
}

// The figures of a client that pauses for every 429, measured before limits of a reference were recognised.
test.each([
  ['100 in 30 s', () => createWindowLimit(100, 30), 80_005, 649],
  ['300 in 10 s', () => createWindowLimit(300, 10), 5_666, 1_355],
  ['20 in 1 s, else none for 5 s', () => createBlockingLimit(20, 5), 24_436, 762],
])('detects payments as early as before if the key is limited: %s', async (_, refuses, before, requests) => {
  const seen = await crowd({ refuses: refuses(), lasts: 4 * MINUTE });
  expect(seen.median).toBeLessThan(1.1 * before);
  expect(seen.requests).toBeLessThan(1.05 * requests);
});

/** Returns how many requests 100 waits make in so many seconds to a service that refuses all. */
async function refusedAll(perSecond: number, seconds: number, latency: number) {
  const { client, seen } = createScriptedService(() => refusal(seconds), {
    latency,
    polling: { ...schedule, maxRequestsPerSecond: perSecond, timeout: 20 * MINUTE },
  });
  for (let index = 0; index < 100; index++) client.waitForFinalStatus(`TXN-${index}`).catch(() => {});
  await vi.advanceTimersByTimeAsync(10 * MINUTE);
  client.close();
  return [2, 5, 10].map((minutes) => seen.filter(({ at }) => at <= minutes * MINUTE).length);
}

// For 2, 5 and 10 minutes: the requests of a client that pauses for every 429, measured before there were probes.
test.each([
  [50, 1, 0, [126, 306, 606]],
  [50, 1, 150, [118, 275, 536]],
  [50, 5, 0, [30, 66, 126]],
  [50, 5, 150, [38, 73, 131]],
  [50, 60, 0, [8, 11, 16]],
  [50, 60, 150, [14, 19, 24]],
  [10, 5, 0, [25, 61, 121]],
  [10, 60, 0, [3, 6, 11]],
])(
  'sends no more than before if all is refused: %d/s, %d s, %d ms',
  async (perSecond, seconds, latency, before) => {
    const sent = await refusedAll(perSecond, seconds, latency);
    for (const [index, count] of sent.entries()) expect(count).toBeLessThanOrEqual(before[index] ?? 0);
  },
);

test('sends nothing about a refused reference before its Retry-After', async () => {
  const { client, seen } = createScriptedService(
    (reference) => (reference === 'TXN-bad' ? refusal(30) : 'pending'),
    { polling: { ...schedule, timeout: 70 * SECOND } },
  );
  client.waitForFinalStatus('TXN-bad').catch(() => {});
  client.waitForFinalStatus('TXN-good').catch(() => {});
  await vi.advanceTimersByTimeAsync(5 * SECOND);
  // Not for notify, nor for a near deadline, nor for a wait that starts too late, nor for one that starts anew.
  client.waitForFinalStatus('TXN-bad', { timeout: 10 * SECOND }).catch(() => {});
  client.waitForFinalStatus('TXN-bad', { startedAt: Date.now() - 5 * MINUTE }).catch(() => {});
  for (let second = 5; second < 62; second++) {
    client.notify('TXN-bad');
    await vi.advanceTimersByTimeAsync(SECOND);
  }
  const requests = (about: string) => seen.filter(({ reference }) => reference === about).map(({ at }) => at);
  expect(requests('TXN-bad')).toEqual([0, 30_000, 60_000]);
  expect(requests('TXN-good').length).toBeGreaterThan(10);
  client.close();
});

test('remembers a refused reference after its wait ends', async () => {
  const { client, seen } = createScriptedService(
    (reference) => (reference === 'TXN-bad' ? refusal(30) : 'pending'),
    {
      polling: schedule,
    },
  );
  client.waitForFinalStatus('TXN-good').catch(() => {});
  for (let second = 0; second < 50; second += 5) {
    client.waitForFinalStatus('TXN-bad', { timeout: 4 * SECOND }).catch(() => {});
    await vi.advanceTimersByTimeAsync(5 * SECOND);
  }
  expect(seen.filter(({ reference }) => reference === 'TXN-bad').map(({ at }) => at)).toEqual([0, 30_000]);
  client.close();
});

test('probes no second pause because of a response to an earlier request', async () => {
  const slow = Promise.withResolvers<ScriptedResponse>();
  const { client, seen } = createScriptedService(
    (reference) => (reference === 'TXN-slow' ? slow.promise : refusal(8)),
    { polling: { ...schedule, maxRequestsPerSecond: 10 } },
  );
  client.waitForFinalStatus('TXN-slow').catch(() => {});
  await vi.advanceTimersByTimeAsync(SECOND);
  for (let index = 0; index < 4; index++) client.waitForFinalStatus(`TXN-${index}`).catch(() => {});
  await vi.advanceTimersByTimeAsync(6 * SECOND);
  // The first request after the slow one is refused, and so is the probe: the limit is the key's.
  expect(seen.map(({ at }) => at)).toEqual([0, 1_000, 2_000]);
  // The slow request left before the limit was reached, so its response proves nothing about the limit.
  slow.resolve('success');
  await vi.advanceTimersByTimeAsync(10 * SECOND);
  expect(seen.map(({ at }) => at).slice(3)).toEqual([10_000]);
  client.close();
});
