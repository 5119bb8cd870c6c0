import { JournalError } from '../errors.ts';

/** A record as a store keeps it. */
export interface StoredRecord {
  /** Of the write that left it so. */
  readonly version: string;
  readonly text: string;
}

/** What {@link JournalStore.read} returns. */
export interface StoreRead {
  readonly record: StoredRecord | null;
  /** The time by the store's own clock, in milliseconds since 1970. All processes go by it. */
  readonly now: number;
  /** Whether the store's tables are not there yet, and the first write makes them. A store that never makes any rejects instead. */
  readonly isNew?: true;
}

/** One write. */
export interface RecordChange {
  /** The version that the record must have, or `null` if there must be no record. */
  readonly expected: string | null;
  /** Of this write. No two are alike. */
  readonly version: string;
  readonly text: string;
  /**
   * Whether a request, or a result for the caller, depends on this write: it must not be part of another transaction that
   * could still be rolled back. `false` for `resolve` and for follow-ups only.
   */
  readonly mustCommit: boolean;
  /** What the record is found by; `null` if nothing must find it but `read`: it is the journal's own. */
  readonly index: RecordIndex | null;
}

/** One of the writes that {@link JournalStore.writeAll} gets. */
export interface RecordWrite {
  readonly key: string;
  readonly change: RecordChange;
}

/**
 * Who follows a record up: `createOrderPayments` its orders, `createFollowUps` the idempotency keys of the caller's own.
 */
export type RecordKind = 'key' | 'order';

/** What a record is found by: keep it beside the record. Times are in whole milliseconds since 1970, by the store's own clock. */
export interface RecordIndex {
  /** `claimDue` and `countDue` ask for one kind, so that neither delays the other. `list` and `count` take both. */
  readonly kind: RecordKind;
  /** When the latest payment of the record began. */
  readonly createdAt: number;
  /** From when on a person is needed; `null`: never. */
  readonly attentionAt: number | null;
  /** When `claimDue` returns the record; `null`: never. At most {@link MAX_DUE_IN} from the time of the write. */
  readonly dueAt: number | null;
}

/** How long after a write a record is due at the latest, in milliseconds: a day, and 10 % of jitter. */
export const MAX_DUE_IN = 26.4 * 60 * 60 * 1000;

/** The latest time of JavaScript's dates, in milliseconds since 1970. */
const MAX_TIME = 8.64e15;

/** Returns a time that each database can hold, in whole milliseconds. */
export const toStoredTime = (milliseconds: number) =>
  Math.round(Math.min(Math.max(milliseconds, 0), MAX_TIME));

/** How the message of a {@link NoJournalError} begins. */
const NO_JOURNAL = 'There is no journal in this database.';

/** What a store that makes no tables reads before they are there, and what any store lists and counts then. */
export class NoJournalError extends JournalError {
  /** Tells it from other errors of a journal, also if an application loads this package twice. */
  readonly reason = 'no_journal';

  constructor(details: string, cause?: unknown) {
    super(`${NO_JOURNAL} ${details}`, { cause });
  }
}

/** A page of {@link JournalStore.list}. */
export interface ListQuery {
  /**
   * The time of {@link RecordIndex} that the records are ordered by, the earliest first. By `attentionAt`, those whose time is not
   * later than now, by the store's own clock; by `createdAt`, all.
   */
  readonly by: 'createdAt' | 'attentionAt';
  /** The last record of the page before, or `null` for the first page. Records at the same time are in order of their key. */
  readonly after: { readonly at: number; readonly key: string } | null;
  readonly limit: number;
}

/** A record that was found without its key. */
export interface ListedRecord extends StoredRecord {
  readonly key: string;
  /** The time that it was found by. */
  readonly at: number;
}

/**
 * All that a database has to do for a journal: return a record, and replace it by compare-and-swap. Give it to
 * {@link createJournal}, and run `journalConformance` of `payment-collection-client/testing` against it.
 *
 * The other methods are optional, and charges are protected without them. Without `list` and `count`, a journal cannot list
 * what needs a person. Without `claimDue` and `countDue` it has no follow-ups, and without `delete` it cannot prune. Each
 * then rejects, and its message names the method that is missing.
 *
 * A key is text of at most 600 characters without control characters. A step that has not settled after 11 s counts as
 * failed. It can still be done later.
 *
 * @example
 * ```ts
 * const records = new Map<string, { version: string; text: string }>(); // in place of it: your database
 * const journal = createJournal({
 *   read: async (key) => ({ record: records.get(key) ?? null, now: Date.now() }),
 *   async write(key, { expected, version, text }) {
 *     if ((records.get(key)?.version ?? null) !== expected) return false;
 *     records.set(key, { version, text });
 *     return true;
 *   },
 * });
 * ```
 */
export interface JournalStore {
  /** Returns the record of a key, and the time. It must see every write that has resolved, also another process's. */
  read(key: string): Promise<StoreRead>;
  /**
   * Writes in one atomic step, and only if `change.expected` holds: `true` if it did. It resolves once the record would
   * survive a crash of the process and of the machine.
   */
  write(key: string, change: RecordChange): Promise<boolean>;
  /**
   * Writes several records in one transaction, with one wait for the disk. Each is compared and replaced as `write` does it, and one
   * that does not have its `expected` version leaves the others as they are. Resolves with the result of each, in order:
   * `undefined` for one that was not tried, for example because its record is locked. That one is then written with `write`, and
   * so are all of them if this rejects. No two writes have one key, and all have the same `mustCommit`. Without it, each
   * record is written alone: leave it out on Cloudflare Workers, where a request that ends would hold up the writes of others.
   */
  writeAll?(writes: readonly RecordWrite[]): Promise<readonly (boolean | undefined)[]>;
  /**
   * Returns a page of records through an index: it must not read all records. It sees every write that has resolved.
   * Between two pages records can come and go.
   */
  list?(query: ListQuery): Promise<readonly ListedRecord[]>;
  /** Returns how many records have an index, and for how many of them a person is needed now. */
  count?(): Promise<{ readonly records: number; readonly attention: number }>;
  /**
   * Returns records of one kind that are due by the store's own clock, the earliest first, and makes each due again after `lease`
   * milliseconds. Two callers never get one record within its lease. Nothing else of the record changes, not its
   * `version` either. A record that is due later than {@link MAX_DUE_IN} from now is due too: a clock went back. `now` is the
   * time by the store's own clock, and `at` of each record when it was due.
   */
  claimDue?(claim: {
    readonly kind: RecordKind;
    readonly limit: number;
    readonly lease: number;
  }): Promise<{ readonly records: readonly ListedRecord[]; readonly now: number }>;
  /**
   * Returns how many records of one kind are due now, and in how many milliseconds the next of the others is (`null` if there is none).
   * It changes nothing.
   */
  countDue?(query: {
    readonly kind: RecordKind;
  }): Promise<{ readonly due: number; readonly nextIn: number | null }>;
  /** Deletes each record that still has this `version`, and returns how many those were. */
  delete?(records: readonly { readonly key: string; readonly version: string }[]): Promise<number>;
}
