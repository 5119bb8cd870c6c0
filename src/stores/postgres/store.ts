import * as z from 'zod/mini';
import { JournalError } from '../../errors.ts';
import { type JournalStore, type RecordIndex, toStoredTime } from '../../journal/store.ts';
import { sleep } from '../../support/timing.ts';
import { createRowReader, surviveBrokenConnections } from '../sql.ts';
import { writeAnywhere, writeCommitted } from './commit.ts';
import { executeRead, executeWrite, type PostgresClient, type PostgresPool } from './connection.ts';
import { explainMissingTablePostgres } from './errors.ts';
import { isPostgresHandle, type PostgresHandle, parseColumns, unreadableRows } from './handles.ts';
import { buildPostgresStatements, type PostgresStatements } from './table.ts';

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

/** Creates a store in a table that {@link postgresSchema} makes. */
export function createPostgresStore(
  client: PostgresPool | PostgresClient | PostgresHandle,
  table: string,
): JournalStore {
  const sql = buildPostgresStatements(table);
  const isHandle = isPostgresHandle(client);
  if (!isHandle) surviveBrokenConnections(client);
  const runner = isHandle ? createHandleRunner(client, sql) : createPgRunner(client);
  const query: PostgresRunner['query'] = (...given) =>
    runner.query(...given).catch(explainMissingTablePostgres);
  const write: PostgresRunner['write'] = (...given) =>
    runner.write(...given).catch(explainMissingTablePostgres);

  const read: JournalStore['read'] = async (key) => {
    const [row] = await query(sql.read, [key]);
    return reader.toRead(row);
  };
  /** Repeats a step that others have overtaken. What it does depends on no earlier read. */
  const writeUntilDone = async (statement: string, values: (string | null)[]) => {
    for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
      const rows = await write(statement, values, true);
      if (rows) return rows;
      await sleep(Math.random() * attempts, undefined);
    }
    throw attemptsOvertakenError();
  };
  const writeAll: JournalStore['writeAll'] = async (writes) => {
    const given = writes.map(({ key, change: { expected, version, text, index } }) => {
      const [kind, created_at, attention_at, due_at] = toColumns(index);
      return { key, version, record: text, kind, created_at, attention_at, due_at, expected };
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

  return {
    read,
    ...(runner.canGroup ? { writeAll } : {}),

    async write(key, { expected, version, text, mustCommit, index }) {
      const values = [key, version, text, ...toColumns(index)];
      for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
        const rows = await (expected === null
          ? write(sql.insert, values, mustCommit)
          : write(sql.update, [...values, expected], mustCommit));
        if (rows) return parseColumns(writtenRow, rows[0]).txid !== null;
        // The other transaction might have written another record, or have been rolled back.
        const { record } = await read(key);
        if ((record?.version ?? null) !== expected) return false;
        await sleep(Math.random() * attempts, undefined);
      }
      throw attemptsOvertakenError();
    },

    async list({ by, after, limit }) {
      const { at, key } = after ?? { at: -1, key: '' };
      const rows = await query(sql.list[by], [String(at), key, String(limit)]);
      return rows.map(reader.toListedRecord);
    },

    async count() {
      const [row] = await query(sql.count);
      return reader.toCount(row);
    },

    async claimDue({ kind, limit, lease }) {
      const rows = await writeUntilDone(sql.claimDue, [String(limit), String(Math.ceil(lease)), kind]);
      const found = rows.filter((row) => Object(row).key !== null);
      return { records: found.map(reader.toListedRecord), now: reader.toNumber(Object(rows[0]).now) };
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

/** Returns `kind`, `created_at`, `attention_at` and `due_at`. */
function toColumns(index: RecordIndex | null): (string | null)[] {
  if (index === null) return [null, null, null, null];
  const { kind, createdAt, attentionAt, dueAt } = index;
  const times = [createdAt, attentionAt, dueAt];
  return [kind, ...times.map((time) => (time === null ? null : String(toStoredTime(time))))];
}

const attemptsOvertakenError = () =>
  new JournalError('Other processes wrote to the journal at each attempt. Nothing was changed. Try again.', {
    retryable: true,
  });

const writtenRow = z.object({ txid: z.nullable(z.string()) });
const writtenTogetherRow = z.object({ key: z.string(), written: z.nullable(z.string()) });
const deletedRow = z.object({ deleted: z.string() });
