import { randomUUID } from 'node:crypto';
import { ErrorCode, type Job } from 'bullmq';
import type { OrderQueue } from './engine.ts';
import { jobId, type OrderJob } from './queue.ts';

/** However often somebody calls the address of the webhook, an order is looked at once a second at most. */
const BETWEEN_LOOKS = 1_000;

/** Something may have happened to an order's payment: its next look is brought forward. Anyone may say so. */
export async function hint(queue: OrderQueue, orderId: string): Promise<void> {
  const job = await queue.getJob(jobId(orderId));
  if (!job) return;
  const sinceLook = Date.now() - (job.processedOn ?? 0);
  await whereItWaits(async () => {
    await job.updateData({ orderId, hint: randomUUID() });
    await job.changeDelay(Math.min(Math.max(0, BETWEEN_LOOKS - sinceLook), BETWEEN_LOOKS));
  });
}

/** A hint that came during a look found nothing to bring forward: it is kept once the job waits again. */
export async function heedHint(queue: OrderQueue, looked: Job<OrderJob>): Promise<void> {
  const waiting = await queue.getJob(looked.id ?? '');
  if (!waiting || waiting.data.hint === looked.data.hint) return;
  // Not at once: BullMQ stops renewing a job's lock by its id when a run ends, and that would be the next run's lock.
  await whereItWaits(() => waiting.changeDelay(BETWEEN_LOOKS));
}

/** A job that is running, done or gone has no look to bring forward. */
async function whereItWaits(change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== ErrorCode.JobNotInState && code !== ErrorCode.JobNotExist) throw error;
  }
}
