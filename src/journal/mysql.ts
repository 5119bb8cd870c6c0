/**
 * At most one charge for each `idempotencyKey`, recorded in MySQL or MariaDB, through `mysql2`.
 *
 * @module payment-collection-client/journal/mysql
 */

import { assertOptions, buildJournal, type JournalOptions } from './create-journal.ts';
import type { Journal } from './journal.ts';
import {
  createMysqlRunner,
  isDuplicateKey,
  isMissingTable,
  type MysqlClient,
  type MysqlRunner,
  type MysqlSession,
  type MysqlStep,
} from './mysql-connection.ts';
import { readMysqlWarnings } from './mysql-durability.ts';
import { buildMysqlStatements, createTable, type MysqlStatements } from './mysql-table.ts';
import { createRowReader, explainMissingTable } from './sql.ts';
import type { JournalStore, RecordWrite } from './store.ts';

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
 * connection is not affected. While a single connection is inside a transaction of yours, `read`, `list` and `resolve` are
 * part of that. Charging and follow-ups are refused: what is recorded there could be rolled back after the charge.
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
  const schema = createTable(table);
  const runner = createMysqlRunner(client);
  const statements = buildMysqlStatements(table);
  const readWarnings = () => readMysqlWarnings(runner, statements.readEngine());
  const journal = buildJournal(mysqlStore(runner, statements), rest, readWarnings);
  return Object.assign(journal, {
    async migrate() {
      await runner.runCommitted(({ change }) => change(schema));
    },
  });
}

const reader = createRowReader();

function mysqlStore(runner: MysqlRunner, sql: MysqlStatements): JournalStore {
  const select = (statement: string) => runner.read(statement).catch(explainMissing);
  const runWrite = <T>(mustCommit: boolean, step: MysqlStep<T>) =>
    (mustCommit ? runner.runCommitted(step) : runner.runAnywhere(step)).catch(explainMissing);
  /** Returns `false` if one of the keys has a record: none is inserted then. */
  const insert = async ({ change }: MysqlSession, writes: readonly RecordWrite[]) => {
    try {
      return (await change(sql.insert(writes))).rows === writes.length;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  };
  const readVersions = async ({ select }: MysqlSession, writes: readonly RecordWrite[]) =>
    new Map((await select(sql.readVersions(writes))).map(({ key, version }) => [key, version]));
  /** Returns those that were made. */
  const insertAll = async (session: MysqlSession, writes: readonly RecordWrite[]) => {
    if (await insert(session, writes)) return writes;
    const found = await readVersions(session, writes);
    const free = writes.filter(({ key }) => !found.has(key));
    return free.length > 0 && (await insert(session, free)) ? free : [];
  };
  const updateAll = async (session: MysqlSession, writes: readonly RecordWrite[]) => {
    if ((await session.change(sql.updateAll(writes))).rows === writes.length) return writes;
    const found = await readVersions(session, writes);
    return writes.filter(({ key, change }) => found.get(key) === change.version);
  };

  return {
    async read(key) {
      const [row] = await select(sql.read(key));
      return row === undefined ? null : reader.toStoredRecord(row);
    },

    write(key, change) {
      const { expected } = change;
      return runWrite(change.mustCommit, async (session) => {
        if (expected === null) return insert(session, [{ key, change }]);
        return (await session.change(sql.update(key, change, expected))).rows === 1;
      });
    },

    writeAll(writes) {
      const inserts = writes.filter(({ change }) => change.expected === null);
      const updates = writes.filter(({ change }) => change.expected !== null);
      return runWrite(writes[0]?.change.mustCommit !== false, async (session) => {
        const updated = updates.length > 0 ? await updateAll(session, updates) : [];
        const inserted = inserts.length > 0 ? await insertAll(session, inserts) : [];
        const written = new Set([...updated, ...inserted]);
        // Of the others it is not known whether they were overtaken or skipped.
        return writes.map((write) => written.has(write) || undefined);
      });
    },

    async list(query) {
      return (await select(sql.list(query))).map(reader.toListedRecord);
    },

    async listByReferences(references) {
      return (await select(sql.listByReferences(references))).map(reader.toListedRecord);
    },

    async count() {
      return reader.toCounts(await select(sql.count()));
    },

    claimDue: (claim) =>
      runWrite(true, async (session) => {
        const id = crypto.getRandomValues(new Uint8Array(16));
        const { rows: changed, insertId } = await session.change(sql.claimDue(id, claim));
        if (changed === 0) return [];
        return (await session.select(sql.readClaimed(id, claim.kind, insertId))).map(reader.toListedRecord);
      }),

    async countDue({ kind }) {
      const [row] = await select(sql.countDue(kind));
      return reader.toDue(row);
    },

    async delete(records) {
      if (records.length === 0) return 0;
      return runWrite(true, async ({ change }) => (await change(sql.delete(records))).rows);
    },
  };
}

const explainMissing = explainMissingTable(
  isMissingTable,
  'Nothing was recorded. Run journal.migrate(), or the text of mysqlSchema().',
);
