import { createPostgresBackend, type Processor, type WorkerOptions, withBackend } from 'bullmq';
import { postgresJournal } from 'payment-collection-client/journal/postgres';
import { Pool } from 'pg';
import { lease } from '../shop/settings.ts';
import { queueName } from './settings.ts';

const { Queue, Worker } = withBackend(createPostgresBackend);

/** BullMQ uses its own schema, `bullmq`. The journal is one table, `payments_journal`. */
export async function onPostgres(connectionString: string) {
  // BullMQ creates its tables only with `migrate`. Leave it out if your release calls `runMigrations`.
  const connection = { connectionString, migrate: true };
  const pool = new Pool({ connectionString });
  // An idle connection that breaks must not end the process. The pool opens another.
  pool.on('error', (error) => console.error(error.message));
  const journal = postgresJournal(pool, { lease });
  await journal.migrate();
  return {
    journal,
    queue: () => new Queue(queueName, { connection }),
    worker: (processor: Processor, options: Omit<WorkerOptions, 'connection'>) =>
      new Worker(queueName, processor, { connection, ...options }),
    close: () => pool.end(),
  };
}
