import { createPostgresBackend, withBackend } from 'bullmq';
import { postgresJournal } from 'payment-collection-client/journal/postgres';
import { Pool } from 'pg';
import type { OrderState } from '../shop/orders.ts';
import {
  jobOptions,
  journalOptions,
  type OrderJob,
  type OrderProcessor,
  queueName,
  workerOptions,
} from './queue.ts';

const { Queue, Worker } = withBackend(createPostgresBackend);

/** BullMQ keeps to a schema of its own, `bullmq`; the journal is one table, `payments_journal`. */
export function onPostgres(connectionString: string) {
  // BullMQ makes its tables only where it is told to. Where a release runs `runMigrations` itself, leave it out.
  const connection = { connectionString, migrate: true };
  return {
    queue: () => new Queue<OrderJob, OrderState>(queueName, { connection, defaultJobOptions: jobOptions }),
    worker: (processor: OrderProcessor) =>
      new Worker<OrderJob, OrderState>(queueName, processor, { connection, ...workerOptions }),
    journal: async () => {
      const pool = new Pool({ connectionString });
      // A connection that breaks while it is idle must not end the process: the pool makes another.
      pool.on('error', (error) => console.error(error.message));
      const journal = postgresJournal(pool, journalOptions);
      await journal.migrate();
      return journal;
    },
  };
}
