/**
 * At most one charge for each `idempotencyKey`, recorded in SQLite, through `node:sqlite`.
 *
 * @module payment-collection-client/journal/sqlite
 */

import { ConfigurationError, JournalError } from '../errors.ts';
import { assertOptions, createJournal, type JournalOptions } from './create-journal.ts';
import type { Journal } from './journal.ts';
import { RETENTION_MARGIN } from './retention.ts';
import {
  enableDurability,
  retryWhileBusy,
  runInTransaction,
  type SqliteDatabase,
} from './sqlite-connection.ts';
import { prepareStatements, prepareTables, type SqliteStatements } from './sqlite-table.ts';
import type { JournalStore, ListedRecord, StoredRecord } from './store.ts';

export type { JournalOptions } from './create-journal.ts';
export type { Journal } from './journal.ts';
export type { SqliteDatabase } from './sqlite-connection.ts';

/** What {@link sqliteJournal} takes besides the database. */
export interface SqliteJournalOptions extends JournalOptions {
  /**
   * The table. It is made on first use, and so is a second one of this name and `_clock`: its one row is the time that
   * `retention` is measured with. A table of an older version of this package is changed in place.
   *
   * @default 'payments_journal'
   */
  table?: string | undefined;
}

/**
 * Makes a journal in a SQLite database, through `node:sqlite`. Several processes can share the file. Give it a connection
 * of its own: it sets WAL mode and `synchronous = FULL`, so that a record survives a crash of the machine. Inside a
 * transaction of yours on the same connection, `read`, `list` and `resolve` are part of that. Charging is refused, and so
 * are follow-ups: what is recorded there could be rolled back after the charge.
 *
 * Each row is a key and its `record`, as JSON. Some columns are generated from the record, and have an index: `state`,
 * `created_at` (milliseconds since 1970) and `reference` (in lower case). `due_at` is when a follow-up is due. The journal's
 * own records have no `state`. Read the table as you like, but change it through the journal only.
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
 *
 * @example
 * Lists the unresolved keys by hand. A key in state `begun` is unresolved once its lease has expired.
 * ```sql
 * SELECT key, datetime(created_at / 1000, 'unixepoch') AS created, record ->> 'amount' AS amount
 * FROM payments_journal
 * WHERE state = 'unknown' OR (state = 'begun' AND written_at < (unixepoch() - 10) * 1000)
 * ORDER BY created_at;
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
  let cached: SqliteStatements | undefined;
  const prepare = () => {
    if (cached) return cached;
    const isDurable = enableDurability(database);
    prepareTables(database, table);
    const statements = prepareStatements(database, table);
    // Inside a transaction of the merchant the settings have to wait, and the table might be rolled back.
    if (isDurable) cached = statements;
    return statements;
  };

  return {
    read(key) {
      return retryWhileBusy(() => {
        const row = prepare().read.get(key);
        return row === undefined || row === null ? null : toStoredRecord(row, Date.now());
      });
    },

    write(key, { expected, version, text, ttl, mustCommit, dueIn }) {
      return retryWhileBusy(() => {
        const { countTime, deleteExpired, insert, update } = prepare();
        return runInTransaction(database, mustCommit, () => {
          const now = Date.now();
          const keptFor = ttl === null ? null : ttl + RETENTION_MARGIN;
          const values = [now, key, version, text, keptFor, dueIn === null ? null : Math.ceil(dueIn)];
          countTime.run(now);
          deleteExpired.run(now, key);
          const { changes } = expected === null ? insert.run(...values) : update.run(...values, expected);
          return Number(changes) === 1;
        });
      });
    },

    list({ by, value, after, limit }) {
      return retryWhileBusy(() => {
        const position = [after?.createdAt ?? -Number.MAX_VALUE, after?.key ?? ''];
        const rows = prepare().list[by].all(value, ...position, limit);
        const now = Date.now();
        return rows.map((row) => toListedRecord(row, now));
      });
    },

    count() {
      return retryWhileBusy(() => {
        const rows = prepare().count.all().map(toFields);
        return Object.fromEntries(rows.map(({ state, records }) => [String(state), Number(records)]));
      });
    },

    claimDue({ limit, lease }) {
      return retryWhileBusy(() => {
        const { due, dueTooLate, postpone } = prepare();
        return runInTransaction(database, true, () => {
          const now = Date.now();
          const rows = due.all(now, limit);
          if (rows.length < limit) rows.push(...dueTooLate.all(now, limit - rows.length));
          const claimed = rows.map((row) => toListedRecord(row, now));
          for (const { key } of claimed) postpone.run(now, Math.ceil(lease), key);
          return claimed;
        });
      });
    },

    countDue() {
      return retryWhileBusy(() => {
        const { due, next_in } = toFields(prepare().countDue.get(Date.now()));
        return { due: Number(due), nextIn: next_in === null ? null : Number(next_in) };
      });
    },
  };
}

function toStoredRecord(row: unknown, now: number): StoredRecord {
  const { version, record, written_at } = toFields(row);
  return { version: String(version), text: String(record), age: now - Number(written_at) };
}

function toListedRecord(row: unknown, now: number): ListedRecord {
  const { key, created } = toFields(row);
  return { ...toStoredRecord(row, now), key: String(key), createdAt: Number(created) };
}

function toFields(row: unknown): Record<string, unknown> {
  if (!Array.isArray(row)) return Object(row);
  const message =
    'The database returns rows as arrays, so no record can be read: open it without returnArrays.';
  throw new JournalError(message, { outcome: 'unknown' });
}
