/**
 * At most one charge for each `idempotencyKey`, recorded in SQLite, through `node:sqlite`.
 *
 * @module payment-collection-client/journal/sqlite
 */

import { ConfigurationError, JournalError } from '../errors.ts';
import { assertOptions, createJournal, type Journal, type JournalOptions } from './journal.ts';
import type { JournalStore, StoredRecord } from './store.ts';
import { LONGEST_STEP, MARGIN, SHORTEST_STEP } from './store.ts';

export type { Journal, JournalOptions } from './journal.ts';

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
   * The table, made where it is not there yet, as is a second one of this name and `_clock`: its one row is the time
   * that `retention` is measured with.
   *
   * @default 'payments_journal'
   */
  table?: string | undefined;
}

/**
 * A journal in a SQLite database, through `node:sqlite`; several processes may share the file. Give it a connection of
 * its own: it sets WAL mode and `synchronous = FULL`, so that a record outlives a crash of the machine. Inside a
 * transaction of yours on the same connection, `read` and `resolve` are part of that, and charging is refused: what is
 * recorded there could be rolled back after the charge.
 *
 * @throws ConfigurationError where an option cannot work
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
  const prepared = () => {
    if (cached) return cached;
    const isSet = enableDurability(database);
    const made = statements(database, table);
    // In a transaction of somebody else's the settings have to wait, and the table may be rolled back.
    if (isSet) cached = made;
    return made;
  };

  return {
    read(key) {
      return retryWhileBusy(() => storedRecord(prepared().read.get(key), Date.now()));
    },

    write(key, { expected, version, text, ttl: keepFor, mustCommit: binding }) {
      return retryWhileBusy(() => {
        const { tick, insert, update, drop: deleteExpired } = prepared();
        return inTransaction(database, binding, () => {
          const now = Date.now();
          const written = [now, key, version, text, keepFor === null ? null : keepFor + MARGIN];
          tick.run(now);
          deleteExpired.run(now, key);
          const { changes } = expected === null ? insert.run(...written) : update.run(...written, expected);
          return Number(changes) === 1;
        });
      });
    },
  };
}

type Statements = ReturnType<typeof statements>;

function statements(database: SqliteDatabase, name: string) {
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
  const counted = `(SELECT counted + min(?1 - told_at, ${LONGEST_STEP}) FROM ${clock})`;
  return {
    read: database.prepare(`SELECT version, record, written_at FROM ${table} WHERE key = ?`),
    // The first write starts the clock.
    tick: database.prepare(
      `INSERT INTO ${clock} (id, counted, told_at) VALUES (1, 0, ?1)
      ON CONFLICT (id) DO UPDATE SET counted = counted + min(?1 - told_at, ${LONGEST_STEP}), told_at = ?1
      WHERE abs(?1 - told_at) >= ${SHORTEST_STEP}`,
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
    // Each write drops more than it adds, and never so much that it takes long.
    drop: database.prepare(
      `DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE kept_until <= ${counted} AND key <> ?2 LIMIT 10)`,
    ),
  };
}

/** Whether it could be set: not in the middle of a transaction. */
function enableDurability(database: SqliteDatabase): boolean {
  return runUnlessInTransaction(() => database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL'));
}

/** A transaction of its own: where one is open already, what is written could still be rolled back. */
function inTransaction<T>(database: SqliteDatabase, binding: boolean, work: () => T): T {
  if (!runUnlessInTransaction(() => database.exec('BEGIN IMMEDIATE'))) {
    if (!binding) return work();
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
  } catch (fault) {
    try {
      database.exec('ROLLBACK');
    } catch {}
    throw fault;
  }
}

/** `false` where SQLite says that it cannot be done because a transaction is open. */
function runUnlessInTransaction(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (fault) {
    if (/(?:within|inside) a transaction/i.test(String(fault))) return false;
    throw fault;
  }
}

/** How long others are waited for that hold the file, in milliseconds. */
const BUSY_TIMEOUT = 5_000;

/** Another process may hold the file for a moment. To wait inside SQLite would stop this whole process. */
async function retryWhileBusy<T>(work: () => T): Promise<T> {
  const since = performance.now();
  for (let pause = 1; ; pause = Math.min(2 * pause, 50)) {
    try {
      return work();
    } catch (fault) {
      if (!isBusy(fault) || performance.now() - since > BUSY_TIMEOUT) throw fault;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** SQLITE_BUSY and SQLITE_LOCKED, in the lowest byte of an extended code. */
function isBusy(fault: unknown): boolean {
  const { errcode, message } = Object(fault);
  if (typeof errcode === 'number') return (errcode & 0xff) === 5 || (errcode & 0xff) === 6;
  return /database(?: table)? is locked/.test(String(message));
}

function storedRecord(row: unknown, now: number): StoredRecord | null {
  if (row === undefined || row === null) return null;
  if (Array.isArray(row)) {
    const message =
      'The database gives rows as arrays, so that no record can be read: open it without returnArrays.';
    throw new JournalError(message, { outcome: 'unknown' });
  }
  const { version, record, written_at } = Object(row);
  return { version: String(version), text: String(record), age: now - Number(written_at) };
}
