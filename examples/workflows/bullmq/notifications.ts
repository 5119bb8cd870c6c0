import { randomUUID } from 'node:crypto';
import { ErrorCode, type Job } from 'bullmq';
import type { OrderQueue } from './engine.ts';
import { jobId, type OrderJob } from './queue.ts';

/** In milliseconds: however often the webhook is called, an order is checked at most once a second. */
const MIN_CHECK_INTERVAL = 1_000;

/** Brings the next check of an order forward, because its payment might have changed. Anyone can cause it. */
export async function notify(queue: OrderQueue, orderId: string): Promise<void> {
  const job = await queue.getJob(jobId(orderId));
  if (!job) return;
  const sinceCheck = Date.now() - (job.processedOn ?? 0);
  await changeIfDelayed(async () => {
    await job.updateData({ orderId, notification: randomUUID() });
    await job.changeDelay(Math.min(Math.max(0, MIN_CHECK_INTERVAL - sinceCheck), MIN_CHECK_INTERVAL));
  });
}

/** Brings the next check forward if a notification came during the last check, when no check was waiting. */
export async function applyMissedNotification(queue: OrderQueue, checked: Job<OrderJob>): Promise<void> {
  const waiting = await queue.getJob(checked.id ?? '');
  if (!waiting || waiting.data.notification === checked.data.notification) return;
  // Not at once: when a run ends, BullMQ stops renewing the lock by the job's id, and would stop the next run's lock.
  await changeIfDelayed(() => waiting.changeDelay(MIN_CHECK_INTERVAL));
}

/** Changes a delayed job. A job that is running, done or removed has no check to bring forward. */
async function changeIfDelayed(change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== ErrorCode.JobNotInState && code !== ErrorCode.JobNotExist) throw error;
  }
}
