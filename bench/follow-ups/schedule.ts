import type { PollingOptions } from '../../src/options.ts';

/** Half an hour: no payment is due twice in a measurement. */
const PAUSE = 30 * 60 * 1000;

/** The same schedule and limits for every way to follow payments. No limit of a rate is reached. */
export const polling = {
  minDelay: PAUSE,
  maxDelay: PAUSE,
  timeout: 24 * PAUSE,
  maxConcurrency: 64,
  maxRequestsPerSecond: 100_000,
} as const satisfies PollingOptions;

/** One payment in so many is final at its check: as many as the checks of the default schedule until the final status. */
export const FINAL_EVERY = 10;
