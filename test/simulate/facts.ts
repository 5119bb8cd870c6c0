/** What the customers asked for, what the shop was told, and what persons decided. */

import type { OrderPayment, OrderStatus } from '../../src/orders/index.ts';
import type { Host } from './clock.ts';
import type { Charge, SimulatedService } from './service.ts';

export const MINUTE = 60_000;

/** The client refuses to charge more. */
export const MAX_AMOUNT = 100;

/** How long the shop waits for a response, in milliseconds. */
export const REQUEST_TIMEOUT = 20_000;

export interface Press {
  readonly id: string;
  readonly order: string;
  readonly startedAt: number;
  readonly startAnother: boolean;
  readonly amount: string;
  /** `undefined`: a checkout page. */
  readonly phone: string | undefined;
  readonly process: Host;
  endedAt: number | undefined;
  state: OrderStatus['state'] | undefined;
}

export interface PaidFacts {
  readonly order: string;
  readonly reference: string;
  readonly amount: string;
}

export class Facts {
  /** A claim of a process that died holds until its lease is over by the clock of the database. */
  isDatabaseClockSet = false;
  readonly presses = new Map<string, Press>();
  /** The text of each record, as the database has it. */
  readonly records = new Map<string, string>();
  /** The payment that each order was delivered for. */
  readonly delivered = new Map<string, PaidFacts>();
  readonly finals = new Set<string>();
  /** Since when the shop knows that an order is paid, and by which transaction. */
  readonly knownPaid = new Map<string, { at: number; reference: string }>();
  /** What a person took as it is. */
  readonly accepted = new Set<string>();
  /** Orders that a person was wrong about. */
  readonly misjudged = new Set<string>();
  /** Processes that died, or gave up what they had not recorded. */
  readonly crashed = new Set<Host>();
  /** Of transactions that another order or key holds: `o1 TXN-000002`. A person knows that this order is not paid by it. */
  readonly heldElsewhere = new Set<string>();
  /** The transactions of records that were deleted. */
  readonly #forgotten = new Set<string>();
  /** What a person dealt with outside: how many calls said so and might have been recorded. */
  readonly #decided = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether a charge was made for an order or key, and a person has not found it to be another's. */
  isOf = (charge: Charge, name: string) =>
    charge.order === name && !this.heldElsewhere.has(`${name} ${charge.reference}`);

  isDecided = (reference: string) => this.#decided.has(reference);

  decide(reference: string, by: 1 | -1): void {
    const count = (this.#decided.get(reference) ?? 0) + by;
    if (count > 0) this.#decided.set(reference, count);
    else this.#decided.delete(reference);
  }

  /** A person takes it back. */
  undecide(reference: string): void {
    this.#decided.delete(reference);
  }

  hearPaid(paid: PaidFacts): void {
    const { order, reference } = paid;
    if (this.#forgotten.has(reference)) return;
    if (!this.delivered.has(order)) this.delivered.set(order, paid);
    this.hear(order, { reference });
  }

  /** Whether an order was paid by it whose record is deleted. */
  isForgotten = (reference: string) => this.#forgotten.has(reference);

  isDelivered = (order: string, reference = '') =>
    this.delivered.get(order)?.reference === reference || this.isForgotten(reference);

  /** The shop hears that an order is paid. */
  hear(order: string, { reference = '' }: Pick<OrderPayment, 'reference'>): void {
    if (!this.#forgotten.has(reference) && !this.knownPaid.has(order))
      this.knownPaid.set(order, { at: this.#now(), reference });
  }

  /** The record of an order or a key was deleted: what comes next is a new one of that name. */
  forget(order: string, service: SimulatedService): void {
    const paid = this.knownPaid.get(order);
    if (paid) this.#forgotten.add(paid.reference);
    for (const charge of service.charges) if (charge.order === order) this.decide(charge.reference, 1);
    this.knownPaid.delete(order);
    this.delivered.delete(order);
  }
}

/** An error as the trace shows it. */
export const describe = (error: unknown) =>
  error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 160) : String(error);
