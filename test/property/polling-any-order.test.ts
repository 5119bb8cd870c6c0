import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { MINUTE, useFakeClock } from '../helpers/fake-clock.ts';
import { chooseSize } from '../helpers/sized.ts';
import { createWorld, run, useSkippedTime } from './polling-world.ts';

useFakeClock();

test('keeps limits, deadlines and cleanup in any order of steps (property)', async () => {
  useSkippedTime();
  const total = { requests: 0, results: new Set<string>() };
  await fc.assert(
    fc.asyncProperty(run, async (given) => {
      const world = createWorld(given);
      for (const step of given.steps) await world.runStep(step);
      world.payAll();
      await vi.advanceTimersByTimeAsync(2 * MINUTE);
      expect([...world.waits]).toEqual([]);
      await Promise.all(world.ends);
      const requests = world.sent.length;
      await vi.advanceTimersByTimeAsync(MINUTE);
      expect(world.sent).toHaveLength(requests);
      expect(vi.getTimerCount()).toBe(0);
      expect(world.listeners()).toBe(0);
      const glances = world.ends.length - world.seenResults.length;
      expect(world.listOtherReports().length).toBeLessThanOrEqual(glances);
      expect(world.violations).toEqual([]);
      for (const [index, { at }] of world.sent.entries()) {
        const next = world.sent[index + given.maxRequestsPerSecond];
        if (next) expect(next.at - at).toBeGreaterThanOrEqual(1_000);
      }
      total.requests += requests;
      for (const result of world.seenResults) total.results.add(result);
    }),
    { numRuns: chooseSize(200, 2_000) },
  );
  expect(total.requests).toBeGreaterThan(chooseSize(1_000, 10_000));
  expect([...total.results].sort()).toEqual(['aborted', 'closed', 'failed', 'final', 'timeout']);
});
