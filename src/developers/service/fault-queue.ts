/** How many requests or webhooks an order is still for. */
export type Queued<Order> = Order & { readonly remaining: number };

/** The faults that a test has ordered: first in, first out. */
export class FaultQueue<Order extends object> {
  #pending: readonly Queued<Order>[] = [];

  /** What has not been used up, in the order in which it was added. */
  get pending(): readonly Queued<Order>[] {
    return this.#pending;
  }

  /** @throws {RangeError} if `times` cannot be how often a fault happens */
  add(order: Order, times: number): void {
    if (times !== Number.POSITIVE_INFINITY && !(Number.isInteger(times) && times > 0))
      throw new RangeError(`times must be a whole number, 1 or more, or Infinity, not ${times}.`);
    this.#pending = [...this.#pending, { ...order, remaining: times }];
  }

  take(isMatch: (order: Order) => boolean = () => true): Order | undefined {
    const taken = this.#pending.find(isMatch);
    this.#pending = this.#pending
      .map((queued) => (queued === taken ? { ...queued, remaining: queued.remaining - 1 } : queued))
      .filter(({ remaining }) => remaining > 0);
    return taken;
  }

  clear(): void {
    this.#pending = [];
  }
}
