import { PaymentsClient } from 'payment-collection-client';
import { fromD1, sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { createOrderPayments } from 'payment-collection-client/orders';
import type { OrderShop } from '../shop/charge-order.ts';
import type { Env } from './env.ts';
import { Orders } from './orders.ts';

/** For each request: what one request of a Worker waits for must not belong to another one. */
export function openShop(env: Env): OrderShop & { readonly orders: Orders } {
  const orders = new Orders(env.DB);
  const journal = sqliteJournal(fromD1(env.DB), { lease: Number(env.JOURNAL_LEASE ?? 10_000) });
  const payments = new PaymentsClient({
    baseUrl: env.PAYMENTS_BASE_URL,
    apiKey: env.PAYMENTS_API_KEY,
    timeout: Number(env.PAYMENTS_TIMEOUT ?? 15_000),
    journal,
    logger: console,
    polling: JSON.parse(env.CHECK_SCHEDULE ?? '{}'),
  });
  const orderPayments = createOrderPayments({
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
  return { orders, orderPayments };
}

/** Stands for the pager, chat or mail of your team. */
function alertOnCall(message: string, details: object): void {
  console.error(`ALERT: ${message}`, details);
}
