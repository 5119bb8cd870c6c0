/**
 * At most one charge for each `idempotencyKey`, recorded in PostgreSQL, through `pg`, postgres.js, Prisma or another driver.
 *
 * @module payment-collection-client/journal/postgres
 */

import * as z from 'zod/mini';
import { ConfigurationError, JournalError } from '../errors.ts';
import { sleep } from '../timing.ts';
import { isObject } from '../untrusted.ts';
import { assertOptions, createJournal, type JournalOptions } from './create-journal.ts';
import type { Journal } from './journal.ts';
import { writeAnywhere, writeCommitted } from './postgres-commit.ts';
import { executeRead, executeWrite, type PostgresClient, type PostgresPool } from './postgres-connection.ts';
import { explainMissing } from './postgres-errors.ts';
import {
  isPostgresHandle,
  type PostgresHandle,
  parseColumns,
  suggestHandle,
  unreadableRows,
} from './postgres-handles.ts';
import { buildPostgresStatements, type PostgresStatements, postgresSchema } from './postgres-table.ts';
import { createRowReader, surviveBrokenConnections } from './sql.ts';
import { type JournalStore, type StoredRecord, toStoredTime } from './store.ts';

export type { JournalOptions } from './create-journal.ts';
export type { Journal } from './journal.ts';
export type { PooledPostgresClient, PostgresClient, PostgresPool } from './postgres-connection.ts';
export {
  fromPostgresJs,
  fromPrisma,
  fromQuery,
  type PostgresHandle,
  type PostgresJsSql,
  type PostgresQuery,
  type PostgresRow,
  type PrismaPostgresClient,
} from './postgres-handles.ts';
export { postgresSchema } from './postgres-table.ts';

/** What {@link postgresJournal} takes besides the pool. */
export interface PostgresJournalOptions extends JournalOptions {
  /**
   * The table, with its schema if it has one: `payments.journal`.
   *
   * @default 'payments_journal'
   */
  table?: string | undefined;
}

/** A {@link Journal} in PostgreSQL. */
export interface PostgresJournal extends Journal {
  /**
   * Makes the table if it does not exist; a schema named in `table` must exist. It can be called at every start, by any
   * number of processes at once, and needs the right to create tables. If your own migrations make tables, put the text of
   * {@link postgresSchema} there instead. It throws the database's own error.
   */
  migrate(): Promise<void>;
}

/**
 * Makes a journal in PostgreSQL 14 or later, through your own `pg` 8.21 or later, or through what {@link fromPostgresJs},
 * {@link fromPrisma} or {@link fromQuery} returns. docs/guides/postgres.md says what to set, and what is refused.
 *
 * Give it the **`Pool`** with a connection to spare: each write commits by itself, so a transaction of yours on another
 * connection is not affected. While a `Client` is inside a transaction of yours, `read`, `list` and `resolve` are part of
 * that. Charging and follow-ups are refused: what is recorded there could be rolled back after the charge.
 *
 * @throws {ConfigurationError} if an option cannot work.
 *
 * @example
 * ```ts
 * import { Pool } from 'pg';
 * import { postgresJournal } from 'payment-collection-client/journal/postgres';
 *
 * const journal = postgresJournal(new Pool());
 * await journal.migrate();
 * const payments = new PaymentsClient({ journal });
 * ```
 */
export function postgresJournal(
  client: PostgresPool | PostgresClient | PostgresHandle,
  options: PostgresJournalOptions = {},
): PostgresJournal {
  const { table = 'payments_journal', ...rest } = assertOptions(options, 'table');
  assertClient(client);
  const schema = postgresSchema(table);
  const sql = buildPostgresStatements(table);
  const isHandle = isPostgresHandle(client);
  if (!isHandle) surviveBrokenConnections(client);
  const runner = isHandle ? createHandleRunner(client, sql) : createPgRunner(client);
  const journal = createJournal(postgresStore(runner, sql), rest);
  return Object.assign(journal, {
    async migrate() {
      await (isHandle ? client.runSchema(schema) : client.query(schema));
    },
  });
}

function assertClient(client: PostgresPool | PostgresClient | PostgresHandle): void {
  const handle = suggestHandle(client);
  if (handle !== undefined)
    throw new ConfigurationError(`postgresJournal cannot use this as it is. Use ${handle}.`);
  if (isObject(client) && (isPostgresHandle(client) || typeof client.query === 'function')) return;
  throw new ConfigurationError(
    'postgresJournal takes a Pool or a Client of pg. Use fromPostgresJs, fromPrisma or fromQuery for any other driver.',
  );
}

/** How the statements of a journal are run. */
interface PostgresRunner {
  /** Whether what comes at the same time can travel together: not through a driver that might belong to one request of a Worker. */
  readonly canGroup: boolean;
  query(statement: string, values?: (string | null)[]): Promise<readonly unknown[]>;
  /**
   * Runs a statement whose `$1` is the mark. With `mustCommit`, what it wrote is committed once this returns. Returns
   * `undefined` if a concurrent transaction was first, with a strict isolation level: nothing was written.
   */
  write(
    statement: string,
    values: (string | null)[],
    mustCommit: boolean,
  ): Promise<readonly unknown[] | undefined>;
}

