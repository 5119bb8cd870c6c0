import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { Orders } from '../shop/orders.ts';
import { ordersFile, timeout } from '../shop/settings.ts';
import { createActivities } from './activities.ts';
import { address, handOver, taskQueue } from './temporal.ts';

const { JOURNAL_FILE = 'journal.db', JOURNAL_LEASE = '10000' } = process.env;

const orders = new Orders(ordersFile);
const connection = await NativeConnection.connect({ address });

// Temporal tries again by itself: retries within retries would multiply, and hide.
const payments = new PaymentsClient({
  journal: sqliteJournal(new DatabaseSync(JOURNAL_FILE), { lease: Number(JOURNAL_LEASE) }),
  timeout,
  maxRetries: 0,
});

const worker = await Worker.create({
  connection,
  taskQueue,
  workflowsPath: fileURLToPath(import.meta.resolve('./order-workflow.ts')),
  activities: createActivities({ payments, orders }),
});

// An order may be written down and not handed over: its shop died in between.
for (const { id } of orders.in('placed')) await handOver(new Client({ connection }), id);

// On SIGTERM it takes nothing new, and lets a charge end that is under way.
const running = worker.run();
console.log('ready');
await running;
