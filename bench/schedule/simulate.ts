import { DEADLINE, type Fate, LATENCY } from './model.ts';
import type { Policy } from './policies.ts';
import { seeded } from './random.ts';

/** What a schedule costs, and how late it learns of the end: in seconds, of the waits that learned of it. */
export interface Figures {
  requests: number;
  mean: number;
  p95: number;
  /** Of the customers who paid alone. */
  paid: { requests: number; mean: number; p95: number };
  /** The part of the payments that were final at the deadline, and not seen to be. */
  missed: number;
}

export function simulate({ first, next }: Policy, fates: readonly Fate[], seed: number): Figures {
  const random = seeded(seed);
  const all: Wait[] = [];
  const paid: Wait[] = [];
  for (const fate of fates) {
    const wait = waitFor(fate.finalAt);
    all.push(wait);
    if (fate.kind === 'approved') paid.push(wait);
  }
  const final = fates.filter(({ finalAt }) => finalAt < DEADLINE).length;
  const seen = all.filter(({ delay }) => delay !== undefined).length;
  return { ...summary(all), paid: summary(paid), missed: 1 - seen / final };

  function waitFor(finalAt: number): Wait {
    let left = first;
    for (let requests = 1; ; requests++) {
      const answered = left + LATENCY;
      // The service reads the status as the request leaves: the answer may be stale by its whole way.
      if (left >= finalAt) return { requests, delay: answered - finalAt };
      const pause = next(answered, requests, random());
      if (pause === null) return { requests, delay: undefined };
      left = answered + pause;
    }
  }
}

interface Wait {
  requests: number;
  delay: number | undefined;
}

function summary(waits: readonly Wait[]) {
  const delays = Float64Array.from(waits.flatMap(({ delay }) => delay ?? [])).sort();
  return {
    requests: waits.reduce((sum, { requests }) => sum + requests, 0) / waits.length,
    mean: delays.reduce((sum, delay) => sum + delay, 0) / delays.length / 1_000,
    p95: (delays[Math.floor(0.95 * delays.length)] ?? Number.NaN) / 1_000,
  };
}
