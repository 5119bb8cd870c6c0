import type { FollowUpRunOptions } from './harness.ts';

type Size = Omit<FollowUpRunOptions, 'kind' | 'url' | 'seed' | 'control' | 'signal'>;

/** A run of some seconds. No payment is gone for long enough to be reported so. */
export const shortRun: Size = {
  keys: 120,
  workers: 2,
  sweepers: 3,
  chargeKills: 3,
  kills: 9,
  polling: { initialDelay: 250, minDelay: 250, maxDelay: 1_500, timeout: 3_000 },
  timeout: 1_000,
  calm: 1,
  hasBadHandlers: false,
  limit: 150_000,
};

/** A run of some minutes. The deadline is far enough off for everything to happen. */
export const longRun: Size = {
  keys: 3_000,
  workers: 4,
  sweepers: 4,
  chargeKills: 60,
  kills: 300,
  polling: { initialDelay: 400, minDelay: 500, maxDelay: 4_000, timeout: 20_000 },
  timeout: 2_000,
  calm: 0.85,
  hasBadHandlers: true,
  limit: 400_000,
};

/** A run without kills: what is done twice, is done because there is no claim. */
export const controlRun: Size = { ...shortRun, keys: 60, chargeKills: 0, kills: 0, limit: 3_000 };
