/** A record as it is kept. */
export interface StoredRecord {
  /** Of the write that left it so. */
  readonly version: string;
  readonly text: string;
  /** Milliseconds since that write, by the store's own clock. It decides how long others wait, never what is sent. */
  readonly age: number;
}

/** One write. */
export interface RecordChange {
  /** The version that has to be there still, or `null` where there has to be no record. */
  readonly expected: string | null;
  /** Of this write. No two are alike. */
  readonly version: string;
  readonly text: string;
  /**
   * After so many milliseconds the record may be dropped; `null`: never. A store may keep it for longer, or for ever. It
   * must not drop a record, nor hide it, because a clock that may be set has jumped ahead: the key would count as new.
   */
  readonly ttl: number | null;
  /**
   * Whether something is sent, or answered, on the strength of this write: it must not be part of a transaction of
   * somebody else's that could still be rolled back. Only `resolve` is not binding.
   */
  readonly mustCommit: boolean;
}

/**
 * All that a database has to do for a journal: give back a record, and replace it only where nobody else did. Give it
 * to {@link createJournal}, and run `journalConformance` of `payment-collection-client/testing` against that.
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
  /** The record of a key, or `null`. It has to see every write that has been answered, also another process's. */
  read(key: string): Promise<StoredRecord | null>;
  /**
   * Writes in one atomic step, and only where `change.expected` holds: `true` where it did. It resolves once the record
   * would outlive a crash of the process and of the machine.
   */
  write(key: string, change: RecordChange): Promise<boolean>;
}

/**
 * The time that `retention` is measured with. Any clock may be wrong for a while: the machine's, the database server's,
 * or that of one process among several. So a store on a database counts the time itself, beside its records: each write
 * adds what the clock says has passed since it was last asked, at most {@link LONGEST_STEP}, or takes away what the clock
 * went back. The counted time is then never ahead of the clock, whatever the clock did in between, and is ahead of the
 * true time by one step at most for each jump. Long pauses count for less than they were, so a record is dropped late.
 */

/** As much as counts at once, in milliseconds: a day. */
export const LONGEST_STEP = 24 * 60 * 60 * 1000;

/** A record is kept for this much longer than its `retention`, in milliseconds, so that a few jumps drop nothing. */
export const MARGIN = 7 * LONGEST_STEP;

/** The counted time is recorded no more often than this, in milliseconds. */
export const SHORTEST_STEP = 60_000;
