import { type Processor, Queue, Worker, type WorkerOptions } from 'bullmq';
import { Redis } from 'ioredis';
import { redisJournal } from 'payment-collection-client/journal/redis';
import { lease } from '../shop/settings.ts';
import { queueName } from './settings.ts';

/** `appendonly yes`, better with `appendfsync always`, and `maxmemory-policy noeviction`: the journal is in it too. */
export function onRedis(url: string) {
  const connection = { url };
  const redis = new Redis(url);
  return {
    journal: redisJournal(redis, { lease }),
    queue: () => new Queue(queueName, { connection }),
    worker: (processor: Processor, options: Omit<WorkerOptions, 'connection'>) =>
      new Worker(queueName, processor, { connection, ...options }),
    close: () => redis.quit(),
  };
}
