/**
 * At most one charge for each `idempotencyKey`, recorded in MySQL or MariaDB, through `mysql2`.
 *
 * @module payment-collection-client/journal/mysql
 */

import { JournalError } from '../errors.ts';
import { redactUnknownSecrets } from '../redact.ts';
import { sanitizeError } from '../sanitize-error.ts';
import { assertOptions, createJournal, type JournalOptions } from './create-journal.ts';
import type { Journal } from './journal.ts';
import {
  createMysqlRunner,
  isDuplicateKey,
  type MysqlClient,
  type MysqlRow,
  type MysqlRunner,
  type MysqlSession,
  type MysqlStep,
} from './mysql-connection.ts';
import { mysqlWarnings } from './mysql-durability.ts';
import { buildMysqlStatements, type MysqlStatements, mysqlSchemaStatements } from './mysql-table.ts';
import { RETENTION_MARGIN } from './retention.ts';
import type { JournalStore, ListedRecord, RecordChange, StoredRecord } from './store.ts';

export type { JournalOptions } from './create-journal.ts';
export type { Journal } from './journal.ts';
export type {
  MysqlCallbackClient,
  MysqlClient,
  MysqlConnection,
  MysqlPool,
  MysqlQuery,
  PooledMysqlConnection,
} from './mysql-connection.ts';
export { mysqlSchema } from './mysql-table.ts';

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
   * Makes the two tables if they do not exist; a database named in `table` must exist. It can be called at every start, by
   * any number of processes at once, and needs the right to create tables. If your own migrations make tables, put the
   * text of {@link mysqlSchema} there instead. It throws the database's own error.
   *
   * @throws {JournalError} if the connection is inside a transaction: making a table would commit it.
   */
  migrate(): Promise<void>;
}

/**
 * Makes a journal in MySQL 8.0 or later, or in MariaDB 10.6 or later, through your own `mysql2`. Each write of a record is
 * one statement that commits by itself, so give it a **pool**: a transaction of yours, open on another of its
 * connections, is not affected. Leave it a connection to spare: a charge inside a transaction takes a second one.
 *
 * A connection that was released to the pool inside a transaction is detected: it is closed, and the next one is taken. A
 * pool whose connections have `autocommit = 0` is refused, and nothing is sent.
 *
 * A single connection works too. While it is inside a transaction of yours, `read`, `list` and `resolve` are part of that.
 * Charging is refused, and so are follow-ups: what is recorded there could be rolled back after the charge.
 *
 * A connection that breaks while it is idle, in a restart of the server, does not end the process. The next call takes
 * another one of the pool.
 *
 * The server must have `innodb_flush_log_at_trx_commit = 1`, and `sync_binlog = 1` if it has a binary log. With other
 * values a crash can lose the record of a charge. The journal reads them once, and the client reports each that is not
 * sufficient as a `journal_warning`, to `onEvent` and `logger`. A failover to an asynchronous replica can lose what the
 * replica had not received.
 *
 * Each row is a key (its bytes in UTF-8) and its `record`, as JSON. Some columns repeat what the record is found by:
 * `state`, `created_at` and `reference` (in lower case). `due_at` is when a follow-up is due. Times are milliseconds since
 * 1970. The journal's own records have no `state`. Read the table as you like, but change it through the journal only.
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
 *
 * @example
 * Lists the unresolved keys by hand. A key in state `begun` is unresolved once its lease has expired.
 * ```sql
 * SELECT CONVERT(`key` USING utf8mb4) AS `key`, FROM_UNIXTIME(created_at / 1000) AS created,
 *   JSON_VALUE(record, '$.amount') AS amount, JSON_EXTRACT(record, '$.requestIds') AS request_ids
 * FROM payments_journal
 * WHERE state = 'unknown' OR (state = 'begun' AND written_at < (UNIX_TIMESTAMP() - 10) * 1000)
 * ORDER BY created_at;
 * ```
 */
export function mysqlJournal(client: MysqlClient, options: MysqlJournalOptions = {}): MysqlJournal {
  const { table = 'payments_journal', ...rest } = assertOptions(options, 'table');
  const schema = mysqlSchemaStatements(table);
  const runner = createMysqlRunner(client);
  const statements = buildMysqlStatements(table);
  const journal = createJournal(mysqlStore(runner, statements), rest);
  return Object.assign(journal, {
    warnings: () => mysqlWarnings(runner, statements.readEngine()),
    async migrate() {
      await runner.runCommitted(async ({ change }) => {
        for (const statement of schema) await change(statement);
      });
    },
  });
}

