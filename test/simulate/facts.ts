/** What the customers asked for, what the shop was told, and what persons decided. */

import type { OrderStatus } from '../../src/orders/index.ts';
import type { Host } from './clock.ts';

/** The client refuses to charge more. */
export const MAX_AMOUNT = 100;

/** How long the shop waits for a response, in milliseconds. */
export const REQUEST_TIMEOUT = 20_000;

/** What a customer does, or a caller with a key of its own. */
export interface Press {
  readonly id: string;
  /** The order, or the key. */
  readonly order: string;
  readonly startAnother: boolean;
  readonly amount: string;
  readonly currency: string;
  /** `undefined`: a checkout page. */
  readonly phone: string | undefined;
  readonly process: Host;
  readonly startedAt: number;
  endedAt: number | undefined;
  state: OrderStatus['state'] | undefined;
  /** Its process has begun to connect: it cannot know for each request whether anything left. */
  hasConnected: boolean;
}

export class Facts {
  /** A claim of a process that died holds until its lease is over by the clock of the database. */
  isDatabaseClockSet = false;
  readonly presses = new Map<string, Press>();
  /** The text of each record, as the database has it. */
  readonly records = new Map<string, string>();
  /** By which transaction each order was paid that was delivered. */
  readonly delivered = new Map<string, string>();
  /** What `onFinal` was told: `TXN-000002 success`. */
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
  /** The transactions that paid orders whose records are deleted. */
  readonly forgotten = new Set<string>();
  /** What a person dealt with outside, one for each call that said so and might have been recorded. */
  readonly #decisions = new Set<{ readonly reference: string }>();

  isDecided = (reference: string) =>
    [...this.#decisions].some((decision) => decision.reference === reference);

  /** Returns what takes it back. */
  decide(reference: string): () => void {
    const decision = { reference };
    this.#decisions.add(decision);
    return () => void this.#decisions.delete(decision);
  }

  /** A person takes it back. */
  undecide(reference: string): void {
    for (const decision of this.#decisions)
      if (decision.reference === reference) this.#decisions.delete(decision);
  }

  /** Whether a transaction has paid an order, or was dealt with. The shop's books have it even if its record is deleted. */
  isHeld = (reference: string) =>
    this.isDecided(reference) ||
    this.forgotten.has(reference) ||
    [...this.delivered.values()].includes(reference);

  /** The shop hears that an order is paid. */
  hearPaid(order: string, reference: string, at: number): void {
    if (!this.forgotten.has(reference) && !this.knownPaid.has(order))
      this.knownPaid.set(order, { at, reference });
  }

  deliver(order: string, reference: string, at: number): void {
    if (!this.forgotten.has(reference) && !this.delivered.has(order)) this.delivered.set(order, reference);
    this.hearPaid(order, reference, at);
  }

  /** The record of an order or a key was deleted: what comes next is a new one of that name. */
  forget(order: string): void {
    const paid = this.knownPaid.get(order);
    if (paid) this.forgotten.add(paid.reference);
    this.knownPaid.delete(order);
    this.delivered.delete(order);
  }
}

/** An error as the trace shows it. */
export const describe = (error: unknown) =>
  error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 160) : String(error);
