/** What a database of the SQLite family has to do for a journal if it is reached by promises. */

import { explainMissingTable } from '../sql.ts';
import type { SqliteNow } from './table.ts';

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
   * committed, and rejects if none of them was, or if that is not known. It also sees every write that any process has
   * committed.
   */
  batch(statements: readonly SqliteStatement[]): Promise<readonly (readonly Record<string, unknown>[])[]>;
  /** Whether a replica, which can be behind, runs statements that only read. Each read then has one that could write. */
  readonly hasReplicas?: boolean;
}

export function isReadOnly(statements: readonly SqliteStatement[]): boolean {
  return statements.every(({ sql }) => /^\s*SELECT\b/i.test(sql));
}

/** Whether an error says that a table does not exist. */
const isMissingTable = (error: unknown) => /no such table/i.test(String(Object(error).message));

/** Only a write of a record makes the table. */
export const explainMissingTableSqlite = explainMissingTable(
  isMissingTable,
  'The first charge makes its table. Is this the database of the shop, and its table?',
);

interface WriteNeeds {
  readonly mustCommit: boolean;
  /** Whether it must survive a crash of the machine. A lease need not: that crash ends the process that holds it, too. */
  readonly mustSync: boolean;
}

export interface SqliteRunner {
  readonly now: SqliteNow;
  /** Whether writes can travel together: not through a handle, which might belong to one request of a Worker. */
  readonly groupsWrites: boolean;
  /**
   * Runs a statement that changes nothing. `now` has the value for `SqliteRunner.now`, if it takes one. `touch` is a statement that
   * changes nothing either, and only a primary runs.
   *
   * @throws {NoJournalError} if the table does not exist.
   */
  read(build: (now: readonly number[]) => SqliteStatement, touch?: string): Promise<readonly unknown[]>;
  /**
   * Runs statements in order, in one transaction.
   *
   * @throws {NoJournalError} if the table does not exist.
   */
  write(
    needs: WriteNeeds,
    build: (now: readonly number[]) => readonly SqliteStatement[],
  ): Promise<readonly (readonly unknown[])[]>;
}

/** The clock of the database, in milliseconds since 1970. SQLite keeps whole milliseconds, so nothing is lost. */
const SERVER_NOW = `CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)`;

/** Runs the statements of a journal through a handle. */
export function createHandleRunner(handle: SqliteHandle): SqliteRunner {
  return {
    now: () => SERVER_NOW,
    groupsWrites: false,
    async read(build, touch) {
      const first = handle.hasReplicas && touch !== undefined ? [{ sql: touch, values: [] }] : [];
      const results = await handle.batch([...first, build([])]).catch(explainMissingTableSqlite);
      return results.at(-1) ?? [];
    },
    write: (_needs, build) => handle.batch(build([])).catch(explainMissingTableSqlite),
  };
}
