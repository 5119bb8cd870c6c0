import { randomUUID } from 'node:crypto';
import type { InitializedPayment, Transaction } from 'payment-collection-client';

/**
 * - `new`: no payment was started, as far as the shop knows.
 * - `paying`: the customer was sent to the checkout page.
 * - `paid`, `not_paid`: the final status of the service.
 * - `in_review`: the outcome is unknown, or something is wrong. A person reviews it. Nothing is started or shipped meanwhile.
 */
export type OrderState = 'new' | 'paying' | 'paid' | 'not_paid' | 'in_review';

export interface Order {
  /** A random id that cannot be guessed, so that it identifies the customer. */
  readonly id: string;
  readonly item: string;
  /** From the shop's own price list, never from the browser. */
  readonly amount: string;
  readonly currency: string;
  readonly state: OrderState;
  readonly payment?: InitializedPayment;
  /** For the person who reviews it. */
  readonly note?: string;
}

/** The shop's orders, in memory. They stand for the table that you have. */
export class Orders {
  readonly #orders = new Map<string, Order>();

  place(item: string, amount: string, currency = 'GHS'): Order {
    return this.#keep({ id: randomUUID(), item, amount, currency, state: 'new' });
  }

  find(id: unknown): Order | undefined {
    return typeof id === 'string' ? this.#orders.get(id) : undefined;
  }

  /** Stores the payment. Returns the changed order, or `undefined` if a payment was started before. */
  startPayment({ id }: Order, payment: InitializedPayment): Order | undefined {
    const order = this.#orders.get(id);
    return order?.state === 'new' ? this.#keep({ ...order, state: 'paying', payment }) : undefined;
  }

  /** Holds the order for a manual review, unless it is paid. */
  holdForReview({ id }: Order, note: string): void {
    const order = this.#orders.get(id);
    if (order && order.state !== 'paid') this.#keep({ ...order, state: 'in_review', note });
  }

  /** Changes the order as the status of its payment requires. Any number of calls have the effect of one. */
  applyStatus(stale: Order, { status }: Transaction): Order {
    const order = this.#orders.get(stale.id) ?? stale;
    const isPaid = status === 'success';
    if (order.state === 'not_paid' && isPaid)
      return this.#keep({ ...order, state: 'in_review', note: 'It was paid after it was not paid.' });
    if (order.state !== 'paying') return order;
    if (isPaid) return this.#keep({ ...order, state: 'paid' });
    const isOver = status === 'failed' || status === 'abandoned';
    return isOver ? this.#keep({ ...order, state: 'not_paid' }) : order;
  }

  #keep(order: Order): Order {
    this.#orders.set(order.id, order);
    return order;
  }
}

/** Returns where a customer goes after another press of the button: to the same payment, or to its page. */
export function findNextUrl({ state, payment }: Order, returnPath = '/checkout/return'): string {
  return state === 'paying' && payment ? payment.checkout_url : returnPath;
}
