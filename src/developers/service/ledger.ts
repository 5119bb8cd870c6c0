import type * as z from 'zod/mini';
import type { chargeMobileMoneyInputSchema, initializeInputSchema, Network } from '../../api/input.ts';
import { DEFAULT_CURRENCY } from '../../api/operations.ts';
import { type KnownStatus, transactionStatuses } from '../../api/transaction.ts';
import { type defaultFinalStatuses, isFinal } from '../../schedule.ts';
import { Clock } from './clock.ts';

export type { KnownStatus } from '../../api/transaction.ts';

/** A status that ends a payment. */
export type FinalStatus = (typeof defaultFinalStatuses)[number];

/** A transaction as the service stores it. Times are epoch milliseconds. */
export interface Entry {
  readonly reference: string;
  /** Only keys of this mode see it. */
  readonly mode: KeyMode;
  /** With two decimals. */
  readonly amount: string;
  readonly currency: string;
  readonly customer_email: string;
  readonly createdAt: number;
  /** The phone that was charged. `null` for a checkout payment. */
  readonly mobileMoney: { readonly phone: string; readonly network: Network } | null;
  readonly returnUrl: string | null;
  status: KnownStatus;
  /** Why it failed: the customer declined or the payment was rejected, or nobody answered the prompt. */
  failure: Failure | null;
  changedAt: number;
  /** What a verify reports until a time, because a webhook was ordered that comes before its status. */
  hidden: { readonly status: KnownStatus; readonly until: number } | null;
  plan: Plan | null;
  /**
   * The order of events, because a fake clock can stand still: when it was created, when its status changed, and when
   * its plan was made. A status that a plan changed has the number of the plan. 0 is an earlier run of the sandbox.
   */
  createdSeq: number;
  changedSeq: number;
  plannedSeq: number;
}

export type ChargeEntry = Entry & { readonly mobileMoney: NonNullable<Entry['mobileMoney']> };

export function isCharge(entry: Entry): entry is ChargeEntry {
  return entry.mobileMoney !== null;
}

export const failures = ['declined', 'expired'] as const;

/** Why a transaction failed. A verify reports both as `failed`. */
export type Failure = (typeof failures)[number];

export const keyModes = ['test', 'live'] as const;

export type KeyMode = (typeof keyModes)[number];

/** What happens to a transaction by itself: one final status at a given time, or a status for each verify. */
export type Plan =
  | { settleAt: number; status: FinalStatus; isExpiry?: boolean | undefined }
  | { statuses: readonly KnownStatus[] };

/** Thirty years, in milliseconds. `Date.now()` plus this still fits into a date. */
export const MAX_DELAY_MS = 1_000_000_000_000;

/** Receives every change, at the time of the change. */
export interface LedgerObserver {
  created?(entry: Entry): void;
  changed?(entry: Entry, before: KnownStatus): void;
  deleted?(entry: Entry): void;
}

/** What a service needs that runs for days. */
export interface LedgerOptions {
  /** How many transactions to keep. Above that, final ones are deleted first, and older ones first. Default: all. */
  readonly keep?: number;
  /** Milliseconds until an unanswered charge fails. Default: never. */
  readonly promptExpiry?: number;
  /** Creates the reference of the `count`th transaction. Default: `TXN-000001` and so on. */
  readonly newReference?: (count: number) => string;
  /** Each receives a change after the one before it. */
  readonly observers?: readonly LedgerObserver[];
  /** Default: one that follows `Date.now()`. */
  readonly clock?: Clock;
}

/** What a new transaction has beside the fields of its request. */
export interface EntryOrigin {
  readonly mode: KeyMode;
  readonly returnUrl?: string | undefined;
}

type CheckoutRequest = z.output<typeof initializeInputSchema>;
type ChargeRequest = z.output<typeof chargeMobileMoneyInputSchema>;

/** Makes the plan of a transaction that might not exist yet. */
type Planner = (createdAt: number) => Plan;

/**
 * Every transaction, in the order of creation.
 *
 * It has no timer. Each access compares the time with the plans, so that it works under every fake clock.
 */
export class Ledger {
  readonly #entries = new Map<string, Entry>();
  readonly #options: LedgerOptions;
  readonly #clock: Clock;
  readonly #observers: readonly LedgerObserver[];
  #created = 0;
  #seq = 0;
  #plannersForNext: Planner[] = [];

  constructor(options: LedgerOptions = {}) {
    this.#options = options;
    this.#clock = options.clock ?? new Clock();
    this.#observers = options.observers ?? [];
  }

  get size(): number {
    return this.#entries.size;
  }

