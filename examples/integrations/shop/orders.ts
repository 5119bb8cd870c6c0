import { randomUUID } from 'node:crypto';
import type { InitializedPayment, Transaction } from 'payment-collection-client';

/**
 * - `new`: no payment was started, as far as the shop knows.
 * - `paying`: the customer was sent to the checkout page.
 * - `paid`, `not_paid`: the service said so when it was asked.
 * - `in_review`: nobody knows, or something is odd. A person finds out; nothing is started or shipped meanwhile.
 */
export type OrderState = 'new' | 'paying' | 'paid' | 'not_paid' | 'in_review';

export interface Order {
  /** Nobody can guess it, so that knowing it is as good as being the customer. */
  readonly id: string;
  readonly item: string;
  /** From the shop's own price list, never from the browser. */
  readonly amount: string;
  readonly currency: string;
  readonly state: OrderState;
  readonly payment?: InitializedPayment;
  /** For the person who looks into it. */
  readonly note?: string;
}

/** The shop's orders, in memory: a stand-in for the table that you have. */
export class Orders {
  readonly #orders = new Map<string, Order>();

  place(item: string, amount: string, currency = 'GHS'): Order {
    return this.#keep({ id: randomUUID(), item, amount, currency, state: 'new' });
  }

  find(id: unknown): Order | undefined {
    return typeof id === 'string' ? this.#orders.get(id) : undefined;
  }

  /** The order as it is from now on; `undefined` where its payment was started before. */
  paymentStarted({ id }: Order, payment: InitializedPayment): Order | undefined {
    const order = this.#orders.get(id);
    return order?.state === 'new' ? this.#keep({ ...order, state: 'paying', payment }) : undefined;
  }

  /** What was paid for stays so. */
  hold({ id }: Order, note: string): void {
    const order = this.#orders.get(id);
    if (order && order.state !== 'paid') this.#keep({ ...order, state: 'in_review', note });
  }

  /** What the service reported of the order's payment. It may be told any number of times. */
  conclude(of: Order, { status }: Transaction): Order {
    const order = this.#orders.get(of.id) ?? of;
    const isPaid = status === 'success';
    if (order.state === 'not_paid' && isPaid)
      return this.#keep({ ...order, state: 'in_review', note: 'It was paid after all.' });
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

/** Where a customer goes who presses the button again: the same payment is paid, or shown. */
export function nextAddress({ state, payment }: Order, returnPath = '/checkout/return'): string {
  return state === 'paying' && payment ? payment.checkout_url : returnPath;
}
