import { chance } from './chance.ts';

/** An order of the shop: one key of the journal, and one charge at most. */
export interface Order {
  readonly index: number;
  readonly key: string;
}

export function orderAt(index: number): Order {
  return { index, key: `order-${index}` };
}

/** The worker slots that try an order: two of them race for it, but where no journal could tell them of each other. */
export function slotsOf({ index }: Order, workers: number, races: boolean): readonly [number, number] {
  const first = index % workers;
  return [first, races ? (first + 1) % workers : first];
}

/** What is charged for an order. One worker of the two may get it wrong: the key is then used with other input. */
export function inputOf({ index, key }: Order, wrongly: boolean) {
  const amount = 1 + (index % 900) + (wrongly ? 0.5 : 0);
  return {
    amount: amount.toFixed(2),
    customer_email: `${key}@example.com`,
    phone: '024 412 3456',
    network: 'mtn',
  } as const;
}

/** One order in twenty-five is charged with other input by the second of its workers. */
export function isMistaken(seed: number, order: Order, slots: readonly number[], slot: number): boolean {
  return slots[0] !== slots[1] && slot === slots[1] && chance(seed, 'mistaken', order.index) < 0.04;
}
