import { nextDelay, type Schedule } from 'payment-collection-client/schedule';

/** How the shop waits. All durations are in milliseconds. */
export interface Looks {
  /** While the customer has the phone in hand. Its `timeout` is when the goods are released. */
  soon: Schedule;
  /** After that, because an approval may be reported late. */
  late: Schedule;
}

export const usualLooks: Looks = {
  soon: {},
  late: { minDelay: 3_600_000, maxDelay: 3_600_000, timeout: 86_400_000 },
};

/**
 * When to look next: closely for ten minutes, then hourly for a day; `null` after that. It is pure, so that an engine may
 * replay it.
 */
export function nextLook(
  look: { elapsed: number; retryAfter?: number | undefined; random?: number | undefined },
  { soon, late }: Looks = usualLooks,
): { delay: number; late: boolean } | null {
  const soonDelay = nextDelay({ ...look, ...soon });
  if (soonDelay !== null) return { delay: soonDelay, late: false };
  const lateDelay = nextDelay({ ...look, ...late });
  return lateDelay === null ? null : { delay: lateDelay, late: true };
}
