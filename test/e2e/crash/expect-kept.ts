import { expect } from 'vitest';
import type { FollowUpRunResult } from './follow-ups/harness.ts';
import type { RunResult } from './harness.ts';

/** Expects that no promise was broken, and that the run had kills, replays, conflicts and unknown results. */
export function expectChargesKept(result: RunResult, minKills: number): void {
  const { keys, violations, doubled, states, ...counts } = result;
  expect(violations).toEqual([]);
  expect(doubled).toBe(0);
  expect(counts.kills).toBeGreaterThanOrEqual(minKills);
  expect(counts.restarts).toBe(counts.kills);
  const { completed = 0, rejected = 0, unknown = 0, notCharged = 0 } = states ?? {};
  expect(completed + rejected + unknown + notCharged).toBe(keys);
  for (const count of [completed, unknown, counts.replayed, counts.conflicts])
    expect(count).toBeGreaterThan(0);
}

/** Expects that no promise was broken, and that the run had kills, and payments of every kind. */
export function expectFollowUpsKept(result: FollowUpRunResult, minKills: number): void {
  const { violations, failed, unexplained, early, repeatedWithoutCause, ...counts } = result;
  expect(violations).toEqual([]);
  expect(failed).toEqual([]);
  expect({ unexplained, early, repeatedWithoutCause }).toEqual({
    unexplained: 0,
    early: 0,
    repeatedWithoutCause: 0,
  });
  expect(counts.kills).toBeGreaterThanOrEqual(minKills);
  const { delivered, overdue, mismatch, unresolved, heldAtKill, notified } = counts;
  for (const count of [delivered, overdue, mismatch, unresolved, heldAtKill, notified])
    expect(count).toBeGreaterThan(0);
  expect(delivered).toBeGreaterThan(counts.payments / 3);
}
