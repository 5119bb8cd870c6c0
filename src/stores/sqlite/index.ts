/**
 * At most one charge for each `idempotencyKey`, recorded in SQLite: in a file, in libSQL, or at Cloudflare.
 *
 * @module payment-collection-client/journal/sqlite
 */

import { ConfigurationError } from '../../errors.ts';
import { assertOptions, createJournal, type JournalOptions } from '../../journal/create-journal.ts';
import type { Journal } from '../../journal/journal.ts';
import { createConnectionRunner, type SqliteDatabase } from './connection.ts';
import { createHandleRunner, type SqliteHandle, type SqliteRunner } from './handle.ts';
import { createSqliteStore } from './store.ts';

export type { JournalOptions } from '../../journal/create-journal.ts';
export type { Journal } from '../../journal/journal.ts';
export type { SqliteDatabase } from './connection.ts';
export { type D1Binding, type D1Statement, fromD1 } from './d1.ts';
export { type DurableObjectSqlStorage, fromDurableObject } from './durable-object.ts';
export type { SqliteHandle, SqliteStatement } from './handle.ts';
export {
  fromLibsql,
  type LibsqlClient,
  type LibsqlResult,
  type LibsqlStatement,
  type LibsqlTransaction,
} from './libsql.ts';

/** What {@link sqliteJournal} takes besides the database. */
export interface SqliteJournalOptions extends JournalOptions {
  /**
   * The table. The first write makes it.
   *
   * @default 'payments_journal'
   */
  table?: string | undefined;
}

/**
 * Makes a journal in a database of the SQLite family: a database of `node:sqlite`, `better-sqlite3` or `bun:sqlite`, or
 * what {@link fromLibsql}, {@link fromD1} or {@link fromDurableObject} returns. The first write makes its table.
 *
 * Several processes can share a file. Give the journal a connection of its own: it sets WAL mode and `synchronous = FULL`,
 * so that a record survives a crash of the machine. Inside a transaction of yours on the same connection, `read`, `list`
 * and a `resolve` without a reference are part of that. Charging and follow-ups are refused: what is recorded there could be
 * rolled back after the charge.
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
export function sqliteJournal(
  database: SqliteDatabase | SqliteHandle,
  options: SqliteJournalOptions = {},
): Journal {
  const { table = 'payments_journal', ...rest } = assertOptions(options, 'table');
  if (typeof table !== 'string' || !/^[A-Za-z_]\w{0,62}$/.test(table))
    throw new ConfigurationError('table must be a plain name, such as payments_journal.');
  return createJournal(createSqliteStore(createRunner(database), table), rest);
}

function createRunner(database: SqliteDatabase | SqliteHandle): SqliteRunner {
  if (isHandle(database)) return createHandleRunner(database);
  if (isConnection(database)) return createConnectionRunner(database);
  throw new ConfigurationError(
    'sqliteJournal takes a database of node:sqlite, better-sqlite3 or bun:sqlite, or what fromLibsql, fromD1 or ' +
      'fromDurableObject returns.',
  );
}

function isHandle(database: SqliteDatabase | SqliteHandle): database is SqliteHandle {
  const { batch, execute, prepare } = Object(database);
  // A client of libSQL and a binding of D1 have a batch of their own, and must be wrapped.
  return typeof batch === 'function' && execute === undefined && prepare === undefined;
}

function isConnection(database: SqliteDatabase | SqliteHandle): database is SqliteDatabase {
  const { batch, exec, prepare, syncUntil } = Object(database);
  // The Database of the package libsql could be a replica.
  const isOther = batch !== undefined || syncUntil !== undefined;
  return typeof prepare === 'function' && typeof exec === 'function' && !isOther;
}
