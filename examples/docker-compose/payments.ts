import { PaymentsClient } from 'payment-collection-client';
import { createFollowUps } from 'payment-collection-client/follow-ups';
import { postgresJournal } from 'payment-collection-client/journal/postgres';
import { Pool } from 'pg';
import { Orders } from './orders.ts';
import { allowHttp, databaseUrl } from './settings.ts';

export const pool = new Pool({ connectionString: databaseUrl });
// An idle connection that breaks must not end the process. The pool opens another.
pool.on('error', ({ message }) => console.error(`A connection to the database broke: ${message}`));

export const orders = new Orders(pool);
export const journal = postgresJournal(pool);

/** The base URL and the key come from PAYMENTS_BASE_URL and PAYMENTS_API_KEY. */
export const payments = new PaymentsClient({
  journal,
  timeout: 10_000,
  dangerouslyAllowHttp: allowHttp,
  logger: console,
});

export const followUps = createFollowUps({
  payments,
  journal,
  // After a crash it can be called again, so it changes an order only once.
  onFinal: ({ key, reference, transaction }) => orders.settle(key, reference, transaction),
  async onAttention({ key, reference, reason }) {
    // An approval can still come: the payment is checked for 7 more days.
    if (reason === 'overdue') await orders.release(key);
    else await orders.holdForReview(key, reason);
    alertOnCall(`The payment of ${key} is ${reason}.`, { key, reference, reason });
  },
});

/** Ends the connections of this module: payment-journal calls it too. */
export async function close(): Promise<void> {
  payments.close();
  await pool.end();
}

/** Stands for the pager, chat or mail of your team. */
function alertOnCall(message: string, details: object): void {
  console.error(`ALERT: ${message}`, details);
}
