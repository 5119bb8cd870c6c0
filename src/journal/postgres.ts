/**
 * At most one charge for each `idempotencyKey`, recorded in PostgreSQL, through `pg`.
 *
 * @module payment-collection-client/journal/postgres
 */

import { ConfigurationError, JournalError } from '../errors.ts';
import { assertOptions, createJournal, type JournalOptions } from './create-journal.ts';
import type { Journal } from './journal.ts';
import { MAX_CLOCK_STEP, MIN_CLOCK_STEP, RETENTION_MARGIN } from './retention.ts';
import type { JournalStore } from './store.ts';

export type { JournalOptions } from './create-journal.ts';
export type { Journal } from './journal.ts';

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
   * Makes the two tables if they do not exist; a schema named in `table` must exist. It can be called at every start, by
   * any number of processes at once, and needs the right to create tables. If your own migrations make tables, put the
   * text of {@link postgresSchema} there instead. It throws the database's own error.
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
 * A `Client` works too. While it is inside a transaction of yours, `read` and `resolve` are part of that, and charging
 * is refused: what is recorded there could be rolled back after the charge.
 *
 * The journal listens for `error` on the pool or client: a connection that breaks while it is idle, in a restart of the
 * server, does not end the process.
 *
 * `synchronous_commit = off` is overridden for what is recorded. A failover to an asynchronous replica can lose what the
 * replica had not received.
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
  client: PostgresPool | PostgresClient,
  options: PostgresJournalOptions = {},
): PostgresJournal {
  const { table = 'payments_journal', ...rest } = assertOptions(options);
  if (typeof client?.query !== 'function')
    throw new ConfigurationError('postgresJournal takes a Pool or a Client of pg.');
  const schema = postgresSchema(table);
  surviveBrokenConnections(client);
  const statements = buildPostgresStatements(quoteTable(table), quoteTable(clockTable(table)));
  const journal = createJournal(postgresStore(client, statements), rest);
  return Object.assign(journal, {
    async migrate() {
      await client.query(schema);
    },
  });
}

/**
 * Returns the statement that makes the two tables, for a merchant's own migrations. It can run any number of times. The
 * second table holds one row: the time that `retention` is measured with.
 *
 * @throws {ConfigurationError} if `table` is not a plain name in lower case.
 */
export function postgresSchema(table = 'payments_journal'): string {
  if (typeof table !== 'string' || !/^(?:[a-z_][a-z\d_]{0,62}\.)?[a-z_][a-z\d_]{0,50}$/.test(table))
    throw new ConfigurationError('table must be a plain name in lower case, such as payments_journal.');
  const index = `${table.replace(/^.*\./, '')}_kept_until`;
  const clock = quoteTable(clockTable(table));
  // Without the lock, one of two processes that make a table at once would fail.
  return `DO $$ BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('${table}'));
  CREATE TABLE IF NOT EXISTS ${quoteTable(table)} (
    key text PRIMARY KEY,
    version text NOT NULL,
    record json NOT NULL,
    written_at timestamptz NOT NULL,
    kept_until float8
  );
  CREATE INDEX IF NOT EXISTS "${index}" ON ${quoteTable(table)} (kept_until) WHERE kept_until IS NOT NULL;
  CREATE TABLE IF NOT EXISTS ${clock} (
    id int PRIMARY KEY CHECK (id = 1),
    counted float8 NOT NULL,
    told_at timestamptz NOT NULL
  );
  INSERT INTO ${clock} VALUES (1, 0, clock_timestamp()) ON CONFLICT DO NOTHING;
END $$`;
}

const clockTable = (table: string) => `${table}_clock`;

/** A plain name can still be a word of SQL, such as `order`. */
const quoteTable = (table: string) => table.replace(/[^.]+/g, '"$&"');

