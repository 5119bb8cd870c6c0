import { ConfigurationError } from '../errors.ts';
import { createJournal, type Journal, type JournalOptions } from './journal.ts';
import { JournalError } from './journal-error.ts';
import type { JournalStore } from './store.ts';

export type { Journal, JournalOptions } from './journal.ts';

/** What is used of a `Pool` or a `Client` of `pg`. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  /** A client's, not a pool's. */
  getTransactionStatus?(): string | null;
}

/** What {@link postgresJournal} takes besides the pool. */
export interface PostgresJournalOptions extends JournalOptions {
  /**
   * The table, with its schema where it has one: `payments.journal`.
   *
   * @default 'payments_journal'
   */
  table?: string | undefined;
}

/** A {@link Journal} in PostgreSQL. */
export interface PostgresJournal extends Journal {
  /**
   * Makes the table where it is not there yet. It may be called at every start, by any number of processes at once. Where
   * your own migrations make tables, put the text of {@link postgresSchema} there instead.
   *
   * @throws what the database says
   */
  migrate(): Promise<void>;
}

/**
 * A journal in PostgreSQL 12 or later, through your own `pg`. Each of its steps is one statement that commits by itself,
 * so give it the **`Pool`**: a transaction of yours, open on another connection, is not disturbed. A `Client` of
 * pg 8.18 or later will do too; while it is inside a transaction of yours, `read` and `resolve` are part of that, and charging is refused: what
 * is recorded there could be rolled back after the charge.
 *
 * @throws ConfigurationError where an option cannot work
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
  client: PostgresClient,
  options: PostgresJournalOptions = {},
): PostgresJournal {
  const { table = 'payments_journal', ...rest } = options;
  if (typeof client?.query !== 'function')
    throw new ConfigurationError('postgresJournal takes a Pool or a Client of pg.');
  const schema = postgresSchema(table);
  const journal = createJournal(postgresStore(client, table), rest);
  return Object.assign(journal, {
    async migrate() {
      await client.query(schema);
    },
  });
}

/** The statement that makes the table, for a merchant's own migrations. */
export function postgresSchema(table = 'payments_journal'): string {
  if (typeof table !== 'string' || !/^(?:[a-z_]\w{0,62}\.)?[a-z_]\w{0,50}$/.test(table))
    throw new ConfigurationError('table must be a plain name in lower case, such as payments_journal.');
  const index = `${table.replace(/^.*\./, '')}_dropped_at`;
  // Two processes that make one table at once would trip over each other without the lock.
  return `DO $$ BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('${table}'));
  CREATE TABLE IF NOT EXISTS ${table} (
    key text PRIMARY KEY,
    version text NOT NULL,
    record json NOT NULL,
    written_at timestamptz NOT NULL,
    dropped_at timestamptz
  );
  CREATE INDEX IF NOT EXISTS ${index} ON ${table} (dropped_at) WHERE dropped_at IS NOT NULL;
END $$`;
}

function postgresStore(client: PostgresClient, table: string): JournalStore {
  const sql = statements(table);
  return {
    async read(key) {
      const { rows } = await client.query(sql.read, [key]);
      const [row] = rows;
      if (row === undefined) return null;
      const { version, record, age } = Object(row);
      return { version: String(version), text: String(record), age: Number(age) };
    },

    async write(key, { expected, version, text, keepFor, binding }) {
      if (binding) refuseTransaction(client);
      const written = [key, version, text, keepFor];
      const { rows } = await (expected === null
        ? client.query(sql.insert, written)
        : client.query(sql.update, [...written, expected]));
      // A BEGIN may have been waiting before it in the client's queue.
      if (binding) refuseTransaction(client);
      return rows.length === 1;
    },
  };
}

/** What is recorded inside a transaction could be rolled back after the charge. A pool has none. */
function refuseTransaction(client: PostgresClient): void {
  if ('idleCount' in client) return;
  const status = client.getTransactionStatus?.();
  if (status === 'I') return;
  throw new JournalError(
    status === undefined
      ? 'A Client of this version of pg does not tell whether it is inside a transaction: give the journal the Pool.'
      : "The journal's client is inside a transaction, which could be rolled back after the charge: give it the Pool.",
    { retryable: status !== undefined },
  );
}

function statements(table: string) {
  // Whoever has turned it off for speed would lose the record of a charge when the server crashes.
  const durable = `(SELECT CASE current_setting('synchronous_commit') WHEN 'off'
    THEN set_config('synchronous_commit', 'on', true) END) AS durable`;
  const change = "clock_timestamp(), clock_timestamp() + $4::float8 * interval '1 millisecond'";
  return {
    read: `SELECT version, record::text AS record, extract(epoch FROM clock_timestamp() - written_at) * 1000 AS age
      FROM ${table} WHERE key = $1 AND (dropped_at IS NULL OR dropped_at > clock_timestamp())`,
    insert: `WITH dropped AS (
        DELETE FROM ${table} WHERE key IN (
          SELECT key FROM ${table} WHERE dropped_at <= clock_timestamp() AND key <> $1
          LIMIT 10 FOR UPDATE SKIP LOCKED))
      INSERT INTO ${table} AS kept (key, version, record, written_at, dropped_at)
      SELECT $1, $2, $3::json, ${change} FROM ${durable}
      ON CONFLICT (key) DO UPDATE SET version = excluded.version, record = excluded.record,
        written_at = excluded.written_at, dropped_at = excluded.dropped_at
      WHERE kept.dropped_at <= clock_timestamp()
      RETURNING 1`,
    update: `UPDATE ${table} AS kept SET version = $2, record = $3::json, (written_at, dropped_at) = ROW(${change})
      FROM ${durable} WHERE kept.key = $1 AND kept.version = $5 RETURNING 1`,
  };
}
