import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { WaitTimeoutError } from '../../src/index.ts';
import { MINUTE, timed, useFakeClock } from '../helpers/fake-clock.ts';
import { brokenConnection, type Said, scriptedService } from '../helpers/scripted-service.ts';
import { sized } from '../helpers/sized.ts';

useFakeClock();

const REFERENCES = 4;
const LATENCY = 300;
/** How long the one check may take of a wait that begins after its deadline. */
const LAST_CHECK = 10_000;
const MOST = { concurrency: 2, perSecond: 10 };

/** How a service answers about one reference, until it is told otherwise. */
const manners: Record<string, () => Said | Promise<Said>> = {
  pending: () => 'pending',
  success: () => 'success',
  abandoned: () => 'abandoned',
  hanging: () => new Promise(() => {}),
  broken: () => brokenConnection(),
  missing: () => new Response('', { status: 404 }),
  busy: () => new Response('', { status: 503, headers: { 'retry-after': '4' } }),
  refusing: () => new Response('', { status: 429, headers: { 'retry-after': '2' } }),
};

const reference = fc.nat(REFERENCES - 1);
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      does: fc.constant('wait' as const),
      reference,
      signal: fc.nat(2),
      timeout: fc.constantFrom(1, 400, 3_000, 9_000, 30_000, MINUTE),
      ago: fc.constantFrom(undefined, 0, 2_000, 20_000),
      patient: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant('pass' as const), time: fc.integer({ min: 1, max: 6_000 }) }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('hint' as const), reference }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('abort' as const), signal: fc.nat(2) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('answer' as const),
      reference,
      manner: fc.constantFrom(...Object.keys(manners)),
    }),
  },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Waits on a service, with a record of who waits, so that each request can be held against it. */
function world() {
  const answers = new Map<string, string>();
  const signals = [new AbortController(), new AbortController(), new AbortController()];
  const waiting = new Set<{ reference: string; deadline: number; grace: number }>();
  const wrongs: string[] = [];
  const ends: Promise<void>[] = [];
  const flying = new Set<string | undefined>();
  const { client, seen } = scriptedService(
    (name) => manners[answers.get(name) ?? 'pending']?.() ?? 'pending',
    {
      latency: LATENCY,
      polling: { maxConcurrency: MOST.concurrency, maxRequestsPerSecond: MOST.perSecond },
      onEvent: (event) => {
        if (event.type === 'response') flying.delete(event.reference);
        if (event.type !== 'request') return;
        const now = performance.now();
        if (flying.has(event.reference)) wrongs.push(`${now}: two requests at once for ${event.reference}`);
        if (flying.add(event.reference).size > MOST.concurrency)
          wrongs.push(`${now}: too many requests at once`);
        const wanted = [...waiting].some(
          (wait) => wait.reference === event.reference && now < wait.deadline + wait.grace,
        );
        if (!wanted) wrongs.push(`${now}: a request for ${event.reference}, for which nobody waits`);
      },
    },
  );

  const begin = ({ reference: index, signal, timeout, ago, patient }: Step & { does: 'wait' }) => {
    const name = `TXN-${index}`;
    const now = performance.now();
    const abort = signals[signal];
    const deadline = Math.max(now, now - (ago ?? 0) + timeout);
    // What nobody has asked about until its deadline is asked about once.
    const wait = { reference: name, deadline, grace: deadline - now < 10 ? LAST_CHECK : 0 };
    waiting.add(wait);
    const promise = client.waitForFinalStatus(name, {
      timeout,
      ...(ago === undefined ? {} : { startedAt: Date.now() - ago }),
      ...(abort ? { signal: abort.signal } : {}),
      ...(patient ? { finalStatuses: ['success', 'failed'] as const } : {}),
    });
    const end = timed(promise).then(({ at, value, error }) => {
      waiting.delete(wait);
      const late = now + at - wait.deadline;
      if (late > wait.grace) wrongs.push(`${name} ended ${late} ms after its deadline`);
      if (error instanceof WaitTimeoutError && late < 0) wrongs.push(`${name} timed out ${-late} ms early`);
      if (value && value.status !== 'success' && (patient || value.status !== 'abandoned'))
        wrongs.push(`${name} ended with ${value.status}`);
    });
    ends.push(end);
  };

  const run = async (each: Step): Promise<void> => {
    if (each.does === 'wait') begin(each);
    else if (each.does === 'hint') client.notify(`TXN-${each.reference}`);
    else if (each.does === 'pass') await vi.advanceTimersByTimeAsync(each.time);
    else if (each.does === 'answer') answers.set(`TXN-${each.reference}`, each.manner);
    else {
      signals[each.signal]?.abort();
      signals[each.signal] = new AbortController();
    }
  };
  const listeners = () => signals.flatMap(({ signal }) => getEventListeners(signal, 'abort')).length;
  return { run, client, seen, ends, wrongs, listeners };
}

test('keeps limits, deadlines and cleanup in any order of steps (property)', async () => {
  let requests = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }), async (steps) => {
      const { run, client, seen, ends, wrongs, listeners } = world();
      for (const each of steps) await run(each);
      await vi.advanceTimersByTimeAsync(MINUTE + 1);
      await Promise.all(ends);
      const asked = seen.length;
      requests += asked;
      await vi.advanceTimersByTimeAsync(MINUTE);
      expect(wrongs).toEqual([]);
      expect(seen).toHaveLength(asked);
      expect(vi.getTimerCount()).toBe(0);
      expect(listeners()).toBe(0);
      const moments = seen.map(({ at }) => at);
      for (const [index, moment] of moments.entries()) {
        expect((moments[index + MOST.perSecond] ?? Number.POSITIVE_INFINITY) - moment).toBeGreaterThanOrEqual(
          1_000,
        );
      }
      client.close();
    }),
    { numRuns: sized(40, 100) },
  );
  expect(requests).toBeGreaterThan(sized(200, 500));
});
