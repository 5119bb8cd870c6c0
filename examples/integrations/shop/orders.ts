import { randomUUID } from 'node:crypto';

export interface Order {
  /** A random id that cannot be guessed, so that it identifies the customer. */
  readonly id: string;
  readonly item: string;
  /** From the shop's own price list, never from the browser. */
  readonly amount: string;
  readonly currency: string;
}

/** The shop's orders, in memory. They stand for the table that you have. The journal knows how far each payment is. */
export class Orders {
  readonly #orders = new Map<string, Order>();
  readonly #delivered = new Set<string>();

  place(item: string, amount: string, currency = 'GHS'): Order {
    const order = { id: randomUUID(), item, amount, currency };
    this.#orders.set(order.id, order);
    return order;
  }

  find(id: unknown): Order | undefined {
    return typeof id === 'string' ? this.#orders.get(id) : undefined;
  }

  /** Delivers an order, once for any number of calls. */
  deliver(id: string): void {
    this.#delivered.add(id);
  }

  isDelivered(id: string): boolean {
    return this.#delivered.has(id);
  }
}
