import type * as z from 'zod/mini';
import type { chargeMobileMoneyInputSchema, initializeInputSchema, Network } from '../api/input.ts';
import { DEFAULT_CURRENCY } from '../api/operations.ts';
import { transactionStatuses } from '../api/transaction.ts';
import { defaultFinalStatuses } from '../schedule.ts';

/** A status that SPEC.md, 3, shows. */
export type KnownStatus = (typeof transactionStatuses)[number];

/** A status that ends a payment. */
export type FinalStatus = (typeof defaultFinalStatuses)[number];

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
  /**
   * When it was created, when its status was changed or that change was planned, and when its plan was made: all as one
   * count, for clocks stand still. 0 is a run before this one.
   */
  createdSeq: number;
  changedSeq: number;
  plannedSeq: number;
}

/** What will become of a transaction without anyone touching it. */
export type Plan = { settleAt: number; status: FinalStatus } | { statuses: readonly KnownStatus[] };

/** Thirty years, in milliseconds: a date can hold what comes then. */
export const LONGEST_DELAY = 1_000_000_000_000;

/** A plan for a transaction that may not exist yet. */
type PlanFrom = (createdAt: number) => Plan;

type Payment = z.output<typeof initializeInputSchema>;
type Charge = z.output<typeof chargeMobileMoneyInputSchema>;

/** Told of every change, as it is made. */
export interface LedgerObserver {
  created(entry: Entry): void;
  /** Its status or its plan is another. */
  changed(entry: Entry): void;
  /** It is forgotten. */
  dropped(entry: Entry): void;
}

/** What a service that runs for days needs, and one in a test does not. */
export interface LedgerOptions {
  /** How many transactions are kept. Where there are more, final ones go first, the oldest before others. Default: all. */
  readonly keep?: number;
  /** Milliseconds after which a charge that nobody answers has failed. Default: never. */
  readonly promptExpiry?: number;
  /** Makes a reference of the number of transactions so far. Default: `TXN-000001` and so on. */
  readonly newReference?: (count: number) => string;
  readonly observer?: LedgerObserver;
}

/**
 * Every transaction, in the order in which they were created.
 *
 * It has no timer: what was to happen meanwhile is worked out from `Date.now()` whenever someone looks, so that it
 * holds under any test runner's fake clock.
 */
export class Ledger {
  readonly #entries = new Map<string, Entry>();
  readonly #options: LedgerOptions;
  #created = 0;
  #nth = 0;
  #plansForNext: PlanFrom[] = [];