function mysqlStore(runner: MysqlRunner, sql: MysqlStatements): JournalStore {
  const select = (statement: string) => explainMissingTable(() => runner.read(statement));

  return {
    async read(key) {
      const [row] = await select(sql.read(key));
      return row === undefined ? null : toStoredRecord(row);
    },

    write(key, change) {
      const step: MysqlStep<boolean> = (session) => writeRecord(session, sql, key, change);
      return explainMissingTable(() =>
        change.mustCommit ? runner.runCommitted(step) : runner.runAnywhere(step),
      );
    },

    async list(query) {
      return (await select(sql.list(query))).map(toListedRecord);
    },

    async count() {
      const rows = await select(sql.count());
      return Object.fromEntries(rows.map(({ state, records }) => [String(state), Number(records)]));
    },

    claimDue({ limit, lease }) {
      return explainMissingTable(() =>
        runner.runCommitted(async (session) => {
          const claim = crypto.getRandomValues(new Uint8Array(16));
          const { rows, insertId } = await session.change(sql.claimDue(claim, limit, lease));
          if (rows === 0) return [];
          return (await session.select(sql.readClaimed(claim, insertId))).map(toListedRecord);
        }),
      );
    },

    async countDue() {
      const [row] = await select(sql.countDue());
      const { due, next_in } = row ?? {};
      return { due: Number(due), nextIn: next_in === null ? null : Math.max(0, Number(next_in)) };
    },
  };
}

/** Writes a record by one statement. What it does for `retention` before and after that need not be one step with it. */
async function writeRecord(
  session: MysqlSession,
  sql: MysqlStatements,
  key: string,
  change: RecordChange,
): Promise<boolean> {
  const { expected, ttl } = change;
  const time = ttl === null ? undefined : await readTime(session, sql);
  const keptUntil = ttl === null || !time ? null : time.stamped + ttl + RETENTION_MARGIN;
  const { rows, isCommitted } = await (expected === null
    ? insertRecord(session, sql, key, change, keptUntil)
    : session.change(sql.update(key, change, keptUntil, expected)));
  // The record is written already. What fails here is done by a later write.
  if (time && isCommitted) await dropExpired(session, sql, time).catch(() => {});
  return rows === 1;
}

/** Inserts a record. One that was kept for its time is no obstacle. */
async function insertRecord(
  session: MysqlSession,
  sql: MysqlStatements,
  key: string,
  change: RecordChange,
  keptUntil: number | null,
): Promise<{ rows: number; isCommitted: boolean }> {
  const insert = sql.insert(key, change, keptUntil);
  const none = { rows: 0, isCommitted: true };
  try {
    return await session.change(insert);
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
  const time = await readTime(session, sql);
  if (!time?.hasExpired) return none;
  const { rows } = await session.change(sql.dropExpiredKey(key, time.counted));
  if (rows === 0) return none;
  try {
    return await session.change(insert);
  } catch (error) {
    if (isDuplicateKey(error)) return none;
    throw error;
  }
}

/** The time that `retention` is measured with, in milliseconds. */
interface CountedTime {
  readonly counted: number;
  /** As a new record is stamped with it. */
  readonly stamped: number;
  readonly isCountDue: boolean;
  /** Whether there is a record that can be dropped. */
  readonly hasExpired: boolean;
}

/** Without the one row of the clock, records are kept for ever. */
async function readTime({ select }: MysqlSession, sql: MysqlStatements): Promise<CountedTime | undefined> {
  const [row] = await select(sql.readTime());
  if (!row) return undefined;
  const counted = Number(row.counted);
  return {
    counted,
    stamped: Number(row.stamped),
    isCountDue: row.is_count_due === '1',
    hasExpired: typeof row.next_expiry === 'string' && Number(row.next_expiry) <= counted,
  };
}

async function dropExpired({ change }: MysqlSession, sql: MysqlStatements, time: CountedTime): Promise<void> {
  if (time.isCountDue) await change(sql.countTime());
  if (time.hasExpired) await change(sql.dropExpired(time.counted));
}

function toStoredRecord({ version, record, age }: MysqlRow): StoredRecord {
  return { version: String(version), text: String(record), age: Number(age) };
}

function toListedRecord(row: MysqlRow): ListedRecord {
  return { ...toStoredRecord(row), key: String(row.key), createdAt: Number(row.created_at) };
}

/** The server's codes for a column and for a table that does not exist. */
const MISSING = [1054, 1146];

/** Runs a step. If the table is missing, the error says how it is made. */
async function explainMissingTable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!MISSING.includes(Object(error).errno)) throw error;
    const cause = sanitizeError(error, redactUnknownSecrets);
    throw new JournalError(
      'The table of the journal is missing, or another program made it. Nothing was recorded. Run journal.migrate(), or ' +
        'the text of mysqlSchema().',
      { cause },
    );
  }
}
