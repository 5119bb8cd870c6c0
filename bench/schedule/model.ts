import { logNormal, oneOf, seeded } from './random.ts';

/** How long customers take, in seconds. */
export interface Law {
  name: string;
  /** Of the time until an approval. */
  median: number;
  /** When a prompt that nobody answers ends as failed: seconds, and how often. */
  expiries: readonly (readonly [seconds: number, weight: number])[];
}

/** What becomes of one charge, and when, in milliseconds after it. */
export interface Fate {
  kind: 'approved' | 'declined' | 'unanswered' | 'stuck';
  finalAt: number;
}

/** How long a request takes, and how long anyone waits. */
export const LATENCY = 250;
export const DEADLINE = 600_000;

export const law: Law = {
  name: 'the model',
  median: 20,
  expiries: [
    [60, 0.2],
    [120, 0.3],
    [180, 0.2],
    [300, 0.3],
  ],
};

const medians = [8, 12, 20, 30, 40].map((median): Law => ({ ...law, name: `median ${median} s`, median }));

const expiries = [60, 120, 180, 300].map(
  (expiry): Law => ({ ...law, name: `expiry ${expiry} s`, expiries: [[expiry, 1]] }),
);

/** What a schedule that knows none of them should bear. */
export const otherLaws: readonly Law[] = [...medians, ...expiries];

/** The same charges for every schedule, and with the same seed in every run. */
export function fates({ median, expiries }: Law, count: number, seed: number): Fate[] {
  const random = seeded(seed);
  const finalAt = {
    // Nobody types a PIN in less than 3 s.
    approved: () => 3 + (median - 3) * logNormal(random, 0.85),
    declined: () => 3 + 0.6 * (median - 5) * logNormal(random, 0.85),
    unanswered: () => oneOf(random, expiries) + 8 * random(),
    stuck: () => 300 + 3_000 * random(),
  };
  return Array.from({ length: count }, () => {
    const kind = oneOf(random, [
      ['approved', 0.7],
      ['declined', 0.08],
      ['unanswered', 0.2],
      ['stuck', 0.02],
    ] as const);
    return { kind, finalAt: finalAt[kind]() * 1_000 };
  });
}
