import { referenceSchema } from '../api/input.ts';
import type { FollowUpRecord } from '../journal/journal.ts';
import { withJournalTimeout } from './held-record.ts';
import type { FollowUpContext } from './options.ts';
import { NO_FOLLOW_UP } from './plan.ts';
import { describeError, NOTIFY_INTERVAL } from './step.ts';

/**
 * Makes the payments of a reference due now. Anyone can send a notification, so it is never believed, and the checks that it
 * causes are bounded. Returns whether anything is due sooner. It never rejects.
 */
export async function notifyFollowUps(context: FollowUpContext, reference: string): Promise<boolean> {
  const { access, journal } = context;
  if (!referenceSchema.safeParse(reference).success) return false;
  try {
    const found = await withJournalTimeout(() => journal.followUps.find(reference));
    const notified = await Promise.all(found.map((record) => notifyRecord(context, record)));
    return notified.includes(true);
  } catch (error) {
    access.report({ type: 'follow_up', result: 'failed', reference, error: describeError(error) });
    return false;
  }
}

/** Once a status is final, or if another notification is pending, there is nothing to bring forward. */
async function notifyRecord({ journal }: FollowUpContext, found: FollowUpRecord): Promise<boolean> {
  const { record } = found;
  const { final, ended, checkedAt, notifiedAt } = record.followUp ?? NO_FOLLOW_UP;
  if (record.state !== 'completed' || final || ended) return false;
  const now = Date.now();
  if (isNear(notifiedAt, now) && notifiedAt > now) return false;
  const dueAt = Math.max(
    now,
    ...[checkedAt, notifiedAt].map((at) => (isNear(at, now) ? at + NOTIFY_INTERVAL : now)),
  );
  return await withJournalTimeout(() => journal.followUps.notify(found, dueAt, dueAt - now));
}

/** A time that is further ahead was written by a machine with another clock. */
function isNear(time: number | undefined, now: number): time is number {
  return time !== undefined && time <= now + NOTIFY_INTERVAL;
}
