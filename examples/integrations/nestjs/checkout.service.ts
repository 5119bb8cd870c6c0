import { Injectable, NotFoundException } from '@nestjs/common';
import { PaymentsClient, PaymentsError } from 'payment-collection-client';
import { answerTo } from '../shop/answers.ts';
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

  /** Started at most once for each order: called again, it gives the same payment. */
  async pay(id: string, customer_email: string): Promise<{ checkout_url: string }> {
    const order = this.#order(id);
    const { amount, currency } = order;
    const shop = { payments: this.#payments, orders: this.#orders };
    return this.#heldWhereInDoubt(order, async () => {
      const input = { amount, currency, customer_email };
      const payment = await shop.payments.initialize(input, { idempotencyKey: id });
      const started = shop.orders.paymentStarted(order, payment);
      if (started) void follow(shop, started);
      return { checkout_url: payment.checkout_url };
    });
  }

  /** The order, after a look at its payment. */
  async look(id: string): Promise<Order> {
    const order = this.#order(id);
    const { payment, amount, currency } = order;
    if (!payment || order.state === 'in_review') return order;
    return this.#heldWhereInDoubt(order, async () => {
      const transaction = await this.#payments.verify(payment.reference, { expect: { amount, currency } });
      return this.#orders.conclude(order, transaction);
    });
  }

  hint(reference: string): void {
    this.#payments.notify(reference);
  }

  #order(id: string): Order {
    const order = this.#orders.find(id);
    if (!order) throw new NotFoundException();
    return order;
  }

  async #heldWhereInDoubt<T>(order: Order, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      if (error instanceof PaymentsError && answerTo(error).review) this.#orders.hold(order, error.message);
      throw error;
    }
  }
}
