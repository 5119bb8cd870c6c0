import { PaymentsClient } from 'payment-collection-client';
import { Orders } from '../shop/orders.ts';
import { ordersFile, timeout } from '../shop/settings.ts';
import { engine } from './engine.ts';
import { isLookedAt, orderWorkflow } from './order-workflow.ts';
import { enqueue } from './queue.ts';

const orders = new Orders(ordersFile);
const queue = engine.queue();
// BullMQ tries again, where a dashboard shows it: a client that did so too would hide it and hold up the job.
const payments = new PaymentsClient({ timeout, maxRetries: 0, journal: await engine.journal() });

const worker = engine.worker(orderWorkflow({ orders, payments, queue }));
worker.on('error', (error) => console.error(error.message));
worker.on('failed', (job, error) => console.error(`${job?.id}: ${error.message}`));
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Ends what is under way, a charge among it, and takes nothing new.
  process.once(signal, async () => {
    await worker.close();
    process.exit();
  });
}

await worker.waitUntilReady();
// An order may be in the table and not in the queue: its shop died in between, or the queue lost it.
for (const order of orders.in('placed', 'waiting', 'released')) {
  if (isLookedAt(order)) await enqueue(queue, order.id);
}
console.log('ready');
