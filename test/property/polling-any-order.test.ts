import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { WaitTimeoutError } from '../../src/index.ts';
import { MINUTE, timeSettlement, useFakeClock } from '../helpers/fake-clock.ts';
import {
  createResetError,
  createScriptedService,
  type ScriptedResponse,
} from '../helpers/scripted-service.ts';
import { chooseSize } from '../helpers/sized.ts';

useFakeClock();

const REFERENCES = 4;
const LATENCY = 300;
/** How long the one check of a wait that starts after its deadline can take. */
const FINAL_CHECK_TIMEOUT = 10_000;
const LIMITS = { concurrency: 2, perSecond: 10 };

/** How the service responds to a check of one reference, until a step changes that. */
const responses: Record<string, () => ScriptedResponse | Promise<ScriptedResponse>> = {
  pending: () => 'pending',
  success: () => 'success',
  abandoned: () => 'abandoned',
  hanging: () => new Promise(() => {}),
  broken: () => createResetError(),
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
      waitsThroughAbandoned: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant('pass' as const), time: fc.integer({ min: 1, max: 6_000 }) }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('notify' as const), reference }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('abort' as const), signal: fc.nat(2) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('setResponse' as const),
      reference,
      response: fc.constantFrom(...Object.keys(responses)),
    }),
  },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Runs steps against a service, and records each broken promise about a request or a wait. */
function createWorld() {
  const chosen = new Map<string, string>();
  const signals = [new AbortController(), new AbortController(), new AbortController()];
  const openWaits = new Set<{ reference: string; deadline: number; grace: number }>();
  const violations: string[] = [];
  const ends: Promise<void>[] = [];
  const inFlight = new Set<string | undefined>();
  const { client, seen } = createScriptedService(
    (name) => responses[chosen.get(name) ?? 'pending']?.() ?? 'pending',
    {
      latency: LATENCY,
      polling: { maxConcurrency: LIMITS.concurrency, maxRequestsPerSecond: LIMITS.perSecond },
      onEvent: (event) => {
        if (event.type === 'response') inFlight.delete(event.reference);
        if (event.type !== 'request') return;
        const now = performance.now();
        if (inFlight.has(event.reference))
          violations.push(`${now}: two requests at once for ${event.reference}`);
        if (inFlight.add(event.reference).size > LIMITS.concurrency)
          violations.push(`${now}: too many requests at once`);
        const isOpen = [...openWaits].some(
          (wait) => wait.reference === event.reference && now < wait.deadline + wait.grace,
        );
        if (!isOpen) violations.push(`${now}: a request for ${event.reference}, on which no wait is open`);
      },
    },
  );

  const startWait = ({
    reference: index,
    signal,
    timeout,
    ago,
    waitsThroughAbandoned,
  }: Step & { does: 'wait' }) => {
    const name = `TXN-${index}`;
    const now = performance.now();
    const abort = signals[signal];
    const deadline = Math.max(now, now - (ago ?? 0) + timeout);
    // A reference without any check until the deadline gets one check.
    const wait = { reference: name, deadline, grace: deadline - now < 10 ? FINAL_CHECK_TIMEOUT : 0 };
    openWaits.add(wait);
    const promise = client.waitForFinalStatus(name, {
      timeout,
      ...(ago === undefined ? {} : { startedAt: Date.now() - ago }),
      ...(abort ? { signal: abort.signal } : {}),
      ...(waitsThroughAbandoned ? { finalStatuses: ['success', 'failed'] as const } : {}),
    });
    const end = timeSettlement(promise).then(({ at, value, error }) => {
      openWaits.delete(wait);
      const late = now + at - wait.deadline;
      if (late > wait.grace) violations.push(`${name} ended ${late} ms after its deadline`);
      if (error instanceof WaitTimeoutError && late < 0)
        violations.push(`${name} timed out ${-late} ms early`);
      if (value && value.status !== 'success' && (waitsThroughAbandoned || value.status !== 'abandoned'))
        violations.push(`${name} ended with ${value.status}`);
    });
    ends.push(end);
  };

  const run = async (each: Step): Promise<void> => {
    if (each.does === 'wait') startWait(each);
    else if (each.does === 'notify') client.notify(`TXN-${each.reference}`);
    else if (each.does === 'pass') await vi.advanceTimersByTimeAsync(each.time);
    else if (each.does === 'setResponse') chosen.set(`TXN-${each.reference}`, each.response);
    else {
      signals[each.signal]?.abort();
      signals[each.signal] = new AbortController();
    }
  };
  const listeners = () => signals.flatMap(({ signal }) => getEventListeners(signal, 'abort')).length;
  return { run, client, seen, ends, violations, listeners };
}

test('keeps limits, deadlines and cleanup in any order of steps (property)', async () => {
  let total = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }), async (steps) => {
      const { run, client, seen, ends, violations, listeners } = createWorld();
      for (const each of steps) await run(each);
      await vi.advanceTimersByTimeAsync(MINUTE + 1);
      await Promise.all(ends);
      const requests = seen.length;
      total += requests;
      await vi.advanceTimersByTimeAsync(MINUTE);
      expect(violations).toEqual([]);
      expect(seen).toHaveLength(requests);
      expect(vi.getTimerCount()).toBe(0);
      expect(listeners()).toBe(0);
      const times = seen.map(({ at }) => at);
      for (const [index, time] of times.entries()) {
        expect((times[index + LIMITS.perSecond] ?? Number.POSITIVE_INFINITY) - time).toBeGreaterThanOrEqual(
          1_000,
        );
      }
      client.close();
    }),
    { numRuns: chooseSize(40, 100) },
  );
  expect(total).toBeGreaterThan(chooseSize(200, 500));
});
