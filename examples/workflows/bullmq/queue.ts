import type { DefaultJobOptions, Processor } from 'bullmq';
import type { JournalOptions } from 'payment-collection-client/journal';
import type { OrderState } from '../shop/orders.ts';
import type { OrderQueue } from './engine.ts';
import { backoffStrategy } from './engine-errors.ts';

/** What BullMQ stores of an order. The rest is in the shop's table, so that no phone number is in the queue. */
export interface OrderJob {
  readonly orderId: string;
  /** A new value with each notification, so that a check sees that one came while it ran. */
  readonly notification?: string;
}

export type OrderProcessor = Processor<OrderJob, OrderState>;

export const queueName = 'orders';

/** One job for each order, however often it is added. BullMQ refuses ids that are whole numbers, hence the prefix. */
export const jobId = (orderId: string) => `order-${orderId}`;

/** Adds the order's job. Any number of calls have the effect of one. */
export async function enqueue(queue: OrderQueue, orderId: string): Promise<void> {
  await queue.add('order', { orderId }, { jobId: jobId(orderId) });
}

export const jobOptions: DefaultJobOptions = {
  // BullMQ counts attempts over the job's whole life, and a check that succeeds does not reset the count. A temporary
  // error must not end an order. PostgreSQL stores 32 bits, so it is not Number.MAX_SAFE_INTEGER.
  attempts: 1_000_000,
  backoff: { type: 'custom' },
  // In seconds. If a job is added after that, it finds the order final, and ends.
  removeOnComplete: { age: 7 * 24 * 3600 },
  removeOnFail: { age: 90 * 24 * 3600 },
};

export const workerOptions = {
  concurrency: 50,
  // For all workers together. The client limits the rate of its own waits, but not of single checks.
  limiter: { max: 50, duration: 1_000 },
  // With the default of 1, the second worker that is killed during a check would fail the job for good.
  maxStalledCount: 1_000_000,
  // The job of a killed worker continues once both durations have passed, one after the other.
  lockDuration: Number(process.env.LOCK_DURATION ?? 30_000),
  stalledInterval: Number(process.env.STALLED_INTERVAL ?? 10_000),
  settings: { backoffStrategy },
};

export const journalOptions: JournalOptions = {
  lease: process.env.JOURNAL_LEASE ? Number(process.env.JOURNAL_LEASE) : undefined,
};
