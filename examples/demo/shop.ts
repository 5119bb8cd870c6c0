/** A process of the demo's shop. It is given the file of its journal. */
import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { createOrderPayments } from 'payment-collection-client/orders';

const journal = sqliteJournal(new DatabaseSync(process.argv[2] ?? 'payments.db'));
await using payments = new PaymentsClient({
  journal,
  polling: { initialDelay: 1_000, minDelay: 1_000, maxDelay: 2_000 },
});
const stop = new AbortController();
const orderPayments = createOrderPayments({
  payments,
  journal,
  onPaid({ order }) {
    console.log(`deliver order ${order}`);
    stop.abort();
  },
  onAttention: ({ key, reason }) => console.error(`ALERT: payment ${key} is ${reason}`),
});
const customer = { customer_email: 'ama@example.com', phone: '024 412 3456', network: 'mtn' } as const;
const { order, state, payments: all } = await orderPayments.charge('4', { amount: '80.00', ...customer });
console.log(`order ${order} is ${state}, payment ${all.at(-1)?.key}`);
await orderPayments.run({ signal: stop.signal });
