import type { AttentionReason } from '../ledger/order.ts';
import type { Payment, RecordedError, RecordedResolution } from '../ledger/record.ts';
import type { Offer } from '../ledger/resolve.ts';
import type { Resolution, ResolutionNote } from './resolution.ts';

/**
 * The durable record of what was charged, and of what might have been. It makes `idempotencyKey` hold through a crash.
 *
 * These methods are for you; how the client charges is the package's own. So a journal cannot be wrapped or imitated: for a
 * database of your own, give `createJournal` a `JournalStore`. Each record belongs to the service and mode (test or live) that
 * made it, and has a digest of them.
 *
 * A payment is named by its idempotency key: that of a charge, or `17/1` for the first payment of the order 17. If a name fits
 * a key and an order, `key 17/1` is the key and `order 17/1` the payment.
 */
export interface Journal {
  /**
   * Returns what is recorded of a payment, or `null`.
   *
   * @throws {JournalError} if the store fails, if the record cannot be read, or if the name fits two payments.
   */
  read(key: string): Promise<JournalEntry | null>;
  /**
   * Yields the entries of many payments, oldest first, in pages: memory is bounded. A payment that is being charged or resolved
   * meanwhile can be left out.
   *
   * @throws {ConfigurationError} if the query is wrong, or if the store has no `list`.
   * @throws {JournalError} if the store fails. If records cannot be read, it yields all others first. Then it throws one error
   * that names their keys.
   *
   * @example
   * ```ts
   * for await (const { key, amount, createdAt } of journal.list({ state: 'unknown' })) console.log(key, amount, createdAt);
   * ```
   */
  list(query?: JournalQuery): AsyncGenerator<JournalEntry, void, void>;
  /**
   * Yields what a person has to decide, oldest first: through an index, so that paid orders cost nothing. An item leaves the list
   * by being decided, by any person.
   *
   * @throws {ConfigurationError} if the query is wrong, or if the store has no `list`.
   * @throws {JournalError} if the store fails. If records cannot be read, it yields all others first. Then it throws one error
   * that names their keys.
   *
   * @example
   * ```ts
   * for await (const { key, reason, since } of journal.listAttention()) console.log(key, reason, new Date(since));
   * ```
   */
  listAttention(query?: AttentionQuery): AsyncGenerator<AttentionItem, void, void>;
  /**
   * Returns how many orders and keys there are, and for how many of them a person is needed.
   *
   * @throws {ConfigurationError} if the store has no `count`.
   * @throws {JournalError} if the store fails.
   */
  count(): Promise<JournalCount>;
  /**
   * Resolves a payment as `payments.resolve` does, but does not ask the service: for tests and migrations. It does
   * refuse a reference that belongs to another order or key. The same resolution twice is harmless.
   *
   * @throws {JournalError} if there is no such payment, if it is in progress (`retryable`), or if the record contradicts it.
   *
   * @example
   * ```ts
   * const note = { by: 'kofi@shop.example', reason: 'migrated from the old table' };
   * await journal.resolve('order-17/1', { reference: 'TXN-8F2K1' }, note);
   * await journal.resolve('order-18/1', 'not_charged', note);
   * ```
   */
  resolve(key: string, resolution: Resolution, note: ResolutionNote): Promise<void>;
  /**
   * Deletes the orders and keys whose latest payment began before a time, and that nothing is left to do for: nothing is open,
   * nothing needs a person, no handler is to be called, and no check is planned. An order goes whole. Nothing else ever deletes
   * one. A deleted key counts as new: choose a time before any order that might still be retried.
   *
   * @returns how many were deleted.
   * @throws {ConfigurationError} if `before` is not a time of the past, or if the store has no `list` or `delete`.
   * @throws {JournalError} if the store fails. Some records might have been deleted.
   *
   * @example
   * ```ts
   * const YEAR = 365 * 24 * 60 * 60 * 1000;
   * await journal.prune({ before: Date.now() - YEAR });
   * ```
   */
  prune(options: PruneOptions): Promise<number>;
}

/**
 * The state of a payment. See docs/guides/prevent-double-charges.md.
 *
 * - `begun`: a process sends its request, or has sent it.
 * - `completed`: the service made the charge.
 * - `not_sent`, `rejected`: no charge exists.
 * - `unknown`: a charge might exist.
 * - `not_charged`, `closed`: what a person resolved.
 */
