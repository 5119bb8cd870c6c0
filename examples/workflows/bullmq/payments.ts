import { PaymentsClient } from 'payment-collection-client';
import { createOrderPayments } from 'payment-collection-client/orders';
import { Orders } from '../shop/orders.ts';
import { checkSchedule, ordersFile, timeout } from '../shop/settings.ts';
import { engine } from './engine.ts';

const { journal } = engine;
export const payments = new PaymentsClient({
  journal,
  timeout,
  logger: console,
  polling: checkSchedule.beforeDeadline,
});
export const orders = new Orders(ordersFile);

export const orderPayments = createOrderPayments({
  payments,
  journal,
  // After a crash it can be called again, so it changes an order only once.
  onPaid: ({ order }) => orders.deliver(order),
  onAttention({ order, key, reference, reason }) {
    // The goods are for sale again. An approval can still come: the payment is checked for 7 more days.
    if (reason === 'overdue') orders.release(order);
    alertOnCall(`The payment of ${order} is ${reason}.`, { key, reference, reason });
  },
});

/** Stands for the pager, chat or mail of your team. */
function alertOnCall(message: string, details: object): void {
  console.error(`ALERT: ${message}`, details);
}
