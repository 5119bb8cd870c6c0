/**
 * At most one charge for each `idempotencyKey`, recorded in MySQL or MariaDB, through `mysql2`.
 *
 * @module payment-collection-client/journal/mysql
 */

import { assertOptions, buildJournal, type JournalOptions } from '../../journal/create-journal.ts';
import type { Journal } from '../../journal/journal.ts';
import type { MysqlClient } from './connection.ts';
import { openMysqlStore } from './store.ts';

export type { JournalOptions } from '../../journal/create-journal.ts';
export type { Journal } from '../../journal/journal.ts';
export type {
  MysqlCallbackClient,
  MysqlClient,
  MysqlConnection,
  MysqlPool,
  MysqlQuery,
  PooledMysqlConnection,
} from './connection.ts';
export { mysqlSchema } from './table.ts';

/** What {@link mysqlJournal} takes besides the pool. */
export interface MysqlJournalOptions extends JournalOptions {
  /**
   * The table, with its database if it is not that of the pool: `payments.journal`.
   *
   * @default 'payments_journal'
   */
  table?: string | undefined;
}

/** A {@link Journal} in MySQL or MariaDB. */
export interface MysqlJournal extends Journal {
  /**
   * Makes the table if it does not exist; a database named in `table` must exist. It can be called at every start, by
   * any number of processes at once, and needs the right to create tables. If your own migrations make tables, put the
   * text of {@link mysqlSchema} there instead. It throws the database's own error.
   *
   * @throws {JournalError} if the connection is inside a transaction: making a table would commit it.
   */
  migrate(): Promise<void>;
}

/**
 * Makes a journal in MySQL 8.0 or later, or in MariaDB 10.6 or later, through your own `mysql2`. docs/guides/mysql.md says
 * what to set on the server, and what is refused. A setting with which a record could be lost is a `journal_warning`.
 *
 * Give it a **pool** with a connection to spare: each write commits by itself, so a transaction of yours on another
 * connection is not affected. While a single connection is inside a transaction of yours, `read`, `list` and a `resolve`
 * without a reference are part of that. Charging and follow-ups are refused: what is recorded there could be rolled back after the charge.
 *
 * @throws {ConfigurationError} if an option cannot work.
 *
 * @example
 * ```ts
 * import { mysqlJournal } from 'payment-collection-client/journal/mysql';
 *
 * const journal = mysqlJournal(mysqlPool); // what createPool() of mysql2 returns
 * await journal.migrate();
 * const payments = new PaymentsClient({ journal });
 * ```
 */
export function mysqlJournal(client: MysqlClient, options: MysqlJournalOptions = {}): MysqlJournal {
  const { table = 'payments_journal', ...rest } = assertOptions(options, 'table');
  const { store, migrate, readWarnings } = openMysqlStore(client, table);
  return Object.assign(buildJournal(store, rest, readWarnings), { migrate });
}