function postgresStore(client: PostgresPool | PostgresClient, sql: PostgresStatements): JournalStore {
  return {
    async read(key) {
      const { rows } = await client.query(sql.read, [key]);
      const [row] = rows;
      if (row === undefined) return null;
      const { version, record, age } = Object(row);
      return { version: String(version), text: String(record), age: Number(age) };
    },

    async write(key, { expected, version, text, ttl, mustCommit }) {
      const values = [key, version, text, ttl];
      const { rows } = await (expected === null
        ? executeWrite(client, mustCommit, sql.insert, values)
        : executeWrite(client, mustCommit, sql.update, [...values, expected]));
      return rows.length === 1;
    },
  };
}

/** What is used of a `Client` of `pg`, or of one that a pool lends. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  /** Of pg 8.21 or later. Without it no charge is recorded. */
  getTransactionStatus?(): string | null;
  on?(event: 'error', listener: () => void): unknown;
}

/** What is used of a `Pool` of `pg`. */
export interface PostgresPool {
  readonly idleCount: number;
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  connect(callback: (error: unknown, client: PooledPostgresClient | undefined) => void): void;
  on?(event: 'error', listener: () => void): unknown;
}

/** What is used of a client that a `Pool` of `pg` lends. */
export interface PooledPostgresClient extends PostgresClient {
  on(event: 'error', listener: () => void): unknown;
  removeListener(event: 'error', listener: () => void): unknown;
  release(destroy?: boolean): void;
}

const ignore = () => {};
const withListener = new WeakSet<PostgresPool | PostgresClient>();

/**
 * Listens for `error`. pg emits it for a connection that breaks while it is idle, and it ends a process without a listener.
 * A restart of the server must not do that. The next query on the connection fails anyway, so nothing is hidden.
 */
export function surviveBrokenConnections(client: PostgresPool | PostgresClient): void {
  if (withListener.has(client) || typeof client.on !== 'function') return;
  withListener.add(client);
  client.on('error', ignore);
}

/** Writes so that it is committed; without `mustCommit`, as a part of any transaction that is open. */
export async function executeWrite(
  client: PostgresPool | PostgresClient,
  mustCommit: boolean,
  sql: string,
  values: unknown[],
): Promise<{ rows: unknown[] }> {
  if ('idleCount' in client)
    return ignoreSerializationFailure(() => writeOnPool(client, mustCommit, sql, values));
  if (!mustCommit) return client.query(sql, values);
  // The queries of other callers on this connection might end in the same piece of data as the journal's own.
  if ('pipeline' in client && client.pipeline === true) {
    throw new JournalError(
      'The Client of the journal is in pipeline mode, so it cannot show whether it is inside a transaction. Nothing was ' +
        'sent. Give the journal the Pool.',
    );
  }
  return ignoreSerializationFailure(() => queryCommitted(client, sql, values));
}

/** With a strict isolation level, the database refuses a write that a concurrent one has overtaken: none was made. */
async function ignoreSerializationFailure(
  write: () => Promise<{ rows: unknown[] }>,
): Promise<{ rows: unknown[] }> {
  try {
    return await write();
  } catch (error) {
    if (Object(error).code === '40001') return { rows: [] };
    throw error;
  }
}

/** The merchant's code might have released a connection inside a transaction that is never committed. */
async function writeOnPool(
  pool: PostgresPool,
  mustCommit: boolean,
  sql: string,
  values: unknown[],
): Promise<{ rows: unknown[] }> {
  const client = await connectWithListener(pool);
  let isHealthy = false;
  try {
    // What `resolve` writes starts no request, so an older pg can do it.
    const result = await (mustCommit || hasTransactionStatus(client)
      ? queryCommitted(client, sql, values)
      : client.query(sql, values));
    isHealthy = true;
    return result;
  } finally {
    // The pool listens from here on.
    client.release(!isHealthy);
    client.removeListener('error', ignore);
  }
}

/**
 * Takes a client from the pool, with a listener for `error` from the start. After `await pool.connect()` a listener would
 * be too late: the server can end the connection in the same piece of data that makes it ready.
 */
function connectWithListener(pool: PostgresPool): Promise<PooledPostgresClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      client?.on('error', ignore);
      if (client) resolve(client);
      else reject(error);
    });
  });
}