  constructor(options: LedgerOptions = {}) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  create(input: Payment | Charge): Entry {
    const now = Date.now();
    const { newReference = numbered, promptExpiry, observer } = this.#options;
    const expiry: Plan | null =
      'phone' in input && promptExpiry !== undefined
        ? { settleAt: now + promptExpiry, status: 'failed' }
        : null;
    const nth = ++this.#nth;
    const entry: Entry = {
      reference: newReference(++this.#created),
      amount: input.amount.toFixed(2),
      currency: input.currency ?? DEFAULT_CURRENCY,
      customer_email: input.customer_email,
      createdAt: now,
      mobileMoney: 'phone' in input ? { phone: input.phone, network: input.network } : null,
      status: 'pending',
      changedAt: now,
      plan: this.#plansForNext.shift()?.(now) ?? expiry,
      createdSeq: nth,
      changedSeq: nth,
      plannedSeq: nth,
    };
    this.#add(entry);
    observer?.created(entry);
    return entry;
  }

  /** Takes up what an earlier run left, in the order of creation. */
  restore(entries: Iterable<Entry>): void {
    for (const entry of entries) this.#add(entry);
  }

  /** All transactions as they are now. */
  list(): Entry[] {
    return [...this.#entries.values()].map((entry) => this.#settled(entry));
  }

  find(reference: string): Entry | undefined {
    const entry = this.#entries.get(reference);
    return entry && this.#settled(entry);
  }

  /** What a verify finds: it takes one step of a script, where there is one. */
  verify(reference: string): Entry | undefined {
    const entry = this.find(reference);
    if (entry?.plan && 'statuses' in entry.plan) {
      const [status = entry.status, ...statuses] = entry.plan.statuses;
      this.#move(entry, status, Date.now(), { statuses }, ++this.#nth);
    }
    return entry;
  }

  /** Moves a transaction at once; what was planned for it is off. */
  settle(reference: string, status: FinalStatus): Entry {
    const entry = this.#known(reference);
    this.#move(entry, status, Date.now(), null, ++this.#nth);
    return entry;
  }

  settleAfter(reference: string | 'next', delay: number, status: FinalStatus): void {
    const now = Date.now();
    if (!(typeof delay === 'number' && delay >= 0 && delay <= LONGEST_DELAY)) {
      throw new RangeError(`The delay must be milliseconds from 0 to ${LONGEST_DELAY}, not ${delay}.`);
    }
    if (!isFinal(status)) {
      throw new RangeError(`A transaction settles as success, failed or abandoned, not ${status}.`);
    }
    this.#plan(reference, (createdAt) => ({
      settleAt: (reference === 'next' ? createdAt : now) + delay,
      status,
    }));
  }

  script(reference: string | 'next', statuses: readonly KnownStatus[]): void {
    if (statuses.length === 0) throw new RangeError('A script needs at least one status.');
    for (const status of statuses) {
      if (!transactionStatuses.includes(status))
        throw new RangeError(`There is no status ${status} in SPEC.md.`);
    }
    this.#plan(reference, () => ({ statuses }));
  }

  clear(): void {
    this.#drop([...this.#entries.values()]);
    this.#created = 0;
    this.#plansForNext = [];
  }

  #plan(reference: string | 'next', planFrom: PlanFrom): void {
    if (reference === 'next') {
      this.#plansForNext.push(planFrom);
    } else {
      const entry = this.#known(reference);
      entry.plan = planFrom(entry.createdAt);
      entry.plannedSeq = ++this.#nth;
      this.#options.observer?.changed(entry);
    }
  }

  #known(reference: string): Entry {
    const entry = this.find(reference);
    if (entry) return entry;
    const known = [...this.#entries.keys()].slice(-20).join(', ') || 'none yet';
    throw new Error(`There is no transaction ${reference}. Known: ${known}.`);
  }

  #add(entry: Entry): void {
    const { keep = Number.POSITIVE_INFINITY } = this.#options;
    // A hundredth at once: to look for the next one to go at each creation would take the longer the more are kept.
    if (this.#entries.size >= keep) this.#drop(this.#oldest(Math.ceil(keep / 100)));
    this.#entries.set(entry.reference, entry);
  }

  #oldest(count: number): Entry[] {
    const ended: Entry[] = [];
    const open: Entry[] = [];
    for (const entry of this.#entries.values()) {
      const list = isFinal(entry.status) ? ended : open;
      if (list.length < count) list.push(entry);
      if (ended.length === count) break;
    }
    return [...ended, ...open].slice(0, count);
  }

  #drop(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#entries.delete(entry.reference);
      this.#options.observer?.dropped(entry);
    }
  }

  #settled(entry: Entry): Entry {
    const { plan } = entry;
    if (plan && 'settleAt' in plan && Date.now() >= plan.settleAt) {
      this.#move(entry, plan.status, plan.settleAt, null, entry.plannedSeq);
    }
    return entry;
  }

  #move(entry: Entry, status: KnownStatus, at: number, plan: Plan | null, nth: number): void {
    if (entry.status !== status) {
      entry.status = status;
      entry.changedAt = at;
      entry.changedSeq = nth;
    }
    entry.plan = plan;
    this.#options.observer?.changed(entry);
  }
}

const numbered = (count: number) => `TXN-${String(count).padStart(6, '0')}`;

export function isFinal(status: KnownStatus): status is FinalStatus {
  return defaultFinalStatuses.some((final) => final === status);
}
