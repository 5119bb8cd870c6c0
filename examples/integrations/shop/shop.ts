import {
  ClosedError,
  PaymentsClient,
  type PaymentsClientOptions,
  WaitTimeoutError,
} from 'payment-collection-client';
import { memoryJournal } from 'payment-collection-client/journal';
import { type Order, Orders } from './orders.ts';

/** What every handler of the shop works with. */
export interface Shop {
  readonly payments: PaymentsClient;
  readonly orders: Orders;
}

/**
 * Orders and journal are in memory here, and end with the process: take your database for the one, and
 * `payment-collection-client/journal/postgres`, `/redis` or `/sqlite` for the other.
 */
export function createShop(options: PaymentsClientOptions = {}): Shop {
  return { payments: new PaymentsClient({ journal: memoryJournal(), ...options }), orders: new Orders() };
}

/** Sees a payment to its end, whether or not the customer comes back. A webhook makes it look at once. */
export async function follow({ payments, orders }: Shop, order: Order): Promise<void> {
  const { payment, amount, currency } = order;
  if (!payment) return;
  try {
    const transaction = await payments.waitForFinalStatus(payment.reference, {
      startedAt: Date.now(),
      expect: { amount, currency },
    });
    orders.conclude(order, transaction);
  } catch (error) {
    // The order stays `paying`: the customer may still come back, and a nightly `payments.reconcile` looks again.
    if (error instanceof WaitTimeoutError || error instanceof ClosedError) return;
    orders.hold(order, String(error));
  }
}