/** Queries outside any transaction, so that what is written is committed once it returns. */
async function queryCommitted(
  client: PostgresClient,
  sql: string,
  values: unknown[],
): Promise<{ rows: unknown[] }> {
  if (!hasTransactionStatus(client)) {
    throw new JournalError(
      'This pg cannot show whether a connection is inside a transaction, which could be rolled back after the charge. ' +
        'Nothing was sent. Upgrade pg to 8.21 or later.',
    );
  }
  // A connection that has not run a query yet can have no status.
  assertNoTransaction(client.getTransactionStatus() ?? IDLE);
  const result = await client.query(sql, values);
  // A BEGIN might have been before it in the client's queue.
  assertNoTransaction(client.getTransactionStatus());
  return result;
}

function hasTransactionStatus(
  client: PostgresClient,
): client is PostgresClient & { getTransactionStatus(): string | null } {
  return typeof client.getTransactionStatus === 'function';
}

const IDLE = 'I';

/** What is recorded inside a transaction could be rolled back after the charge. */
function assertNoTransaction(status: string | null): void {
  if (status === IDLE) return;
  throw new JournalError(
    "The journal's connection is inside a transaction, which could be rolled back after the charge: give the journal " +
      'the Pool, and release no connection before COMMIT or ROLLBACK.',
    { retryable: true },
  );
}

/** Each step of the journal is one statement. `$1` is the key, and the others are those of `JournalStore.write`. */
export interface PostgresStatements {
  readonly read: string;
  readonly insert: string;
  readonly update: string;
}

/** With `synchronous_commit` off, a crash of the server would lose the record of a charge. */
const DURABLE = `(SELECT CASE current_setting('synchronous_commit') WHEN 'off'
  THEN set_config('synchronous_commit', 'on', true) END) AS durable`;

/** The time since the counted time was recorded, in milliseconds. */
const CLOCK_STEP = '(extract(epoch FROM clock_timestamp() - told_at) * 1000)::float8';

/** `table` and `clock` are quoted. */
export function buildPostgresStatements(table: string, clock: string): PostgresStatements {
  const counted = `(SELECT counted + least(${CLOCK_STEP}, ${MAX_CLOCK_STEP}) FROM ${clock})`;
  // What the clock went back is taken away once it is recorded. Until then it must not make a new record look old.
  const stamped = `(SELECT counted + greatest(least(${CLOCK_STEP}, ${MAX_CLOCK_STEP}), 0) FROM ${clock})`;
  const written = `clock_timestamp(), ${stamped} + $4::float8 + ${RETENTION_MARGIN}`;
  // No process waits for another one that records it.
  const tick = `ticked AS (
        UPDATE ${clock} SET counted = counted + least(${CLOCK_STEP}, ${MAX_CLOCK_STEP}), told_at = clock_timestamp()
        WHERE id IN (SELECT id FROM ${clock} WHERE abs(${CLOCK_STEP}) >= ${MIN_CLOCK_STEP} FOR UPDATE SKIP LOCKED))`;
  return {
    read: `SELECT version, record::text AS record, extract(epoch FROM clock_timestamp() - written_at) * 1000 AS age
      FROM ${table} WHERE key = $1`,
    // Each write deletes more than it adds, and never so much that it takes long.
    insert: `WITH ${tick}, dropped AS (
        DELETE FROM ${table} WHERE key IN (
          SELECT key FROM ${table} WHERE kept_until <= ${counted} AND key <> $1
          LIMIT 10 FOR UPDATE SKIP LOCKED))
      INSERT INTO ${table} AS kept (key, version, record, written_at, kept_until)
      SELECT $1, $2, $3::json, ${written} FROM ${DURABLE}
      ON CONFLICT (key) DO UPDATE SET version = excluded.version, record = excluded.record,
        written_at = excluded.written_at, kept_until = excluded.kept_until
      WHERE kept.kept_until <= ${counted}
      RETURNING 1`,
    update: `WITH ${tick}
      UPDATE ${table} AS kept SET version = $2, record = $3::json, (written_at, kept_until) = ROW(${written})
      FROM ${DURABLE} WHERE kept.key = $1 AND kept.version = $5 RETURNING 1`,
  };
}
