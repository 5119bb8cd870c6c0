/**
 * Sets up a connection of SQLite for a journal, and runs its work in transactions of its own, also while another process has
 * locked the file.
 */

import { JournalError } from '../../errors.ts';
import { explainMissingTableSqlite, type SqliteRunner, type SqliteStatement } from './handle.ts';

/** What is used of `DatabaseSync` of `node:sqlite`, and of `Database` of `better-sqlite3` and of `bun:sqlite`. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): {
    get(...values: (string | number | null)[]): unknown;
    all(...values: (string | number | null)[]): unknown[];
    run(...values: (string | number | null)[]): { changes: number | bigint };
  };
}

type PreparedStatement = (values: readonly (string | number | null)[]) => unknown[];

/** Runs the statements of a journal on a connection. The time is that of this process, which is on the same machine. */
export function createConnectionRunner(database: SqliteDatabase): SqliteRunner {
  const prepared = new Map<string, PreparedStatement>();
  let isDurable = false;
  const run = ({ sql, values }: SqliteStatement) => {
    const statement = prepared.get(sql) ?? prepareStatement(database, sql);
    prepared.set(sql, statement);
    return statement(values);
  };

  return {
    now: (index) => `?${index}`,
    groupsWrites: true,
    read: (build) => retryWhileBusy(() => run(build([Date.now()]))).catch(explainMissingTableSqlite),
    write({ mustCommit, mustSync }, build) {
      const work = () => runInTransaction(database, mustCommit, () => build([Date.now()]).map(run));
      return retryWhileBusy(() => {
        // Inside a transaction of the merchant the settings have to wait. A lease must not be the first to change them: the
        // file might be no journal.
        if (mustSync && !isDurable) isDurable = setSynchronous(database, 'FULL', 'PRAGMA journal_mode = WAL');
        if (mustSync || !isDurable) return work();
        isDurable = false;
        setSynchronous(database, 'NORMAL');
        try {
          return work();
        } finally {
          isDurable = setSynchronous(database, 'FULL');
        }
      }).catch(explainMissingTableSqlite);
    },
  };
}

/** Prepares a statement with a plain `?` for each use of a value, since better-sqlite3 takes `?1` for a name. */
function prepareStatement(database: SqliteDatabase, sql: string): PreparedStatement {
  const uses: number[] = [];
  const plain = sql.replace(/\?(\d+)/g, (_, number) => {
    uses.push(Number(number) - 1);
    return '?';
  });
  const statement = database.prepare(plain);
  // better-sqlite3 refuses all() for a statement that returns no rows.
  const hasRows = /^SELECT|RETURNING/.test(sql);
  return (values) => {
    const used = uses.map((index) => values[index] ?? null);
    if (hasRows) return statement.all(...used);
    statement.run(...used);
    return [];
  };
}

/** Sets whether a commit waits for the disk. Returns `false` if a transaction is open: it cannot be set then. */
function setSynchronous(database: SqliteDatabase, level: 'FULL' | 'NORMAL', ...before: string[]): boolean {
  const pragmas = [...before, `PRAGMA synchronous = ${level}`];
  return runUnlessInTransaction(() => database.exec(pragmas.join('; ')));
}

/** Runs work in a transaction of its own: what is written in one that is open already could still be rolled back. */
function runInTransaction<T>(database: SqliteDatabase, mustCommit: boolean, work: () => T): T {
  if (!runUnlessInTransaction(() => database.exec('BEGIN IMMEDIATE'))) {
    if (!mustCommit) return work();
    throw new JournalError(
      'The connection of the journal is inside a transaction, which could be rolled back after the charge: give the ' +
        'journal a connection of its own.',
      { retryable: true },
    );
  }
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    try {
      database.exec('ROLLBACK');
    } catch {}
    throw error;
  }
}

/** Returns `false` if SQLite refuses the work because a transaction is open. */
function runUnlessInTransaction(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (/(?:within|inside) a transaction/i.test(String(error))) return false;
    throw error;
  }
}

/**
 * How long a lock of another process on the file is waited for, in milliseconds: twice the 5 s that drivers wait by
 * themselves, so that a step is tried again after that, and less than `JOURNAL_TIMEOUT`, so that its error names the lock.
 */
const BUSY_TIMEOUT = 10_000;

/** Retries while another process has locked the file. SQLite's own wait would block this whole process. */
export async function retryWhileBusy<T>(work: () => T | Promise<T>): Promise<T> {
  const startedAt = performance.now();
  for (let delay = 1; ; delay = Math.min(2 * delay, 50)) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error) || performance.now() - startedAt > BUSY_TIMEOUT) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, delay));
  }
}

/** SQLITE_BUSY and SQLITE_LOCKED, in the lowest byte of an extended code. */
function isBusy(error: unknown): boolean {
  const { errcode, message } = Object(error);
  if (typeof errcode === 'number') return (errcode & 0xff) === 5 || (errcode & 0xff) === 6;
  return /database(?: table)? is locked/.test(String(message));
}
