import type * as z from 'zod/mini';
import type { chargeMobileMoneyInputSchema, initializeInputSchema, Network } from '../contract/input.ts';
import type { transactionStatuses } from '../contract/transaction.ts';
import { DEFAULT_CURRENCY } from '../operations.ts';

/** A status that SPEC.md, 3, shows. */
export type KnownStatus = (typeof transactionStatuses)[number];

/** A status that ends a payment. */
export type FinalStatus = 'success' | 'failed' | 'abandoned';

/** A transaction as the service holds it. Times are epoch milliseconds. */
export interface Entry {
  readonly reference: string;
  /** With two decimals (SPEC.md, 2). */
  readonly amount: string;
  readonly currency: string;
  readonly customer_email: string;
  readonly createdAt: number;
  /** Where the customer's phone was charged; `null` for a payment by checkout page. */
  readonly mobileMoney: { readonly phone: string; readonly network: Network } | null;
  status: KnownStatus;
  changedAt: number;
  plan: Plan | null;
}

/** What will become of a transaction without anyone touching it. */
type Plan = { settleAt: number; status: FinalStatus } | { statuses: readonly KnownStatus[] };

/** A plan for a transaction that may not exist yet. */
type PlanFrom = (createdAt: number) => Plan;

type Payment = z.output<typeof initializeInputSchema>;
type Charge = z.output<typeof chargeMobileMoneyInputSchema>;

/**
 * Every transaction, in the order in which they were created.
 *
 * It has no timer: what was to happen meanwhile is worked out from `Date.now()` whenever someone looks, so that it
 * holds under any test runner's fake clock.
 */
export class Ledger {
  readonly #entries = new Map<string, Entry>();
  #created = 0;
  #plansForNext: PlanFrom[] = [];

  create(input: Payment | Charge): Entry {
    const now = Date.now();
    const entry: Entry = {
      reference: `TXN-${String(++this.#created).padStart(6, '0')}`,
      amount: input.amount.toFixed(2),
      currency: input.currency ?? DEFAULT_CURRENCY,
      customer_email: input.customer_email,
      createdAt: now,
      mobileMoney: 'phone' in input ? { phone: input.phone, network: input.network } : null,
      status: 'pending',
      changedAt: now,
      plan: this.#plansForNext.shift()?.(now) ?? null,
    };
    this.#entries.set(entry.reference, entry);
    return entry;
  }

  /** All transactions as they are now. */
  list(): Entry[] {
    return [...this.#entries.values()].map(settled);
  }

  find(reference: string): Entry | undefined {
    const entry = this.#entries.get(reference);
    return entry && settled(entry);
  }

  /** What a verify finds: it takes one step of a script, where there is one. */
  verify(reference: string): Entry | undefined {
    const entry = this.find(reference);
    if (entry?.plan && 'statuses' in entry.plan) {
      const [status = entry.status, ...statuses] = entry.plan.statuses;
      move(entry, status, Date.now());
      entry.plan = { statuses };
    }
    return entry;
  }

  /** Moves a transaction at once; what was planned for it is off. */
  settle(reference: string, status: FinalStatus): Entry {
    const entry = this.#known(reference);
    move(entry, status, Date.now());
    entry.plan = null;
    return entry;
  }

  settleAfter(reference: string | 'next', delay: number, status: FinalStatus): void {
    if (!(delay >= 0)) throw new RangeError(`The delay must be milliseconds, 0 or more, not ${delay}.`);
    const now = Date.now();
    this.#plan(reference, (createdAt) => ({
      settleAt: (reference === 'next' ? createdAt : now) + delay,
      status,
    }));
  }

  script(reference: string | 'next', statuses: readonly KnownStatus[]): void {
    if (statuses.length === 0) throw new RangeError('A script needs at least one status.');
    this.#plan(reference, () => ({ statuses }));
  }

  clear(): void {
    this.#entries.clear();
    this.#created = 0;
    this.#plansForNext = [];
  }

  #plan(reference: string | 'next', planFrom: PlanFrom): void {
    if (reference === 'next') {
      this.#plansForNext.push(planFrom);
    } else {
      const entry = this.#known(reference);
      entry.plan = planFrom(entry.createdAt);
    }
  }

  #known(reference: string): Entry {
    const entry = this.find(reference);
    if (entry) return entry;
    const known = [...this.#entries.keys()].join(', ') || 'none yet';
    throw new Error(`There is no transaction ${reference}. Known: ${known}.`);
  }
}

function settled(entry: Entry): Entry {
  const { plan } = entry;
  if (plan && 'settleAt' in plan && Date.now() >= plan.settleAt) {
    move(entry, plan.status, plan.settleAt);
    entry.plan = null;
  }
  return entry;
}

function move(entry: Entry, status: KnownStatus, at: number): void {
  if (entry.status === status) return;
  entry.status = status;
  entry.changedAt = at;
}
