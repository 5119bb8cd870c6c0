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

/** BullMQ uses its own schema, `bullmq`. The journal is one table, `payments_journal`. */
export function onPostgres(connectionString: string) {
  // BullMQ creates its tables only with `migrate`. Leave it out if your release calls `runMigrations`.
  const connection = { connectionString, migrate: true };
  return {
    queue: () => new Queue<OrderJob, OrderState>(queueName, { connection, defaultJobOptions: jobOptions }),
    worker: (processor: OrderProcessor) =>
      new Worker<OrderJob, OrderState>(queueName, processor, { connection, ...workerOptions }),
    journal: async () => {
      const pool = new Pool({ connectionString });
      // An idle connection that breaks must not end the process. The pool opens another.
      pool.on('error', (error) => console.error(error.message));
      const journal = postgresJournal(pool, journalOptions);
      await journal.migrate();
      return journal;
    },
  };
}
