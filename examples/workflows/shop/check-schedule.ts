import { nextDelay, type Schedule } from 'payment-collection-client/schedule';

/** When the shop checks a payment. All durations are in milliseconds. */
export interface CheckSchedule {
  /** While the customer has the phone in hand. At its `timeout` the goods are released. */
  beforeDeadline: Schedule;
  /** After that, because the service might report an approval late. */
  afterDeadline: Schedule;
}

export const defaultCheckSchedule: CheckSchedule = {
  beforeDeadline: {},
  afterDeadline: { minDelay: 3_600_000, maxDelay: 3_600_000, timeout: 86_400_000 },
};

/**
 * Returns the delay until the next check: every few seconds for ten minutes, then every hour for a day, then `null`. It is
 * pure, so that an engine can replay it.
 */
export function nextCheck(
  progress: { elapsed: number; retryAfter?: number | undefined; random?: number | undefined },
  { beforeDeadline, afterDeadline }: CheckSchedule = defaultCheckSchedule,
): { delay: number; isAfterDeadline: boolean } | null {
  const beforeDelay = nextDelay({ ...progress, ...beforeDeadline });
  if (beforeDelay !== null) return { delay: beforeDelay, isAfterDeadline: false };
  const afterDelay = nextDelay({ ...progress, ...afterDeadline });
  return afterDelay === null ? null : { delay: afterDelay, isAfterDeadline: true };
}
