import { PaymentsClient } from 'payment-collection-client';
import { postgresJournal } from 'payment-collection-client/journal/postgres';
import { Pool } from 'pg';
import { Orders } from '../shop/orders.ts';
import { ordersFile, timeout } from '../shop/settings.ts';
import { findCheck, orderWorkflow } from './order-workflow.ts';
import {
  addCharge,
  addCheck,
  type ChargeJob,
  type CheckJob,
  chargeQueue,
  checkQueue,
  concurrency,
  startBoss,
} from './queues.ts';
import { databaseUrl, lease } from './settings.ts';

const orders = new Orders(ordersFile);
// The journal has a pool of its own. Its records must not be part of the transaction in which a job completes.
const pool = new Pool({ connectionString: databaseUrl });
// An idle connection that breaks must not end the process. The pool opens another.
pool.on('error', ({ message }) => console.error(`A connection of the journal broke: ${message}`));
const journal = postgresJournal(pool, { lease });
await journal.migrate();

// pg-boss retries, and its dashboard shows that. Retries of the client would hide it and delay the job.
const payments = new PaymentsClient({ timeout, maxRetries: 0, journal });
const boss = await startBoss({ isWorker: true });
const { charge, check } = orderWorkflow({ orders, payments, boss });

// Each job runs in a transaction of pg-boss, which holds what the job adds, and its completion.
const options = { transactional: true, localConcurrency: concurrency, pollingIntervalSeconds: 0.5 } as const;
await boss.work<ChargeJob, unknown, typeof options>(chargeQueue, options, async ([job], db) => {
  return job && charge({ ...job, db });
});
await boss.work<CheckJob, unknown, typeof options>(checkQueue, options, async ([job], db) => {
  return job && check({ ...job, db });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Ends the running jobs, a charge too, and takes no new job.
  process.once(signal, async () => {
    await boss.stop({ timeout: 2 * timeout });
    process.exit();
  });
}

// An order might be in the table and not in a queue: the shop crashed in between, or its job was deleted.
for (const order of orders.listByState('placed', 'waiting', 'released')) {
  const next = findCheck(order);
  if (order.state === 'placed') await addCharge(boss, { orderId: order.id });
  else if (next) await addCheck(boss, next);
}
console.log('ready');
