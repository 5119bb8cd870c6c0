/** A statement of SQLite. Its values are numbered: `?1`, `?2` and so on. */
export interface SqliteStatement {
  readonly sql: string;
  readonly values: readonly (string | number | null)[];
}

/**
 * A database of the SQLite family that is reached by promises, or has transactions of its own kind. Make it with
 * `fromLibsql`, `fromD1` or `fromDurableObject`, and give it to `sqliteJournal`.
 */
export interface SqliteHandle {
  /**
   * Runs statements in order, in one transaction of their own, and returns the rows of each. It resolves once they are
   * committed, and rejects if none of them was. It also sees every write that any process has committed.
   */
  batch(statements: readonly SqliteStatement[]): Promise<readonly (readonly Record<string, unknown>[])[]>;
}
