import { PaymentsClient, type PaymentsClientOptions } from 'payment-collection-client';
import { memoryJournal } from 'payment-collection-client/journal';
import { createOrderPayments, type OrderPayments } from 'payment-collection-client/orders';
import { Orders } from './orders.ts';

/**
 * The shop, for every handler. Its orders and its journal are in memory and end with the process. Use your database for the
 * orders, and `payment-collection-client/journal/postgres`, `/redis` or `/sqlite` for the journal.
 */
export class Shop {
  readonly orders = new Orders();
  readonly payments: PaymentsClient;
  readonly orderPayments: OrderPayments;

  constructor(options: PaymentsClientOptions = {}) {
    const journal = memoryJournal();
    this.payments = new PaymentsClient({ ...options, journal });
    this.orderPayments = createOrderPayments({
      payments: this.payments,
      journal,
      onPaid: ({ order }) => this.orders.deliver(order),
      onAttention: ({ key, reason }) => console.error(`ALERT: payment ${key} is ${reason}`),
    });
    // It follows every payment, also that of a customer who never returns.
    void this.orderPayments.run();
  }

  /** Ends what runs, so that the process can end. It resolves once all that was in flight is recorded. */
  async close(): Promise<void> {
    await this.payments.close();
  }
}
