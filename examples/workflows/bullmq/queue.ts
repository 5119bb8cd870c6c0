import type { DefaultJobOptions, Processor } from 'bullmq';
import type { JournalOptions } from 'payment-collection-client/journal';
import type { OrderState } from '../shop/orders.ts';
import type { OrderQueue } from './engine.ts';
import { backoffStrategy } from './engine-errors.ts';

/** What BullMQ keeps of an order. The rest is in the shop's own table: no phone number lies about in a queue. */
export interface OrderJob {
  readonly orderId: string;
  /** Another value with each hint, so that a look that was under way can tell that one came. */
  readonly hint?: string;
}

export type OrderProcessor = Processor<OrderJob, OrderState>;

export const queueName = 'orders';

/** One job for each order, however often it is added. BullMQ refuses ids that are whole numbers, hence the prefix. */
export const jobId = (orderId: string) => `order-${orderId}`;

/** It may be done any number of times. */
export async function enqueue(queue: OrderQueue, orderId: string): Promise<void> {
  await queue.add('order', { orderId }, { jobId: jobId(orderId) });
}

export const jobOptions: DefaultJobOptions = {
  // Counted over the job's whole life, and not set back by a look that succeeds: a passing fault must not end an order.
  // PostgreSQL keeps it as a 32-bit integer, so it is not Number.MAX_SAFE_INTEGER.
  attempts: 1_000_000,
  backoff: { type: 'custom' },
  // In seconds. Once a job is gone, adding it again makes another one, which finds the order settled and ends.
  removeOnComplete: { age: 7 * 24 * 3600 },
  removeOnFail: { age: 90 * 24 * 3600 },
};

export const workerOptions = {
  concurrency: 50,
  // Over all workers. The client spaces its own waits; single looks are for the queue to space.
  limiter: { max: 50, duration: 1_000 },
  // By default, a second worker that dies in the middle of a look would fail the job for good.
  maxStalledCount: 1_000_000,
  // A dead worker's job is taken over after both of them, one after the other.
  lockDuration: Number(process.env.LOCK_DURATION ?? 30_000),
  stalledInterval: Number(process.env.STALLED_INTERVAL ?? 10_000),
  settings: { backoffStrategy },
};

export const journalOptions: JournalOptions = {
  lease: process.env.JOURNAL_LEASE ? Number(process.env.JOURNAL_LEASE) : undefined,
};
