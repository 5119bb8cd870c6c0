/**
 * At most one charge for each `idempotencyKey`, recorded in PostgreSQL, through `pg`.
 *
 * @module payment-collection-client/journal/postgres
 */

import { ConfigurationError } from '../errors.ts';
import { assertOptions, createJournal, type Journal, type JournalOptions } from './journal.ts';
import {
  executeWrite,
  type PostgresClient,
  type PostgresPool,
  surviveBrokenConnections,
} from './postgres-connection.ts';
import { type PostgresStatements, postgresStatements } from './postgres-statements.ts';
import type { JournalStore } from './store.ts';

export type { Journal, JournalOptions } from './journal.ts';
export type { PooledPostgresClient, PostgresClient, PostgresPool } from './postgres-connection.ts';

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
   * Makes the two tables where they are not there yet; a schema named in `table` has to be there. It may be called at every
   * start, by any number of processes at once, and needs the right to create tables. Where your own migrations make
   * tables, put the text of {@link postgresSchema} there instead.
   *
   * @throws what the database says
   */
  migrate(): Promise<void>;
}

/**
 * A journal in PostgreSQL 12 or later, through your own `pg` 8.21 or later. Each of its steps is one statement that
 * commits by itself, so give it the **`Pool`**: a transaction of yours, open on another of its connections, is not
 * disturbed. Leave it a connection to spare: a charge inside a transaction takes a second one. A connection that was
 * given back to the pool in the middle of a transaction is noticed: it is closed, nothing is sent, and the next try
 * succeeds. An older pg cannot tell, so charging is refused with it.
 *
 * A `Client` will do too. While it is inside a transaction of yours, `read` and `resolve` are part of that, and charging
 * is refused: what is recorded there could be rolled back after the charge.
 *
 * The journal listens for `error` on the pool or client: a connection that breaks while it is idle, in a restart of the
 * server, does not end the process.
 *
 * `synchronous_commit = off` is lifted for what is recorded. A failover to an asynchronous replica may lose what that had
 * not received.
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
  client: PostgresPool | PostgresClient,
  options: PostgresJournalOptions = {},
): PostgresJournal {
  const { table = 'payments_journal', ...rest } = assertOptions(options);
  if (typeof client?.query !== 'function')
    throw new ConfigurationError('postgresJournal takes a Pool or a Client of pg.');
  const schema = postgresSchema(table);
  surviveBrokenConnections(client);
  const statements = postgresStatements(quoted(table), quoted(clockOf(table)));
  const journal = createJournal(postgresStore(client, statements), rest);
  return Object.assign(journal, {
    async migrate() {
      await client.query(schema);
    },
  });
}

/**
 * The statement that makes the two tables, for a merchant's own migrations. It may run any number of times. The second
 * table holds one row: the time that `retention` is measured with.
 *
 * @throws ConfigurationError where `table` is not a plain name in lower case
 */
export function postgresSchema(table = 'payments_journal'): string {
  if (typeof table !== 'string' || !/^(?:[a-z_][a-z\d_]{0,62}\.)?[a-z_][a-z\d_]{0,50}$/.test(table))
    throw new ConfigurationError('table must be a plain name in lower case, such as payments_journal.');
  const index = `${table.replace(/^.*\./, '')}_kept_until`;
  const clock = quoted(clockOf(table));
  // Two processes that make one table at once would trip over each other without the lock.
  return `DO $$ BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('${table}'));
  CREATE TABLE IF NOT EXISTS ${quoted(table)} (
    key text PRIMARY KEY,
    version text NOT NULL,
    record json NOT NULL,
    written_at timestamptz NOT NULL,
    kept_until float8
  );
  CREATE INDEX IF NOT EXISTS "${index}" ON ${quoted(table)} (kept_until) WHERE kept_until IS NOT NULL;
  CREATE TABLE IF NOT EXISTS ${clock} (
    id int PRIMARY KEY CHECK (id = 1),
    counted float8 NOT NULL,
    told_at timestamptz NOT NULL
  );
  INSERT INTO ${clock} VALUES (1, 0, clock_timestamp()) ON CONFLICT DO NOTHING;
END $$`;
}

const clockOf = (table: string) => `${table}_clock`;

/** A plain name may still be a word of SQL, such as `order`. */
const quoted = (table: string) => table.replace(/[^.]+/g, '"$&"');

function postgresStore(client: PostgresPool | PostgresClient, sql: PostgresStatements): JournalStore {
  return {
    async read(key) {
      const { rows } = await client.query(sql.read, [key]);
      const [row] = rows;
      if (row === undefined) return null;
      const { version, record, age } = Object(row);
      return { version: String(version), text: String(record), age: Number(age) };
    },

    async write(key, { expected, version, text, ttl: keepFor, mustCommit: binding }) {
      const values = [key, version, text, keepFor];
      const { rows } = await (expected === null
        ? executeWrite(client, binding, sql.insert, values)
        : executeWrite(client, binding, sql.update, [...values, expected]));
      return rows.length === 1;
    },
  };
}
