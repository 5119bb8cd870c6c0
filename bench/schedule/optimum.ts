import { DEADLINE, type Fate, LATENCY } from './model.ts';
import type { Policy } from './policies.ts';

/** The grid on which checks may fall, in milliseconds. */
const STEP = 250;
const STEPS = DEADLINE / STEP;

/**
 * The best that any schedule can do that knows the law: of all sequences of checks, the one whose mean delay is the
 * least for what it costs, a check being as dear as `price` milliseconds of delay. By dynamic programming from the
 * deadline backwards: what is best after a check depends on that check alone, since all that it told is "not yet".
 */
function bestChecks(law: Cumulative, price: number): number[] {
  const cost = new Float64Array(STEPS + 1);
  const next = new Int32Array(STEPS + 1);
  const leastSteps = Math.ceil(LATENCY / STEP);
  for (let from = STEPS - 1; from >= 0; from--) {
    let best = Number.POSITIVE_INFINITY;
    for (let to = Math.min(STEPS, from + leastSteps); to <= STEPS; to++) {
      const total = price * law.waiting(from) + law.delay(from, to) + (cost[to] ?? 0);
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

/** The optimum that makes as many requests per wait as `requests`, by the law that these fates follow. */
export function optimum(known: readonly Fate[], requests: number): Policy {
  const law = cumulative(known);
  let [low, high] = [1, 10_000];
  for (let round = 0; round < 30; round++) {
    const price = Math.sqrt(low * high);
    if (law.requests(bestChecks(law, price)) > requests) low = price;
    else high = price;
  }
  const checks = bestChecks(law, high);
  return {
    name: 'optimum that knows the law (DP)',
    first: checks[0] ?? DEADLINE,
    next: (elapsed, attempt) => {
      const check = checks[attempt];
      return check === undefined ? null : Math.max(0, check - elapsed);
    },
  };
}

type Cumulative = ReturnType<typeof cumulative>;

/** Sums over the fates that end within each step, so that any stretch of time is the difference of two. */
function cumulative(fates: readonly Fate[]) {
  const ended = new Float64Array(STEPS + 1);
  const moments = new Float64Array(STEPS + 1);
  for (const { finalAt } of fates) {
    const step = Math.ceil(finalAt / STEP);
    if (step > STEPS) continue;
    ended[step] = (ended[step] ?? 0) + 1 / fates.length;
    moments[step] = (moments[step] ?? 0) + finalAt / fates.length;
  }
  for (let step = 1; step <= STEPS; step++) {
    ended[step] = (ended[step] ?? 0) + (ended[step - 1] ?? 0);
    moments[step] = (moments[step] ?? 0) + (moments[step - 1] ?? 0);
  }
  const between = (sums: Float64Array, from: number, to: number) => (sums[to] ?? 0) - (sums[from] ?? 0);
  const waiting = (step: number) => 1 - (ended[step] ?? 0);
  return {
    /** The part that is not final yet. */
    waiting,
    /** How late, in the mean over all, a check at `to` learns of what ended since `from`. */
    delay: (from: number, to: number) => to * STEP * between(ended, from, to) - between(moments, from, to),
    requests: (checks: readonly number[]) =>
      checks.reduce((sum, _, index) => sum + waiting((checks[index - 1] ?? 0) / STEP), 0),
  };
}
