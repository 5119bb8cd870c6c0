import type { FollowUp, JournalRecord, KeyHistory } from './record.ts';
import type { Resolution, ResolutionNote } from './resolution.ts';

/**
 * The durable record of what was charged, and of what might have been. It makes `idempotencyKey` hold through a crash.
 *
 * These methods are for you; how the client charges is the package's own. So a journal cannot be wrapped or imitated: for a
 * database of your own, give `createJournal` a `JournalStore`. A journal belongs to the service and mode that use it
 * first, and stores a digest of them.
 */
export interface Journal {
  /** Returns what is recorded of a key, or `null`. */
  read(key: string): Promise<JournalEntry | null>;
  /**
   * Yields the entries of many keys, oldest first, in pages: memory is bounded. A key that is being charged or resolved
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
  /** Returns how many keys are in each state. @throws {ConfigurationError} if the store has no `list`. */
  count(): Promise<Record<JournalState, number>>;
  /**
   * Resolves a key as `payments.resolve` does, but does not ask the service: for tests and migrations. It does
   * refuse a reference that is recorded under another key. The same resolution twice is harmless.
   *
   * @throws {JournalError} if there is no such key, if it is in progress (`retryable`), or if the record contradicts it.
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
   * Deletes the records that were created before a time, and that nothing is left to do for; nothing else ever deletes one. It
   * never deletes an unresolved key, one in progress, one that a person resolved, or a payment whose follow-up has not
   * ended. A deleted key counts as new: choose a time before any order that might still be retried.
   *
   * @returns how many keys were deleted.
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

/** The state of a key. See docs/reference/idempotency-states.md. @useDeclaredType */
export type JournalState = JournalRecord['state'];

/** Which keys {@link Journal.list} yields. */
export interface JournalQuery {
  /** `unknown`: the unresolved keys, also those whose process died. @default every state */
  state?: JournalState | undefined;
  /** Only keys that name this transaction. @default any, or none */
  reference?: string | undefined;
  /** How many keys to yield at most. @default Infinity */
  limit?: number | undefined;
}

/** Which records `journal.prune` deletes. */
export interface PruneOptions {
  /** Deletes only records that were created before this time, a `Date` or milliseconds since 1970. It must not be in the future. */
  before: Date | number;
  /**
   * Whether to delete completed payments whose follow-up has not ended too: for a shop without `createFollowUps` and
   * `createOrderPayments`.
   *
   * @default false
   */
  unfollowed?: boolean | undefined;
}

/** What a journal holds about a key. It has no API key, phone number or email of a customer. */
export interface JournalEntry {
  readonly key: string;
  /** A key in state `begun` whose lease has expired is `unknown`. */
  readonly state: JournalState;
  readonly operation: JournalRecord['operation'];
  /** With two decimals. */
  readonly amount: string;
  readonly currency: string;
  /** Of a Mobile Money charge. */
  readonly network: string | undefined;
  /** When the latest call under the key began, in milliseconds since 1970. */
  readonly createdAt: number;
  /** When the record was last written, in milliseconds since 1970. */
  readonly updatedAt: number;
  /** How many requests were sent under the key, or might have been. */
  readonly attempts: number;
  /** The `X-Request-Id` of each of them, the latest 20: quote them to the service's support. */
  readonly requestIds: readonly string[];
  /** The transaction, if it is known. */
  readonly reference: string | undefined;
  /** Why the latest call failed, if it did: the error's code, and the HTTP status if there was a response. */
  readonly error: { readonly code: string; readonly status: number | null } | undefined;
  /** What persons resolved, oldest first. They are kept for ever. */
  readonly resolutions: KeyHistory['resolutions'];
  /** Whether a process holds the claim now: the same as `state` `begun`. */
  readonly inProgress: boolean;
  /** A digest of base URL and mode. */
  readonly service: string;
  /** How far the follow-up of the payment is; `undefined` before its first step. */
  readonly followUp: FollowUp | undefined;
}

/** A setting of the database with which a record could be lost. */
export interface JournalWarning {
  readonly setting: string;
  readonly value: string;
  /** What can be lost, and what to set instead. */
  readonly message: string;
}
