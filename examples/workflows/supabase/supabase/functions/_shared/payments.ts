import { PaymentsClient } from 'payment-collection-client';
import { createFollowUps } from 'payment-collection-client/follow-ups';
import { postgresJournal } from 'payment-collection-client/journal/postgres';
import { Pool } from 'pg';
import { Orders } from './orders.ts';

/** The pooler in transaction mode. Each function holds few connections, because many functions run at once. */
export const pool = new Pool({ connectionString: Deno.env.get('DATABASE_URL') ?? '', max: 3 });
// An idle connection that breaks must not end the function. The pool opens another.
pool.on('error', ({ message }) => console.error(`A connection to the database broke: ${message}`));

/** Each variable has a default. The tests set shorter times, because they cannot wait. */
const timeout = Number(Deno.env.get('PAYMENTS_TIMEOUT') ?? 10_000);
const lease = Number(Deno.env.get('JOURNAL_LEASE') ?? 10_000);
const { beforeDeadline: polling } = JSON.parse(Deno.env.get('CHECK_SCHEDULE') ?? '{"beforeDeadline":{}}');

export const journal = postgresJournal(pool, { lease });
export const payments = new PaymentsClient({ journal, timeout, polling, logger: console });
export const orders = new Orders(pool);

export const followUps = createFollowUps({
  payments,
  journal,
  // After a crash it can be called again, so it changes an order only once.
  onFinal: ({ key, reference, transaction }) => orders.settle(key, reference, transaction),
  async onAttention({ key, reference, reason }) {
    // An approval can still come: the payment is checked for 7 more days.
    if (reason === 'overdue') await orders.markNotPaid(key);
    else await orders.holdForReview(key, reason);
    alertOnCall(`The payment of ${key} is ${reason}.`, { key, reference, reason });
  },
});

/** Stands for the pager, chat or mail of your team. */
function alertOnCall(message: string, details: object): void {
  console.error(`ALERT: ${message}`, details);
}
