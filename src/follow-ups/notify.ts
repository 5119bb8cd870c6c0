import type { FollowUpRecord } from '../journal/follow-up-records.ts';
import { NO_FOLLOW_UP } from '../journal/record.ts';
import { NOTIFY_INTERVAL } from '../timing.ts';
import { summarizeError } from './step.ts';
import type { SweepContext } from './sweep-context.ts';

/**
 * Makes the payments of a reference due now. Anyone can send a notification, so it is never believed, and the checks that it
 * causes are bounded. Returns when a check that a notification asked for is due, in milliseconds, or `null` if there is none.
 * It never rejects.
 */
export async function notifyFollowUps(context: SweepContext, reference: string): Promise<number | null> {
  const { access, records } = context;
  try {
    const found = await records.find(reference);
    const delays = await Promise.all(found.map((record) => notifyRecord(context, record)));
    return delays.find((delay) => delay !== null) ?? null;
  } catch (error) {
    access.report({ type: 'follow_up', result: 'failed', reference, error: summarizeError(error) });
    return null;
  }
}

/** Once a final status is on its way to the handler, there is nothing to bring forward. */
async function notifyRecord({ records }: SweepContext, found: FollowUpRecord): Promise<number | null> {
  const { record, entry } = found;
  const { final, delivered, ended, notified = 0 } = record.followUp ?? NO_FOLLOW_UP;
  if (record.state !== 'completed') return null;
  if (ended === 'delivered' || (!ended && final && final.status !== delivered)) return null;
  // The store's own clock: those of the machines can differ.
  const age = Date.now() - entry.updatedAt;
  const isRecent = record.followUp !== undefined && age < NOTIFY_INTERVAL;
  // The record was written after the last check, or by it.
  const dueIn = isRecent ? NOTIFY_INTERVAL - age : 0;
  // One that came before asks for the same check.
  if (notified > 0 && isRecent) return dueIn;
  return (await records.notify(found, dueIn)) ? dueIn : null;
}
