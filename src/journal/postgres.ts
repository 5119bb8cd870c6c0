/**
 * At most one charge for each `idempotencyKey`, recorded in PostgreSQL, through `pg`.
 *
 * @module payment-collection-client/journal/postgres
 */

import { ConfigurationError, JournalError } from '../errors.ts';
import { redactUnknownSecrets } from '../redact.ts';
import { sanitizeError } from '../sanitize-error.ts';
import { assertOptions, createJournal, type JournalOptions } from './create-journal.ts';
import type { Journal } from './journal.ts';
import {
  executeClaim,
  executeWrite,
  type PostgresClient,
  type PostgresPool,
  surviveBrokenConnections,
} from './postgres-connection.ts';
import { buildPostgresStatements, type PostgresStatements, postgresSchema } from './postgres-table.ts';
import type { JournalStore, ListedRecord, StoredRecord } from './store.ts';

export type { JournalOptions } from './create-journal.ts';
export type { Journal } from './journal.ts';
export type { PooledPostgresClient, PostgresClient, PostgresPool } from './postgres-connection.ts';
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
   * Makes the two tables if they do not exist; a schema named in `table` must exist. It changes a table of an older version
   * of this package in place: until then, charges are refused. It can be called at every start, by any number of processes
   * at once, and needs the right to create tables. If your own migrations make tables, put the text of
   * {@link postgresSchema} there instead. It throws the database's own error.
   */
  migrate(): Promise<void>;
}

/**
 * Makes a journal in PostgreSQL 12 or later, through your own `pg` 8.21 or later. Each of its steps is one statement that
 * commits by itself, so give it the **`Pool`**: a transaction of yours, open on another of its connections, is not
 * affected. Leave it a connection to spare: a charge inside a transaction takes a second one.
 *
 * A connection that was released to the pool inside a transaction is detected: it is closed, nothing is sent, and the next
 * call succeeds. An older pg cannot detect that, so charging is refused with it.
 *
 * A `Client` works too. While it is inside a transaction of yours, `read`, `list` and `resolve` are part of that. Charging
 * is refused, and so are follow-ups: what is recorded there could be rolled back after the charge.
 *
 * The journal listens for `error` on the pool or client: a connection that breaks while it is idle, in a restart of the
 * server, does not end the process.
 *
 * `synchronous_commit = off` is overridden for what is recorded. A failover to an asynchronous replica can lose what the
 * replica had not received.
 *
 * Each row is a key and its `record`, as JSON. Some columns are generated from the record, and have an index: `state`,
 * `created_at` and `reference` (in lower case). `due_at` is when a follow-up is due. The journal's own records have no
 * `state`. Read the table as you like, but change it through the journal only.
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
 *
 * @example
 * Lists the unresolved keys by hand. A key in state `begun` is unresolved once its lease has expired.
 * ```sql
 * SELECT key, created_at, record ->> 'amount' AS amount, record ->> 'requestIds' AS request_ids
 * FROM payments_journal
 * WHERE state = 'unknown' OR (state = 'begun' AND written_at < now() - interval '10 seconds')
 * ORDER BY created_at;
 * ```
 */
export function postgresJournal(
  client: PostgresPool | PostgresClient,
  options: PostgresJournalOptions = {},
): PostgresJournal {
  const { table = 'payments_journal', ...rest } = assertOptions(options);
  if (typeof client?.query !== 'function')
    throw new ConfigurationError('postgresJournal takes a Pool or a Client of pg.');
  const schema = postgresSchema(table);
  surviveBrokenConnections(client);
  const statements = buildPostgresStatements(table);
  const journal = createJournal(postgresStore(client, statements), rest);
  return Object.assign(journal, {
    async migrate() {
      await client.query(schema);
    },
  });
}

function postgresStore(client: PostgresPool | PostgresClient, sql: PostgresStatements): JournalStore {
  const query = (text: string, values: unknown[] = []) => explainOldTable(() => client.query(text, values));

  return {
    async read(key) {
      const { rows } = await query(sql.read, [key]);
      const [row] = rows;
      return row === undefined ? null : toStoredRecord(row);
    },

    async write(key, { expected, version, text, ttl, mustCommit, dueIn }) {
      const values = [key, version, text, ttl, dueIn];
      const { rows } = await explainOldTable(() =>
        expected === null
          ? executeWrite(client, mustCommit, sql.insert, values)
          : executeWrite(client, mustCommit, sql.update, [...values, expected]),
      );
      return rows.length === 1;
    },

    async list({ by, value, after, limit }) {
      const position = [after?.createdAt ?? Number.NEGATIVE_INFINITY, after?.key ?? ''];
      const { rows } = await query(sql.list[by], [value, ...position, limit]);
      return rows.map(toListedRecord);
    },

    async count() {
      const { rows } = await query(sql.count);
      return Object.fromEntries(
        rows.map((row) => {
          const { state, records } = Object(row);
          return [String(state), Number(records)];
        }),
      );
    },

    async claimDue({ limit, lease }) {
      const { rows } = await explainOldTable(() => executeClaim(client, sql.claimDue, [limit, lease]));
      return rows.map(toListedRecord);
    },

    async countDue() {
      const { rows } = await query(sql.countDue);
      const { due, next_in } = Object(rows[0]);
      return { due: Number(due), nextIn: next_in === null ? null : Math.max(0, Number(next_in)) };
    },
  };
}

function toStoredRecord(row: unknown): StoredRecord {
  const { version, record, age } = Object(row);
  return { version: String(version), text: String(record), age: Number(age) };
}

function toListedRecord(row: unknown): ListedRecord {
  const { key, created } = Object(row);
  return { ...toStoredRecord(row), key: String(key), createdAt: Number(created) };
}

/** PostgreSQL's codes for a column and for a table that does not exist. */
const MISSING = ['42703', '42P01'];

/** Runs a statement. If the table is missing, or an older version made it, the error says how that is changed. */
async function explainOldTable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!MISSING.includes(Object(error).code)) throw error;
    const cause = sanitizeError(error, redactUnknownSecrets);
    throw new JournalError(
      'The table of the journal is missing, or an older version of this package made it. Nothing was recorded. Run ' +
        'journal.migrate(), or the text of postgresSchema().',
      { cause },
    );
  }
}
