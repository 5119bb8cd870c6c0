import { PaymentsClient } from 'payment-collection-client';
import { postgresJournal } from 'payment-collection-client/journal/postgres';
import { createOrderPayments } from 'payment-collection-client/orders';
import { Pool } from 'pg';
import { Orders } from './orders.ts';
import { allowHttp, databaseUrl } from './settings.ts';

export const pool = new Pool({ connectionString: databaseUrl });
// An idle connection that breaks must not end the process. The pool opens another.
pool.on('error', ({ message }) => console.error(`A connection to the database broke: ${message}`));

export const orders = new Orders(pool);
export const journal = postgresJournal(pool);

/**
 * The base URL and the key come from PAYMENTS_BASE_URL and PAYMENTS_API_KEY.
 *
 * @public The command payment-journal imports it.
 */
export const payments = new PaymentsClient({
  journal,
  timeout: 10_000,
  dangerouslyAllowHttp: allowHttp,
  logger: console,
});

export const orderPayments = createOrderPayments({
  payments,
  journal,
  // After a crash it can be called again, so it delivers an order only once.
  onPaid: ({ order }) => orders.deliver(order),
  onAttention: ({ order, key, reference, reason }) =>
    alertOnCall(`The payment of ${order} is ${reason}.`, { key, reference, reason }),
});

/** Ends the connections of this module: payment-journal calls it too. */
export async function close(): Promise<void> {
  await payments.close();
  await pool.end();
}

/** Stands for the pager, chat or mail of your team. */
function alertOnCall(message: string, details: object): void {
  console.error(`ALERT: ${message}`, details);
}
