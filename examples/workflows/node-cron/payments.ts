import { PaymentsClient } from 'payment-collection-client';
import { postgresJournal } from 'payment-collection-client/journal/postgres';
import { createOrderPayments } from 'payment-collection-client/orders';
import { Pool } from 'pg';
import { checkSchedule, lease, timeout } from '../shop/settings.ts';
import { Orders } from './orders.ts';
import { databaseUrl } from './settings.ts';

/** Both the web process and the cron job load this file. */
export const pool = new Pool({ connectionString: databaseUrl });
// An idle connection that breaks must not end the process. The pool opens another.
pool.on('error', ({ message }) => console.error(`A connection to the database broke: ${message}`));

export const journal = postgresJournal(pool, { lease });
export const payments = new PaymentsClient({
  journal,
  timeout,
  logger: console,
  polling: checkSchedule.beforeDeadline,
});
export const orders = new Orders(pool);

export const orderPayments = createOrderPayments({
  payments,
  journal,
  // After a crash it can be called again, so it changes an order only once.
  onPaid: ({ order }) => orders.deliver(order),
  async onAttention({ order, key, reference, reason }) {
    // The goods are for sale again. An approval can still come: the payment is checked for 7 more days.
    if (reason === 'overdue') await orders.release(order);
    alertOnCall(`The payment of ${order} is ${reason}.`, { key, reference, reason });
  },
});

/** Stands for the pager, chat or mail of your team. */
function alertOnCall(message: string, details: object): void {
  console.error(`ALERT: ${message}`, details);
}
