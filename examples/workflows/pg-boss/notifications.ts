import type { PgBoss } from 'pg-boss';
import { type CheckJob, checkQueue } from './queues.ts';

/** In milliseconds: however often the webhook is called, a payment is checked at most once a second. */
const MIN_CHECK_INTERVAL = 1_000;

/**
 * Brings the next check of a payment forward, because its status might have changed. Anyone can cause it. If a check is
 * running, another one follows it, and takes the place of the one that the running check would add.
 */
export async function notify(boss: PgBoss, job: CheckJob): Promise<void> {
  const [waiting] = await boss.findJobs<CheckJob>(checkQueue, { key: job.reference, queued: true });
  const now = Date.now();
  const lastCheck = (waiting?.startedOn ?? waiting?.createdOn)?.getTime() ?? now;
  const delay = Math.min(Math.max(0, lastCheck + MIN_CHECK_INTERVAL - now), MIN_CHECK_INTERVAL);
  await boss.upsert(checkQueue, job, { singletonKey: job.reference, startAfter: new Date(now + delay) });
}
