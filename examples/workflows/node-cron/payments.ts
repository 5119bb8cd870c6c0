import { PaymentsClient } from 'payment-collection-client';
import { createFollowUps } from 'payment-collection-client/follow-ups';
import { postgresJournal } from 'payment-collection-client/journal/postgres';
import { Pool } from 'pg';
import { checkSchedule, timeout } from '../shop/settings.ts';
import { Orders } from './orders.ts';
import { databaseUrl, lease } from './settings.ts';

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

export const followUps = createFollowUps({
  payments,
  journal,
  // After a crash it can be called again, so it changes an order only once.
  onFinal: ({ key, reference, transaction }) => orders.settle(key, reference, transaction),
  async onAttention({ key, reference, reason }) {
    // The goods are for sale again. An approval can still come: the payment is checked for 7 more days.
    if (reason === 'overdue') await orders.release(key);
    else await orders.holdForReview(key, reason);
    alertOnCall(`The payment of ${key} is ${reason}.`, { key, reference, reason });
  },
});

/** Stands for the pager, chat or mail of your team. */
function alertOnCall(message: string, details: object): void {
  console.error(`ALERT: ${message}`, details);
}