  create(input: CheckoutRequest | ChargeRequest, { mode, returnUrl }: EntryOrigin): Entry {
    const now = this.#clock.now();
    const { newReference = numberReference, promptExpiry } = this.#options;
    const expiry: Plan | null =
      'phone' in input && promptExpiry !== undefined
        ? { settleAt: now + promptExpiry, status: 'failed', isExpiry: true }
        : null;
    const seq = ++this.#seq;
    const entry: Entry = {
      reference: newReference(++this.#created),
      mode,
      amount: input.amount.toFixed(2),
      currency: input.currency ?? DEFAULT_CURRENCY,
      customer_email: input.customer_email,
      createdAt: now,
      mobileMoney: 'phone' in input ? { phone: input.phone, network: input.network } : null,
      returnUrl: returnUrl ?? null,
      status: 'pending',
      failure: null,
      changedAt: now,
      hidden: null,
      plan: this.#plannersForNext.shift()?.(now) ?? expiry,
      createdSeq: seq,
      changedSeq: seq,
      plannedSeq: seq,
    };
    this.#add(entry);
    for (const observer of this.#observers) observer.created?.(entry);
    return entry;
  }

  /** Adds the transactions of an earlier run, in the order of creation. */
  restore(entries: Iterable<Entry>): void {
    for (const entry of entries) this.#add(entry);
  }

  list(): Entry[] {
    return [...this.#entries.values()].map((entry) => this.#settleIfDue(entry));
  }

  find(reference: string): Entry | undefined {
    const entry = this.#entries.get(reference);
    return entry && this.#settleIfDue(entry);
  }

  /** Returns what a verify finds, after one step of the script if there is one. */
  verify(reference: string): Entry | undefined {
    const entry = this.find(reference);
    if (entry?.plan && 'statuses' in entry.plan) {
      const [status = entry.status, ...statuses] = entry.plan.statuses;
      this.#change(entry, status, this.#clock.now(), { statuses }, ++this.#seq);
    }
    return entry;
  }

  getReportedStatus({ status, hidden }: Entry): KnownStatus {
    return hidden && this.#clock.now() < hidden.until ? hidden.status : status;
  }

  /** Makes verifies report another status for `duration` milliseconds. */
  hideStatus(reference: string, status: KnownStatus, duration: number): void {
    const entry = this.#require(reference);
    entry.hidden = { status, until: this.#clock.now() + duration };
    this.#notifyChange(entry);
  }

  /** Gives a transaction a final status now, and cancels what was planned. */
  end(reference: string, status: FinalStatus): Entry {
    const entry = this.#require(reference);
    this.#change(entry, status, this.#clock.now(), null, ++this.#seq);
    return entry;
  }

  settleAfter(reference: string | 'next', delay: number, status: FinalStatus): void {
    const now = this.#clock.now();
    if (!(typeof delay === 'number' && delay >= 0 && delay <= MAX_DELAY_MS)) {
      throw new RangeError(`The delay must be milliseconds from 0 to ${MAX_DELAY_MS}, not ${delay}.`);
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
        throw new RangeError(`Unknown status ${status}. Known: ${transactionStatuses.join(', ')}.`);
    }
    this.#plan(reference, () => ({ statuses }));
  }

  /** Deletes all transactions and plans. References go on, so that none is used twice. */
  clear(): void {
    this.#delete([...this.#entries.values()]);
    this.#plannersForNext = [];
  }

  #plan(reference: string | 'next', planner: Planner): void {
    if (reference === 'next') {
      this.#plannersForNext.push(planner);
    } else {
      const entry = this.#require(reference);
      entry.plan = planner(entry.createdAt);
      entry.plannedSeq = ++this.#seq;
      this.#notifyChange(entry);
    }
  }

  #require(reference: string): Entry {
    const entry = this.find(reference);
    if (entry) return entry;
    const known = [...this.#entries.keys()].slice(-20).join(', ') || 'none yet';
    throw new Error(`There is no transaction ${reference}. Known: ${known}.`);
  }

  #settleIfDue(entry: Entry): Entry {
    const { plan } = entry;
    if (plan && 'settleAt' in plan && this.#clock.now() >= plan.settleAt) {
      const failure = plan.isExpiry ? 'expired' : 'declined';
      this.#change(entry, plan.status, plan.settleAt, null, entry.plannedSeq, failure);
    }
    return entry;
  }

  #change(
    entry: Entry,
    status: KnownStatus,
    at: number,
    plan: Plan | null,
    seq: number,
    failure: Failure = 'declined',
  ): void {
    const before = entry.status;
    if (before !== status) {
      entry.status = status;
      entry.failure = status === 'failed' ? failure : null;
      entry.hidden = null;
      entry.changedAt = at;
      entry.changedSeq = seq;
    }
    entry.plan = plan;
    this.#notifyChange(entry, before);
  }

  #notifyChange(entry: Entry, before = entry.status): void {
    for (const observer of this.#observers) observer.changed?.(entry, before);
  }

  #add(entry: Entry): void {
    const { keep = Number.POSITIVE_INFINITY } = this.#options;
    // A hundredth at once. A search for one entry at each creation would be slow when many are kept.
    if (this.#entries.size >= keep) this.#delete(this.#findOldest(Math.ceil(keep / 100)));
    this.#entries.set(entry.reference, entry);
  }

  /** Returns final transactions, oldest first, and open ones only if there are not enough. */
  #findOldest(count: number): Entry[] {
    const final: Entry[] = [];
    const open: Entry[] = [];
    for (const entry of this.#entries.values()) {
      const list = isFinal(entry.status) ? final : open;
      if (list.length < count) list.push(entry);
      if (final.length === count) break;
    }
    return [...final, ...open].slice(0, count);
  }

  #delete(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#entries.delete(entry.reference);
      for (const observer of this.#observers) observer.deleted?.(entry);
    }
  }
}

function numberReference(count: number): string {
  return `TXN-${String(count).padStart(6, '0')}`;
}
