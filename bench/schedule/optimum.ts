import { DEADLINE, LATENCY, type Payment } from './model.ts';
import type { Policy } from './policies.ts';

/** The grid of possible check times, in milliseconds. */
const STEP = 250;
const STEPS = DEADLINE / STEP;

/**
 * Returns the best schedule that knows the model: the sequence of checks with the least mean delay, if a check costs as
 * much as `price` milliseconds of delay. It uses dynamic programming from the deadline backwards. The best checks after a
 * check depend on that check alone, since its only result is "not yet".
 */
function findBestChecks(sums: Sums, price: number): number[] {
  const cost = new Float64Array(STEPS + 1);
  const next = new Int32Array(STEPS + 1);
  const leastSteps = Math.ceil(LATENCY / STEP);
  for (let from = STEPS - 1; from >= 0; from--) {
    let best = Number.POSITIVE_INFINITY;
    for (let to = Math.min(STEPS, from + leastSteps); to <= STEPS; to++) {
      const total = price * sums.getOpenFraction(from) + sums.getDelay(from, to) + (cost[to] ?? 0);
      if (total >= best) continue;
      best = total;
      next[from] = to;
    }
    cost[from] = best;
  }
  const checks: number[] = [];
  for (let at = next[0] ?? STEPS; at < STEPS; at = next[at] ?? STEPS) checks.push(at * STEP);
  return [...checks, DEADLINE];
}

/** Returns the best schedule with at most `requests` requests per wait, for the model of these payments. */
export function findOptimum(payments: readonly Payment[], requests: number): Policy {
  const sums = sumUp(payments);
  let [low, high] = [1, 10_000];
  for (let round = 0; round < 30; round++) {
    const price = Math.sqrt(low * high);
    if (sums.countRequests(findBestChecks(sums, price)) > requests) low = price;
    else high = price;
  }
  const checks = findBestChecks(sums, high);
  return {
    name: 'optimum that knows the model (DP)',
    first: checks[0] ?? DEADLINE,
    next: (elapsed, attempt) => {
      const check = checks[attempt];
      return check === undefined ? null : Math.max(0, check - elapsed);
    },
  };
}

type Sums = ReturnType<typeof sumUp>;

/** Sums up the payments that end before each step, so that any interval is the difference of two sums. */
function sumUp(payments: readonly Payment[]) {
  const ended = new Float64Array(STEPS + 1);
  const times = new Float64Array(STEPS + 1);
  for (const { finalAt } of payments) {
    const step = Math.ceil(finalAt / STEP);
    if (step > STEPS) continue;
    ended[step] = (ended[step] ?? 0) + 1 / payments.length;
    times[step] = (times[step] ?? 0) + finalAt / payments.length;
  }
  for (let step = 1; step <= STEPS; step++) {
    ended[step] = (ended[step] ?? 0) + (ended[step - 1] ?? 0);
    times[step] = (times[step] ?? 0) + (times[step - 1] ?? 0);
  }
  const getBetween = (sums: Float64Array, from: number, to: number) => (sums[to] ?? 0) - (sums[from] ?? 0);
  const getOpenFraction = (step: number) => 1 - (ended[step] ?? 0);
  return {
    /** Returns the fraction of payments that is not final yet. */
    getOpenFraction,
    /** Returns the mean delay, over all payments, of those that end after `from` and are detected at `to`. */
    getDelay: (from: number, to: number) =>
      to * STEP * getBetween(ended, from, to) - getBetween(times, from, to),
    countRequests: (checks: readonly number[]) =>
      checks.reduce((sum, _, index) => sum + getOpenFraction((checks[index - 1] ?? 0) / STEP), 0),
  };
}
