/**
 * At most one charge for each `idempotencyKey`, recorded in PostgreSQL, through `pg`.
 *
 * @module payment-collection-client/journal/postgres
 */

import { ConfigurationError, JournalError } from '../errors.ts';
import { assertOptions, createJournal, type Journal, type JournalOptions } from './journal.ts';
import type { JournalStore } from './store.ts';
import { LONGEST_STEP, MARGIN, SHORTEST_STEP } from './store.ts';

export type { Journal, JournalOptions } from './journal.ts';

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
const listenedTo = new WeakSet<PostgresPool | PostgresClient>();

/**
 * A connection that breaks while it is idle makes pg emit `error`, which ends a process that does not listen. A restart
 * of the server must not do that. The next query on the connection fails anyway, so nothing is hidden.
 */
export function surviveBrokenConnections(client: PostgresPool | PostgresClient): void {
  if (listenedTo.has(client) || typeof client.on !== 'function') return;
  listenedTo.add(client);
  client.on('error', ignore);
}

/** Writes so that it is committed, or, where it is not `binding`, as a part of whatever transaction is open. */
export async function executeWrite(
  client: PostgresPool | PostgresClient,
  binding: boolean,
  sql: string,
  values: unknown[],
): Promise<{ rows: unknown[] }> {
  if ('idleCount' in client)
    return ignoreSerializationFailure(() => writeOnPool(client, binding, sql, values));
  if (!binding) return client.query(sql, values);
  // The queries of other callers on this connection may end in the same piece as the journal's own.
  if ('pipeline' in client && client.pipeline === true) {
    throw new JournalError(
      'The Client of the journal is in pipeline mode, so it cannot tell whether it is inside a transaction. Nothing was ' +
        'sent. Give the journal the Pool.',
    );
  }
  return ignoreSerializationFailure(() => queryCommitted(client, sql, values));
}

/** Where the database was told to be strict, it refuses what a write at the same time has overtaken: none was made. */
async function ignoreSerializationFailure(
  write: () => Promise<{ rows: unknown[] }>,
): Promise<{ rows: unknown[] }> {
  try {
    return await write();
  } catch (fault) {
    if (Object(fault).code === '40001') return { rows: [] };
    throw fault;
  }
}

/** Somebody may have given a connection back in the middle of a transaction that nobody will ever commit. */
async function writeOnPool(
  pool: PostgresPool,
  binding: boolean,
  sql: string,
  values: unknown[],
): Promise<{ rows: unknown[] }> {
  const client = await borrow(pool);
  let healthy = false;
  try {
    // What `resolve` writes starts no request, so an older pg may do it.
    const write = binding || canTell(client) ? queryCommitted : queryOn;
    const result = await write(client, sql, values);
    healthy = true;
    return result;
  } finally {
    // The pool listens from here on.
    client.release(!healthy);
    client.removeListener('error', ignore);
  }
}

/**
 * A client with a listener for `error` from its first moment. After `await pool.connect()` it would come too late: the
 * server may end the connection in the same piece of data in which it says that it is ready.
 */
function borrow(pool: PostgresPool): Promise<PooledPostgresClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      client?.on('error', ignore);
      if (client) resolve(client);
      else reject(error);
    });
  });
}

const queryOn = (client: PostgresClient, sql: string, values: unknown[]) => client.query(sql, values);

/** Queries outside any transaction, so that what is written is committed once it returns. */
async function queryCommitted(
  client: PostgresClient,
  sql: string,
  values: unknown[],
): Promise<{ rows: unknown[] }> {
  if (!canTell(client)) {
    throw new JournalError(
      'This pg cannot tell whether a connection is inside a transaction, which could be rolled back after the charge. ' +
        'Nothing was sent. Upgrade pg to 8.21 or later.',
    );
  }
  // A connection that has not run a query yet may have no status.
  assertNoTransaction(client.getTransactionStatus() ?? IDLE);
  const result = await client.query(sql, values);
  // A BEGIN may have been waiting before it in the client's queue.
  assertNoTransaction(client.getTransactionStatus());
  return result;
}

function canTell(
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
      'the Pool, and give no connection back to that before COMMIT or ROLLBACK.',
    { retryable: true },
  );
}

/** Each step of the journal is one statement. `$1` is the key, and the others are as `JournalStore.write` has them. */
export interface PostgresStatements {
  readonly read: string;
  readonly insert: string;
  readonly update: string;
}

/** Whoever has turned it off for speed would lose the record of a charge when the server crashes. */
const DURABLE = `(SELECT CASE current_setting('synchronous_commit') WHEN 'off'
  THEN set_config('synchronous_commit', 'on', true) END) AS durable`;

/** Since the counted time was recorded, in milliseconds. */
const STEP = '(extract(epoch FROM clock_timestamp() - told_at) * 1000)::float8';

/** `table` and `clock` are quoted. */
export function postgresStatements(table: string, clock: string): PostgresStatements {
  const counted = `(SELECT counted + least(${STEP}, ${LONGEST_STEP}) FROM ${clock})`;
  // What the clock went back is taken away once it is recorded. Until then it must not make a new record look old.
  const stamped = `(SELECT counted + greatest(least(${STEP}, ${LONGEST_STEP}), 0) FROM ${clock})`;
  const written = `clock_timestamp(), ${stamped} + $4::float8 + ${MARGIN}`;
  // Nobody waits for another process that records it.
  const tick = `ticked AS (
        UPDATE ${clock} SET counted = counted + least(${STEP}, ${LONGEST_STEP}), told_at = clock_timestamp()
        WHERE id IN (SELECT id FROM ${clock} WHERE abs(${STEP}) >= ${SHORTEST_STEP} FOR UPDATE SKIP LOCKED))`;
  return {
    read: `SELECT version, record::text AS record, extract(epoch FROM clock_timestamp() - written_at) * 1000 AS age
      FROM ${table} WHERE key = $1`,
    // Each write drops more than it adds, and never so much that it takes long.
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
