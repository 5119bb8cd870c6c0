import { referenceSchema } from '../api/input.ts';
import type { FollowUpRecord } from '../journal/journal.ts';
import { NO_FOLLOW_UP } from '../journal/record.ts';
import { withJournalTimeout } from './held-record.ts';
import type { FollowUpContext } from './options.ts';
import { describeError, NOTIFY_INTERVAL } from './step.ts';

/**
 * Makes the payments of a reference due now. Anyone can send a notification, so it is never believed, and the checks that it
 * causes are bounded. Returns when a check that a notification asked for is due, in milliseconds, or `null` if there is none.
 * It never rejects.
 */
export async function notifyFollowUps(context: FollowUpContext, reference: string): Promise<number | null> {
  const { access, journal } = context;
  if (!referenceSchema.safeParse(reference).success) return null;
  try {
    const found = await withJournalTimeout(() => journal.followUps.find(reference));
    const delays = await Promise.all(found.map((record) => notifyRecord(context, record)));
    return delays.find((delay) => delay !== null) ?? null;
  } catch (error) {
    access.report({ type: 'follow_up', result: 'failed', reference, error: describeError(error) });
    return null;
  }
}

/** Once a status is final, there is nothing to bring forward. */
async function notifyRecord({ journal }: FollowUpContext, found: FollowUpRecord): Promise<number | null> {
  const { record, entry } = found;
  const { final, ended, notified = 0 } = record.followUp ?? NO_FOLLOW_UP;
  if (record.state !== 'completed' || final || ended) return null;
  // The store's own clock: those of the machines can differ.
  const age = Date.now() - entry.updatedAt;
  const isRecent = record.followUp !== undefined && age < NOTIFY_INTERVAL;
  // The record was written after the last check, or by it.
  const dueIn = isRecent ? NOTIFY_INTERVAL - age : 0;
  // One that came before asks for the same check.
  if (notified > 0 && isRecent) return dueIn;
  return (await withJournalTimeout(() => journal.followUps.notify(found, dueIn))) ? dueIn : null;
}