const createPgRunner = (client: PostgresPool | PostgresClient): PostgresRunner => ({
  canGroup: true,
  query: (statement, values = []) => executeRead(client, statement, values),
  // pg itself can show whether the connection is inside a transaction: no mark is needed.
  write: (statement, values, mustCommit) => executeWrite(client, mustCommit, statement, [null, ...values]),
});

const createHandleRunner = (handle: PostgresHandle, sql: PostgresStatements): PostgresRunner => ({
  canGroup: false,
  query: (statement, values = []) => handle.runStatement(statement, values),
  write: (statement, values, mustCommit) =>
    (mustCommit ? writeCommitted : writeAnywhere)(handle, sql, statement, values),
});

const reader = createRowReader(unreadableRows);

/** Often enough for processes that all write at once. */
const MAX_ATTEMPTS = 20;

function postgresStore(runner: PostgresRunner, sql: PostgresStatements): JournalStore {
  const query: PostgresRunner['query'] = (...given) => runner.query(...given).catch(explainMissing);
  const write: PostgresRunner['write'] = (...given) => runner.write(...given).catch(explainMissing);

  const read = async (key: string): Promise<StoredRecord | null> => {
    const [row] = await query(sql.read, [key]);
    return row === undefined ? null : reader.toStoredRecord(row);
  };
  /** Repeats a step that others have overtaken. What it does depends on no earlier read. */
  const writeUntilDone = async (statement: string, values: (string | null)[]) => {
    for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
      const rows = await write(statement, values, true);
      if (rows) return rows;
      await sleep(Math.random() * attempts, undefined);
    }
    throw overtakenError();
  };
  const writeAll: JournalStore['writeAll'] = async (writes) => {
    const given = writes.map(({ key, change: { expected, version, text, index, dueIn } }) => {
      const found = index && { ...index, created: toStoredTime(index.createdAt) };
      return { key, version, record: text, ...found, due: dueIn, expected };
    });
    const rows = await write(sql.writeAll, [JSON.stringify(given)], writes[0]?.change.mustCommit !== false);
    const results = new Map(
      rows?.map((row) => {
        const { key, written } = parseColumns(writtenTogetherRow, row);
        return [key, written === null ? undefined : written === 'true'];
      }),
    );
    return writes.map(({ key }) => results.get(key));
  };

  const listByReferences: JournalStore['listByReferences'] = async (references) =>
    (await query(sql.listByReferences, [JSON.stringify(references)])).map(reader.toListedRecord);

  return {
    read,
    ...(runner.canGroup ? { writeAll, listByReferences } : {}),

    async write(key, { expected, version, text, mustCommit, index, dueIn }) {
      const found = index
        ? [index.kind, index.state, toText(toStoredTime(index.createdAt)), index.reference]
        : [null, null, null, null];
      const values = [key, version, text, ...found, toText(dueIn)];
      for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
        const rows = await (expected === null
          ? write(sql.insert, values, mustCommit)
          : write(sql.update, [...values, expected], mustCommit));
        if (rows) return parseColumns(writtenRow, rows[0]).txid !== null;
        // The other transaction might have written another record, or have been rolled back.
        if (((await read(key))?.version ?? null) !== expected) return false;
        await sleep(Math.random() * attempts, undefined);
      }
      throw overtakenError();
    },

    async list({ by, value, after, limit }) {
      const position = [toText(after?.createdAt ?? Number.NEGATIVE_INFINITY), after?.key ?? ''];
      const rows = await query(sql.list[by], [value, ...position, toText(limit)]);
      return rows.map(reader.toListedRecord);
    },

    async count() {
      return reader.toCounts(await query(sql.count));
    },

    async claimDue({ kind, limit, lease }) {
      const rows = await writeUntilDone(sql.claimDue, [toText(limit), toText(lease), kind]);
      return rows.filter((row) => Object(row).key !== null).map(reader.toListedRecord);
    },

    async countDue({ kind }) {
      const [row] = await query(sql.countDue, [kind]);
      return reader.toDue(row);
    },

    async delete(records) {
      const pairs = records.map(({ key, version }) => ({ key, version }));
      const [row] = await writeUntilDone(sql.delete, [JSON.stringify(pairs)]);
      return Number(parseColumns(deletedRow, row).deleted);
    },
  };
}

const overtakenError = () =>
  new JournalError('Other processes wrote to the journal at each attempt. Nothing was changed. Try again.', {
    retryable: true,
  });

const writtenRow = z.object({ txid: z.nullable(z.string()) });
const writtenTogetherRow = z.object({ key: z.string(), written: z.nullable(z.string()) });
const deletedRow = z.object({ deleted: z.string() });

const toText = <T extends number | null>(value: T) => (value === null ? null : String(value));