export type JournalState =
  | 'begun'
  | 'completed'
  | 'not_sent'
  | 'rejected'
  | 'unknown'
  | 'not_charged'
  | 'closed';

/** Which payments {@link Journal.list} yields. */
export interface JournalQuery {
  /** `unknown`: what is unresolved, also if its process died. @default every state */
  state?: JournalState | undefined;
  /** Only payments that name this transaction. @default any, or none */
  reference?: string | undefined;
  /** How many to yield at most. @default Infinity */
  limit?: number | undefined;
}

/** What {@link Journal.listAttention} yields, and `listInReview` of `createOrderPayments`. */
export interface AttentionQuery {
  /** How many to yield at most. @default Infinity */
  limit?: number | undefined;
}

/** What a person has to decide about one payment. */
export interface AttentionItem
  extends Pick<
    JournalEntry,
    'key' | 'order' | 'amount' | 'currency' | 'network' | 'reference' | 'requestIds'
  > {
  readonly reason: AttentionReason;
  /** In milliseconds since 1970. */
  readonly since: number;
}

/** How many records a journal has. */
export interface JournalCount {
  /** Orders, and idempotency keys of the caller's own. */
  readonly records: number;
  /** How many of them need a person. */
  readonly attention: number;
}

/** Which records `journal.prune` deletes. */
export interface PruneOptions {
  /**
   * Deletes only orders and keys whose latest payment began before this time, a `Date` or milliseconds since 1970. It must not be
   * in the future, neither by this machine's clock nor, by more than a minute, by the store's.
   */
  before: Date | number;
  /**
   * Whether to delete those too for which a handler is to be called, or a check is planned: for a shop without `createFollowUps`
   * and `createOrderPayments`.
   *
   * @default false
   */
  unfollowed?: boolean | undefined;
}

/** What a journal holds of a payment. It has no API key, phone number or email of a customer. */
export interface JournalEntry {
  readonly key: string;
  /** The order that it is a payment of. */
  readonly order: string | undefined;
  /** A payment in state `begun` whose lease has expired is `unknown`. */
  readonly state: JournalState;
  readonly operation: Payment['operation'];
  /** With two decimals. */
  readonly amount: string;
  readonly currency: string;
  /** The amount and currency of its transaction, if they are others. */
  readonly other: { readonly amount: string; readonly currency: string } | undefined;
  /** The price that its order was last asked for. */
  readonly price: { readonly amount: string; readonly currency: string };
  /** Of a Mobile Money charge. */
  readonly network: string | undefined;
  /** When the latest attempt began, in milliseconds since 1970. */
  readonly createdAt: number;
  /** When something was last recorded of it that a check or a person found, or when it began, in milliseconds since 1970. */
  readonly updatedAt: number;
  /** How many requests were sent, or might have been. */
  readonly attempts: number;
  /** The `X-Request-Id` of each of them, the latest 20: quote them to the service's support. */
  readonly requestIds: readonly string[];
  /** The transaction, if it is known. */
  readonly reference: string | undefined;
  /** The status that the last check returned, or the service at first. */
  readonly status: string | undefined;
  /** When the last check was asked that got an answer, in milliseconds since 1970. */
  readonly checkedAt: number | undefined;
  /** When the next check is planned, in milliseconds since 1970. */
  readonly nextCheckAt: number | undefined;
  /** Why the latest attempt failed, if it did: the error's code, and the HTTP status if there was a response. */
  readonly error: RecordedError | undefined;
  /** Why a person has to decide, if one has to. */
  readonly attention: AttentionReason | undefined;
  /** What a person can decide about it now: `reference` means `{ reference }`. An earlier decision is then taken back. */
  readonly offers: readonly Offer[];
  /** Changes whenever something changes that a person decides about. Give it to `resolve` with what they decided. */
  readonly revision: string;
  /** What persons resolved, oldest first. They are kept as long as the record. */
  readonly resolutions: readonly Pick<RecordedResolution, 'at' | 'by' | 'reason' | 'resolution'>[];
  /** Whether a process holds the claim now: the same as `state` `begun`. */
  readonly inProgress: boolean;
  /** A digest of base URL and mode. */
  readonly service: string;
}

/** A setting of the database with which a record could be lost. */
export interface JournalWarning {
  readonly setting: string;
  readonly value: string;
  /** What can be lost, and what to set instead. */
  readonly message: string;
}
