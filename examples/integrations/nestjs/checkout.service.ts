import { Injectable, NotFoundException } from '@nestjs/common';
import { PaymentsClient, PaymentsError } from 'payment-collection-client';
import { toErrorResponse } from '../shop/error-response.ts';
import { type Order, Orders } from '../shop/orders.ts';
import { follow } from '../shop/shop.ts';

@Injectable()
export class CheckoutService {
  readonly #payments: PaymentsClient;
  readonly #orders: Orders;

  constructor(payments: PaymentsClient, orders: Orders) {
    this.#payments = payments;
    this.#orders = orders;
  }

  place(): Order {
    return this.#orders.place('Kente scarf', '25.50');
  }

  /** Starts one payment for each order. A second call returns the same payment. */
  async pay(id: string, customer_email: string): Promise<{ checkout_url: string }> {
    const order = this.#order(id);
    const { amount, currency } = order;
    const shop = { payments: this.#payments, orders: this.#orders };
    return this.#holdIfUnknown(order, async () => {
      const input = { amount, currency, customer_email };
      const payment = await shop.payments.initialize(input, { idempotencyKey: id });
      const started = shop.orders.startPayment(order, payment);
      if (started) void follow(shop, started);
      return { checkout_url: payment.checkout_url };
    });
  }

  /** Checks the order's payment. Returns the order. */
  async check(id: string): Promise<Order> {
    const order = this.#order(id);
    const { payment, amount, currency } = order;
    if (!payment || order.state === 'in_review') return order;
    return this.#holdIfUnknown(order, async () => {
      const transaction = await this.#payments.verify(payment.reference, { expect: { amount, currency } });
      return this.#orders.applyStatus(order, transaction);
    });
  }

  notify(reference: string): void {
    this.#payments.notify(reference);
  }

  #order(id: string): Order {
    const order = this.#orders.find(id);
    if (!order) throw new NotFoundException();
    return order;
  }

  async #holdIfUnknown<T>(order: Order, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      if (error instanceof PaymentsError && toErrorResponse(error).review)
        this.#orders.holdForReview(order, error.message);
      throw error;
    }
  }
}
