import { defaultSchedule, nextDelay } from '../../src/schedule.ts';
import { DEADLINE } from './model.ts';

/** A schedule of checks. All durations are in milliseconds. */
export interface Policy {
  name: string;
  /** When the first check is due after the charge. */
  first: number;
  /** Returns the delay after a response, or null at the deadline. `attempt` is 1 after the first response. */
  next(elapsed: number, attempt: number, random: number): number | null;
}

export const ours: Policy = {
  name: 'ours: nextDelay, first check after 8 s',
  first: defaultSchedule.initialDelay,
  next: (elapsed, _, random) => nextDelay({ elapsed, random, timeout: DEADLINE }),
};

/** Creates a policy from a rule that ignores the deadline, with a last check at the deadline. */
function createPolicy(
  name: string,
  first: number,
  rule: (elapsed: number, attempt: number) => number,
): Policy {
  return {
    name,
    first,
    next: (elapsed, attempt) =>
      elapsed < DEADLINE ? Math.min(rule(elapsed, attempt), DEADLINE - elapsed) : null,
  };
}

export const fixed = (seconds: number): Policy =>
  createPolicy(`fixed ${seconds} s`, seconds * 1_000, () => seconds * 1_000);

/** The poller of \@smithy/util-waiter 4.6, with the delays that AWS services ship. */
const aws: Policy = {
  name: 'AWS waiter as shipped, 2 to 120 s',
  first: 0,
  next: (elapsed, attempt, random) => {
    const [min, max, remaining] = [2_000, 120_000, DEADLINE - elapsed];
    const full = attempt > Math.log2(max / min) + 1;
    const drawn = min + random * (Math.min(min * 2 ** (attempt - 1), max) - min);
    const delay = full ? max : drawn > remaining ? Math.max(0, remaining - 500) : drawn;
    return delay > remaining ? null : delay;
  },
};

const clampToMs = (value: number, least: number, most: number) =>
  1_000 * Math.min(most, Math.max(least, value));

const exponential = createPolicy('exponential x1.5 from 1 s, at most 10 s', 1_000, (_, attempt) =>
  clampToMs(1.5 ** attempt, 1, 10),
);

const proportional = (percent: number, most: number): Policy =>
  createPolicy(`proportional ${percent} %, 2 to ${most} s`, 2_000, (elapsed) =>
    clampToMs((elapsed / 1_000) * (percent / 100), 2, most),
  );

export const others: readonly Policy[] = [
  ...[1, 3, 5, 10].map(fixed),
  aws,
  exponential,
  proportional(15, 10),
  proportional(25, 15),
];

/** A delay of `factor` x (seconds since the charge) ^ `exponent`, changed by up to 10 % either way as ours is. */
interface Growth {
  first: number;
  factor: number;
  exponent: number;
  least: number;
  most: number;
}

function createGrowing({ first, factor, exponent, least, most }: Growth): Policy {
  return {
    name: `first ${first} s, ${factor} t^${exponent}, ${least} to ${most} s`,
    first: first * 1_000,
    next: (elapsed, _, random) => {
      if (elapsed >= DEADLINE) return null;
      const wanted = factor * (elapsed / 1_000) ** exponent * (0.9 + 0.2 * random);
      return Math.min(clampToMs(wanted, least, most), DEADLINE - elapsed);
    },
  };
}

const untilNovember2026 = createGrowing({ first: 5, factor: 1, exponent: 0.5, least: 3, most: 15 });

/** Our previous default. */
export const predecessor: Policy = { ...untilNovember2026, name: `predecessor: ${untilNovember2026.name}` };

/** Schedules that might replace ours. None of them knows the model either. */
export const candidates: readonly Policy[] = [
  createGrowing({ first: 8, factor: 1, exponent: 0.5, least: 3, most: 15 }),
  createGrowing({ first: 9, factor: 0.8, exponent: 0.5, least: 3.5, most: 15 }),
  createGrowing({ first: 9, factor: 0.25, exponent: 0.8, least: 3, most: 20 }),
  createGrowing({ first: 8, factor: 0.1, exponent: 1, least: 3, most: 20 }),
];
