/**
 * At most one charge for each `idempotencyKey`, recorded in SQLite, through `node:sqlite`.
 *
 * @module payment-collection-client/journal/sqlite
 */

import { ConfigurationError, JournalError } from '../errors.ts';
import { assertOptions, createJournal, type JournalOptions } from './create-journal.ts';
import type { Journal } from './journal.ts';
import { MAX_CLOCK_STEP, MIN_CLOCK_STEP, RETENTION_MARGIN } from './retention.ts';
import type { JournalStore, StoredRecord } from './store.ts';

export type { JournalOptions } from './create-journal.ts';
export type { Journal } from './journal.ts';

/** What is used of `DatabaseSync` of `node:sqlite`. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): {
    get(...values: (string | number | null)[]): unknown;
    run(...values: (string | number | null)[]): { changes: number | bigint };
  };
}

/** What {@link sqliteJournal} takes besides the database. */
export interface SqliteJournalOptions extends JournalOptions {
  /**
   * The table. It is made if it does not exist, and so is a second one of this name and `_clock`: its one row is the time
   * that `retention` is measured with.
   *
   * @default 'payments_journal'
   */
  table?: string | undefined;
}

/**
 * Makes a journal in a SQLite database, through `node:sqlite`. Several processes can share the file. Give it a connection
 * of its own: it sets WAL mode and `synchronous = FULL`, so that a record survives a crash of the machine. Inside a
 * transaction of yours on the same connection, `read` and `resolve` are part of that, and charging is refused: what is
 * recorded there could be rolled back after the charge.
 *
 * @throws {ConfigurationError} if an option cannot work.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite';
 * import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
 *
 * const payments = new PaymentsClient({ journal: sqliteJournal(new DatabaseSync('payments.db')) });
 * ```
 */
export function sqliteJournal(database: SqliteDatabase, options: SqliteJournalOptions = {}): Journal {
  const { table = 'payments_journal', ...rest } = assertOptions(options);
  if (typeof table !== 'string' || !/^[A-Za-z_]\w{0,62}$/.test(table))
    throw new ConfigurationError('table must be a plain name, such as payments_journal.');
  if (typeof database?.prepare !== 'function' || typeof database.exec !== 'function')
    throw new ConfigurationError('sqliteJournal takes a DatabaseSync of node:sqlite.');
  return createJournal(sqliteStore(database, table), rest);
}

function sqliteStore(database: SqliteDatabase, table: string): JournalStore {
  let cached: Statements | undefined;
  const prepare = () => {
    if (cached) return cached;
    const isDurable = enableDurability(database);
    const statements = prepareStatements(database, table);
    // Inside a transaction of the merchant the settings have to wait, and the table might be rolled back.
    if (isDurable) cached = statements;
    return statements;
  };

  return {
    read(key) {
      return retryWhileBusy(() => toStoredRecord(prepare().read.get(key), Date.now()));
    },

    write(key, { expected, version, text, ttl, mustCommit }) {
      return retryWhileBusy(() => {
        const { countTime, deleteExpired, insert, update } = prepare();
        return runInTransaction(database, mustCommit, () => {
          const now = Date.now();
          const values = [now, key, version, text, ttl === null ? null : ttl + RETENTION_MARGIN];
          countTime.run(now);
          deleteExpired.run(now, key);
          const { changes } = expected === null ? insert.run(...values) : update.run(...values, expected);
          return Number(changes) === 1;
        });
      });
    },
  };
}

type Statements = ReturnType<typeof prepareStatements>;

/** Makes the tables if they do not exist. */
function prepareStatements(database: SqliteDatabase, name: string) {
  const [table, clock] = [`"${name}"`, `"${name}_clock"`];
  database.exec(`
    CREATE TABLE IF NOT EXISTS ${table} (
      key TEXT PRIMARY KEY,
      version TEXT NOT NULL,
      record TEXT NOT NULL,
      written_at INTEGER NOT NULL,
      kept_until INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS "${name}_kept_until" ON ${table} (kept_until) WHERE kept_until IS NOT NULL;
    CREATE TABLE IF NOT EXISTS ${clock} (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      counted INTEGER NOT NULL,
      told_at INTEGER NOT NULL
    ) STRICT;
  `);
  const counted = `(SELECT counted + min(?1 - told_at, ${MAX_CLOCK_STEP}) FROM ${clock})`;
  return {
    read: database.prepare(`SELECT version, record, written_at FROM ${table} WHERE key = ?`),
    // The first write starts the clock.
    countTime: database.prepare(
      `INSERT INTO ${clock} (id, counted, told_at) VALUES (1, 0, ?1)
      ON CONFLICT (id) DO UPDATE SET counted = counted + min(?1 - told_at, ${MAX_CLOCK_STEP}), told_at = ?1
      WHERE abs(?1 - told_at) >= ${MIN_CLOCK_STEP}`,
    ),
    insert: database.prepare(
      `INSERT INTO ${table} (key, version, record, written_at, kept_until)
      VALUES (?2, ?3, ?4, ?1, ${counted} + ?5)
      ON CONFLICT (key) DO UPDATE SET version = excluded.version, record = excluded.record,
        written_at = excluded.written_at, kept_until = excluded.kept_until
      WHERE kept_until <= ${counted}`,
    ),
    update: database.prepare(
      `UPDATE ${table} SET version = ?3, record = ?4, written_at = ?1, kept_until = ${counted} + ?5
      WHERE key = ?2 AND version = ?6`,
    ),
    // Each write deletes more than it adds, and never so much that it takes long.
    deleteExpired: database.prepare(
      `DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE kept_until <= ${counted} AND key <> ?2 LIMIT 10)`,
    ),
  };
}

function toStoredRecord(row: unknown, now: number): StoredRecord | null {
  if (row === undefined || row === null) return null;
  if (Array.isArray(row)) {
    const message =
      'The database returns rows as arrays, so no record can be read: open it without returnArrays.';
    throw new JournalError(message, { outcome: 'unknown' });
  }
  const { version, record, written_at } = Object(row);
  return { version: String(version), text: String(record), age: now - Number(written_at) };
}

/** Returns `false` if a transaction is open: it cannot be set then. */
function enableDurability(database: SqliteDatabase): boolean {
  return runUnlessInTransaction(() => database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL'));
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

/** How long a lock of another process on the file is waited for, in milliseconds. */
const BUSY_TIMEOUT = 5_000;

/** Retries while another process has locked the file. SQLite's own wait would block this whole process. */
async function retryWhileBusy<T>(work: () => T): Promise<T> {
  const startedAt = performance.now();
  for (let delay = 1; ; delay = Math.min(2 * delay, 50)) {
    try {
      return work();
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
