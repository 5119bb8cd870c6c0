import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { Orders } from '../shop/orders.ts';
import { ordersFile, timeout } from '../shop/settings.ts';
import { createActivities } from './activities.ts';
import { address, submitOrder, taskQueue } from './temporal.ts';

const { JOURNAL_FILE = 'journal.db', JOURNAL_LEASE = '10000' } = process.env;

const orders = new Orders(ordersFile);
const connection = await NativeConnection.connect({ address });

// Temporal retries by itself. Retries inside its retries would multiply, and its history would not show them.
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

// An order might be stored and not submitted: the shop crashed in between.
for (const { id } of orders.listByState('placed')) await submitOrder(new Client({ connection }), id);

// On SIGTERM it takes nothing new and lets running charges end.
const running = worker.run();
console.log('ready');
await running;
await payments.close();
orders.close();
