import { seededRandom } from './seeded-random.ts';

/** An order of the shop: one key of the journal, and one charge at maxCalls. */
export interface Order {
  readonly index: number;
  readonly key: string;
}

export function createOrder(index: number): Order {
  return { index, key: `order-${index}` };
}

/** Returns the worker slots that charge an order. Two slots race for it, unless no journal is shared between them. */
export function assignSlots({ index }: Order, workers: number, races: boolean): readonly [number, number] {
  const first = index % workers;
  return [first, races ? (first + 1) % workers : first];
}

/** Returns the input of an order's charge. With `isWrong` the key is used with other input. */
export function createInput({ index, key }: Order, isWrong: boolean) {
  const amount = 1 + (index % 900) + (isWrong ? 0.5 : 0);
  return {
    amount: amount.toFixed(2),
    customer_email: `${key}@example.com`,
    phone: '024 412 3456',
    network: 'mtn',
  } as const;
}

/** Whether this slot charges the order with other input: the second worker of one order in 25. */
export function isMistaken(seed: number, order: Order, slots: readonly number[], slot: number): boolean {
  return slots[0] !== slots[1] && slot === slots[1] && seededRandom(seed, 'mistaken', order.index) < 0.04;
}
