import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { redisJournal } from 'payment-collection-client/journal/redis';
import type { OrderState } from '../shop/orders.ts';
import {
  jobOptions,
  journalOptions,
  type OrderJob,
  type OrderProcessor,
  queueName,
  workerOptions,
} from './queue.ts';

/** `appendonly yes`, better with `appendfsync always`, and `maxmemory-policy noeviction`: the journal is in it too. */
export function onRedis(url: string) {
  const connection = { url };
  return {
    queue: () => new Queue<OrderJob, OrderState>(queueName, { connection, defaultJobOptions: jobOptions }),
    worker: (processor: OrderProcessor) =>
      new Worker<OrderJob, OrderState>(queueName, processor, { connection, ...workerOptions }),
    journal: async () => redisJournal(new Redis(url), journalOptions),
  };
}
