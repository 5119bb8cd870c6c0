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
   * After how many milliseconds the record can be dropped; `null`: never. A store can keep it for longer, or for ever. It
   * must not drop a record, nor hide it, because a clock that can be set has jumped ahead: the key would count as new.
   */
  readonly ttl: number | null;
  /**
   * Whether a request, or a result for the caller, depends on this write: it must not be part of another transaction that
   * could still be rolled back. `false` for `resolve` only.
   */
  readonly mustCommit: boolean;
}

/**
 * All that a database has to do for a journal: return a record, and replace it by compare-and-swap. Give it to
 * {@link createJournal}, and run `journalConformance` of `payment-collection-client/testing` against that.
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
}
