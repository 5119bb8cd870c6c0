import {
  ClosedError,
  PaymentsClient,
  type PaymentsClientOptions,
  WaitTimeoutError,
} from 'payment-collection-client';
import { memoryJournal } from 'payment-collection-client/journal';
import { type Order, Orders } from './orders.ts';

/** The client and the orders, for every handler of the shop. */
export interface Shop {
  readonly payments: PaymentsClient;
  readonly orders: Orders;
}

/**
 * Creates a shop. Its orders and its journal are in memory and end with the process. Use your database for the orders, and
 * `payment-collection-client/journal/postgres`, `/redis` or `/sqlite` for the journal.
 */
export function createShop(options: PaymentsClientOptions = {}): Shop {
  return { payments: new PaymentsClient({ journal: memoryJournal(), ...options }), orders: new Orders() };
}

/** Waits for a payment's final status, even if the customer does not return. A webhook makes it check at once. */
export async function follow({ payments, orders }: Shop, order: Order): Promise<void> {
  const { payment, amount, currency } = order;
  if (!payment) return;
  try {
    const transaction = await payments.waitForFinalStatus(payment.reference, {
      startedAt: Date.now(),
      expect: { amount, currency },
    });
    orders.applyStatus(order, transaction);
  } catch (error) {
    // The order stays `paying`. The customer can still return, and a nightly `payments.reconcile` checks it again.
    if (error instanceof WaitTimeoutError || error instanceof ClosedError) return;
    orders.holdForReview(order, String(error));
  }
}
