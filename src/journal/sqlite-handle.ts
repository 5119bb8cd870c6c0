/** What a database of the SQLite family has to do for a journal if it is reached by promises. */

import { buildSchema, type SqliteNow } from './sqlite-table.ts';

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
}

/** Whether statements change nothing. */
export function isReadOnly(statements: readonly SqliteStatement[]): boolean {
  return statements.every(({ sql }) => /^\s*SELECT\b/i.test(sql));
}

/** How statements reach the database. The tables exist by the time that one is run. */
export interface SqliteRunner {
  readonly now: SqliteNow;
  /** Runs a statement that changes nothing. `now` has the value for `SqliteRunner.now`, if it takes one. */
  read(build: (now: readonly number[]) => SqliteStatement): Promise<readonly unknown[]>;
  /** Runs statements in order, in one transaction. With `mustCommit` it is committed once this resolves. */
  write(
    mustCommit: boolean,
    build: (now: readonly number[]) => readonly SqliteStatement[],
  ): Promise<readonly (readonly unknown[])[]>;
}

/** The clock of the database, in milliseconds since 1970. SQLite keeps whole milliseconds, so nothing is lost. */
const SERVER_NOW = `CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)`;

/** Runs the statements of a journal through a handle. The tables are made on first use, by one process of many. */
export function createHandleRunner(handle: SqliteHandle, table: string): SqliteRunner {
  const now = () => SERVER_NOW;
  const { countMissing, addColumns, addIndexes } = buildSchema(table, now);
  const run = (statements: readonly string[]) => handle.batch(statements.map((sql) => ({ sql, values: [] })));

  const makeTables = async () => {
    const [rows = []] = await run([countMissing]);
    if (Number(rows[0]?.missing) === 0) return;
    try {
      await run([...addColumns, ...addIndexes]);
    } catch (error) {
      // Another process was first, or one was killed in between. Then the columns are there.
      await run(addIndexes).catch(() => {
        throw error;
      });
    }
  };
  let areTablesMade = false;
  // Calls do not wait for each other: one might hang, or belong to a request of a Worker that was cancelled.
  const prepare = async () => {
    if (areTablesMade) return;
    await makeTables();
    areTablesMade = true;
  };

  return {
    now,
    async read(build) {
      await prepare();
      const [rows = []] = await handle.batch([build([])]);
      return rows;
    },
    async write(_mustCommit, build) {
      await prepare();
      return handle.batch(build([]));
    },
  };
}
