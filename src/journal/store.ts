import { JournalError } from '../errors.ts';

/** A record as a store keeps it. */
export interface StoredRecord {
  /** Of the write that left it so. */
  readonly version: string;
  readonly text: string;
  /** Milliseconds since that write, by the store's own clock. It decides how long others wait, never what is sent. */
  readonly age: number;
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
  /** What `list` and `count` find the record by; `null` if they must not find it: it is the journal's own. */
  readonly index: RecordIndex | null;
  /**
   * After how many milliseconds, by the store's own clock, `claimDue` returns the record; `null`: never. At most
   * {@link MAX_DUE_IN}.
   */
  readonly dueIn: number | null;
}

/** One of the writes that {@link JournalStore.writeAll} gets. */
export interface RecordWrite {
  readonly key: string;
  readonly change: RecordChange;
}

/**
 * Who follows a payment up: `createFollowUps` those that were charged under a key of the caller, `createOrderPayments` those
 * of its orders.
 */
export type RecordKind = 'key' | 'order';

/**
 * What a record is found by: keep it beside the record. It is a part of the record's `text`, too: there the reference is as the
 * service returned it.
 */
export interface RecordIndex {
  /** `claimDue` and `countDue` ask for one kind, so that neither delays the other. `list` and `count` take both. */
  readonly kind: RecordKind;
  /** As in the record: `begun`, `completed`, `not_sent`, `rejected`, `unknown`, `not_charged` or `closed`. */
  readonly state: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** The transaction in lower case, if the record names one. Two that differ in case only are never told apart. */
  readonly reference: string | null;
}

/** The longest `dueIn`, in milliseconds: an hour, and 10 % of jitter. */
export const MAX_DUE_IN = 66 * 60 * 1000;

/** The latest time of JavaScript's dates, in milliseconds since 1970. */
const MAX_TIME = 8.64e15;

/** Returns a time that each database can hold, in whole milliseconds. */
export const toStoredTime = (milliseconds: number) =>
  Math.round(Math.min(Math.max(milliseconds, 0), MAX_TIME));

/** How the message of a {@link NoJournalError} begins. */
export const NO_JOURNAL = 'There is no journal in this database.';

/** What a store reads before anything was written to it: its tables are not there. To read makes none. */
export class NoJournalError extends JournalError {
  /** Tells it from other errors of a journal, also if an application loads this package twice. */
  readonly reason = 'no_journal';

  constructor(details: string, cause?: unknown) {
    super(`${NO_JOURNAL} ${details}`, { cause });
  }
}

/** Whether an error says that there is no journal in the database. */
export const isNoJournalError = (error: unknown) => Object(error).reason === 'no_journal';

/** A page of {@link JournalStore.list}: records with one value of a field, oldest first. */
export interface ListQuery {
  /** The field of {@link RecordIndex} that must have this `value`. */
  readonly by: 'state' | 'reference';
  readonly value: string;
  /** The last record of the page before, or `null` for the first page. Records at the same time are in order of their key. */
  readonly after: { readonly createdAt: number; readonly key: string } | null;
  readonly limit: number;
}

/** How many records of one transaction are looked at: more than one is wrong already. */
export const MAX_KEYS_OF_REFERENCE = 10;

/** A record that was found without its key. */
export interface ListedRecord extends StoredRecord {
  readonly key: string;
  /** As in {@link RecordIndex}. */
  readonly createdAt: number;
}

/**
 * All that a database has to do for a journal: return a record, and replace it by compare-and-swap. Give it to
 * {@link createJournal}, and run `journalConformance` of `payment-collection-client/testing` against that.
 *
 * The other methods are optional, and charges are protected without them. Without `list`, a journal cannot list its keys or
 * find a key by its reference. Without `claimDue` and `countDue` it has no follow-ups, and without `delete` it
 * cannot prune. Each then rejects, and its message names the method that is missing.
 *
 * A step that has not settled after 11 s counts as failed. It can still be done later.
 *
 * @example
 * ```ts
 * const journal = createJournal({
 *   read: async (key) => records.find(key),
 *   write: async (key, change) => records.replaceWhereVersionIs(change.expected, key, change),
 * });
 * ```
 */
export interface JournalStore {
  /** Returns the record of a key, or `null`. It must see every write that has resolved, also another process's. */
  read(key: string): Promise<StoredRecord | null>;
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
   * Returns a page of records, oldest first, through an index: it must not read all records. It sees every write that has
   * resolved. Between two pages records can come and go.
   */
  list?(query: ListQuery): Promise<readonly ListedRecord[]>;
  /**
   * Returns the records that name any of these transactions, through an index, in any order: at most ten of each. The references
   * are in lower case, as in {@link RecordIndex}, and no two are alike. Without it, each is looked up by `list`.
   */
  listByReferences?(references: readonly string[]): Promise<readonly ListedRecord[]>;
  /** Returns how many records are in each state. Without it they are counted page by page. */
  count?(): Promise<Readonly<Record<string, number>>>;
  /**
   * Returns records of one kind that are due by the store's own clock, the earliest first, and makes each due again after `lease`
   * milliseconds. Two callers never get one record within its lease. Nothing else of the record changes, neither its
   * `version` nor its `age`. A record that is due later than {@link MAX_DUE_IN} from now is due too: a clock went back.
   */
  claimDue?(claim: {
    readonly kind: RecordKind;
    readonly limit: number;
    readonly lease: number;
  }): Promise<readonly ListedRecord[]>;
  /**
   * Returns how many records of one kind are due now, and in how many milliseconds the next of the others is (`null` if there is none).
   * It changes nothing.
   */
  countDue?(query: {
    readonly kind: RecordKind;
  }): Promise<{ readonly due: number; readonly nextIn: number | null }>;
  /** Deletes each record that still has this `version`, and returns how many those were. For `journal.prune` alone. */
  delete?(records: readonly { readonly key: string; readonly version: string }[]): Promise<number>;
}
