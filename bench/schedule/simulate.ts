import { DEADLINE, LATENCY, type Payment } from './model.ts';
import type { Policy } from './policies.ts';
import { createRandom } from './random.ts';

/** The requests of a schedule, and its detection delay in seconds, over the waits that detected the end. */
export interface Figures {
  requests: number;
  mean: number;
  p95: number;
  /** The same for the customers who paid. */
  paid: { requests: number; mean: number; p95: number };
  /** The fraction of the payments, final at the deadline, whose end was not detected. */
  missed: number;
}

/** The figures of one schedule. */
export interface Row extends Figures {
  name: string;
}

export function simulate({ first, next }: Policy, payments: readonly Payment[], seed: number): Figures {
  const random = createRandom(seed);
  const all: Wait[] = [];
  const paid: Wait[] = [];
  for (const payment of payments) {
    const wait = simulateWait(payment.finalAt);
    all.push(wait);
    if (payment.kind === 'approved') paid.push(wait);
  }
  const final = payments.filter(({ finalAt }) => finalAt < DEADLINE).length;
  const detected = all.filter(({ delay }) => delay !== undefined).length;
  return { ...summarize(all), paid: summarize(paid), missed: 1 - detected / final };

  function simulateWait(finalAt: number): Wait {
    let leftAt = first;
    for (let requests = 1; ; requests++) {
      const endedAt = leftAt + LATENCY;
      // The service reads the status when the request leaves: the response can be out of date by its whole latency.
      if (leftAt >= finalAt) return { requests, delay: endedAt - finalAt };
      const delay = next(endedAt, requests, random());
      if (delay === null) return { requests, delay: undefined };
      leftAt = endedAt + delay;
    }
  }
}

interface Wait {
  requests: number;
  delay: number | undefined;
}

function summarize(waits: readonly Wait[]) {
  const delays = Float64Array.from(waits.flatMap(({ delay }) => delay ?? [])).sort();
  return {
    requests: waits.reduce((sum, { requests }) => sum + requests, 0) / waits.length,
    mean: delays.reduce((sum, delay) => sum + delay, 0) / delays.length / 1_000,
    p95: (delays[Math.floor(0.95 * delays.length)] ?? Number.NaN) / 1_000,
  };
}
