import { createRandom, drawLogNormal, drawOne } from './random.ts';

/** A model of how long customers take, in seconds. */
export interface Model {
  name: string;
  /** The median time until an approval. */
  median: number;
  /** When a prompt without an answer from the customer fails: seconds, and how often. */
  expiries: readonly (readonly [seconds: number, weight: number])[];
}

/** The end of one payment, in milliseconds after its charge. */
export interface Payment {
  kind: 'approved' | 'declined' | 'unanswered' | 'stuck';
  finalAt: number;
}

/** How long a request takes, and the deadline of each wait. In milliseconds. */
export const LATENCY = 250;
export const DEADLINE = 600_000;

export const defaultModel: Model = {
  name: 'default',
  median: 20,
  expiries: [
    [60, 0.2],
    [120, 0.3],
    [180, 0.2],
    [300, 0.3],
  ],
};

const medians = [8, 12, 20, 30, 40].map(
  (median): Model => ({ ...defaultModel, name: `median ${median} s`, median }),
);

const expiries = [60, 120, 180, 300].map(
  (expiry): Model => ({ ...defaultModel, name: `expiry ${expiry} s`, expiries: [[expiry, 1]] }),
);

/** Models that the schedule should suit as well, without knowing which one holds. */
export const otherModels: readonly Model[] = [...medians, ...expiries];

/** Draws payments from a model: the same for every schedule, and for the same seed in every run. */
export function drawPayments({ median, expiries }: Model, count: number, seed: number): Payment[] {
  const random = createRandom(seed);
  const finalAt = {
    // A customer needs at least 3 s to type a PIN.
    approved: () => 3 + (median - 3) * drawLogNormal(random, 0.85),
    declined: () => 3 + 0.6 * (median - 5) * drawLogNormal(random, 0.85),
    unanswered: () => drawOne(random, expiries) + 8 * random(),
    stuck: () => 300 + 3_000 * random(),
  };
  return Array.from({ length: count }, () => {
    const kind = drawOne(random, [
      ['approved', 0.7],
      ['declined', 0.08],
      ['unanswered', 0.2],
      ['stuck', 0.02],
    ] as const);
    return { kind, finalAt: finalAt[kind]() * 1_000 };
  });
}
