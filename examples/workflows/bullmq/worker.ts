import { PaymentsClient } from 'payment-collection-client';
import { Orders } from '../shop/orders.ts';
import { ordersFile, timeout } from '../shop/settings.ts';
import { engine } from './engine.ts';
import { needsChecks, orderWorkflow } from './order-workflow.ts';
import { enqueue } from './queue.ts';

const orders = new Orders(ordersFile);
const queue = engine.queue();
// BullMQ retries, and its dashboard shows that. Retries of the client would hide it and delay the job.
const payments = new PaymentsClient({ timeout, maxRetries: 0, journal: await engine.journal() });

const worker = engine.worker(orderWorkflow({ orders, payments, queue }));
worker.on('error', (error) => console.error(error.message));
worker.on('failed', (job, error) => console.error(`${job?.id}: ${error.message}`));
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Ends the running jobs, a charge too, and takes no new job.
  process.once(signal, async () => {
    await worker.close();
    process.exit();
  });
}

await worker.waitUntilReady();
// An order might be in the table and not in the queue: the shop crashed in between, or the queue lost the job.
for (const order of orders.listByState('placed', 'waiting', 'released')) {
  if (needsChecks(order)) await enqueue(queue, order.id);
}
console.log('ready');
