/**
 * Runs the statements of a journal through `pg`, so that what is written is committed, and that a connection which breaks
 * does not end the process.
 */

import { JournalError } from '../../errors.ts';
import { isObject } from '../../support/untrusted.ts';
import { ignore } from '../sql.ts';
import { hasSqlState, IS_OVERTAKEN, IS_UNPREPARED } from './errors.ts';

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

/** Reads, as a part of any transaction that is open on a `Client`. */
export async function executeRead(
  client: PostgresPool | PostgresClient,
  sql: string,
  values: unknown[],
): Promise<unknown[]> {
  const { rows } = await (isPool(client)
    ? useClient(client, (own) => queryPrepared(own, sql, values))
    : takeTurn(client, () => client.query(sql, values)));
  return rows;
}

/**
 * Writes so that it is committed; without `mustCommit`, as a part of any transaction that is open. Returns `undefined` if
 * a concurrent write was first, with a strict isolation level: nothing was written.
 */
export function executeWrite(
  client: PostgresPool | PostgresClient,
  mustCommit: boolean,
  sql: string,
  values: unknown[],
): Promise<unknown[] | undefined> {
  const write = () => writeOnce(client, mustCommit, sql, values);
  return isPool(client) ? write() : takeTurn(client, write);
}

async function writeOnce(
  client: PostgresPool | PostgresClient,
  mustCommit: boolean,
  sql: string,
  values: unknown[],
): Promise<unknown[] | undefined> {
  const isAnywhere = !mustCommit && !isPool(client);
  try {
    return (await (isAnywhere ? client.query(sql, values) : execute(client, mustCommit, sql, values))).rows;
  } catch (error) {
    // A transaction of the merchant has failed as a whole: its next statement fails too, and its own error is needed.
    const isInside = isAnywhere && client.getTransactionStatus?.() !== IDLE;
    if (hasSqlState(error, IS_OVERTAKEN) && !isInside) return undefined;
    throw error;
  }
}

/** The last step of the journal on each `Client`, once it has ended. */
const lastSteps = new WeakMap<PostgresClient, Promise<unknown>>();

/** Runs one step at a time: pg 9 takes no query while its `Client` executes another one, and pg 8 warns of it. */
function takeTurn<T>(client: PostgresClient, step: () => Promise<T>): Promise<T> {
  const result = (lastSteps.get(client) ?? Promise.resolve()).then(step);
  lastSteps.set(client, result.catch(ignore));
  return result;
}

const isPool = (client: PostgresPool | PostgresClient): client is PostgresPool => 'idleCount' in client;

/** Without `mustCommit`, only a pool is given. */
async function execute(
  client: PostgresPool | PostgresClient,
  mustCommit: boolean,
  sql: string,
  values: unknown[],
): Promise<{ rows: unknown[] }> {
  if (isPool(client)) return writeOnPool(client, mustCommit, sql, values);
  // The queries of other callers on this connection might end in the same piece of data as the journal's own.
  if ('pipeline' in client && client.pipeline === true) {
    throw new JournalError(
      'The Client of the journal is in pipeline mode, so it cannot show whether it is inside a transaction. Nothing was ' +
        'sent. Give the journal the Pool.',
    );
  }
  return queryCommitted(client, sql, values);
}

/** The merchant's code might have released a connection inside a transaction that is never committed. */
function writeOnPool(
  pool: PostgresPool,
  mustCommit: boolean,
  sql: string,
  values: unknown[],
): Promise<{ rows: unknown[] }> {
  // What `resolve` writes starts no request, so an older pg can do it.
  return useClient(pool, (client) =>
    mustCommit || hasTransactionStatus(client)
      ? queryCommitted(client, sql, values)
      : client.query(sql, values),
  );
}

async function useClient<T>(
  pool: PostgresPool,
  work: (client: PooledPostgresClient) => Promise<T>,
): Promise<T> {
  const client = await connectWithListener(pool);
  let isHealthy = false;
  try {
    const result = await work(client);
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
        'Nothing was sent. Upgrade pg to 8.21 or later. With an older one, use fromQuery.',
    );
  }
  // A connection that has not run a query yet can have no status.
  assertNoTransaction(client.getTransactionStatus() ?? IDLE);
  const result = await queryPrepared(client, sql, values);
  // A BEGIN might have been before it in the client's queue.
  assertNoTransaction(client.getTransactionStatus());
  return result;
}

/** A `Client` of `pg` itself, which has the number of its server process from the start of its connection. */
interface NumberedClient extends PostgresClient {
  readonly processID: number;
  query(
    text: string | { name: string; text: string; values: unknown[] },
    values?: unknown[],
  ): Promise<{ rows: unknown[] }>;
}

const canPrepare = new WeakMap<NumberedClient, boolean>();

/** By their text. Another copy of this module, which can share the pool, has other names. */
const statementNames = new Map<string, string>();

/**
 * Lets the server keep the statement and its plan, where each query of the connection reaches the same process. Through
 * PgBouncer in transaction mode, another process would not have the statement.
 */
async function queryPrepared(
  client: PostgresClient,
  sql: string,
  values: unknown[],
): Promise<{ rows: unknown[] }> {
  if (!hasProcessNumber(client)) return client.query(sql, values);
  const isAllowed = canPrepare.get(client) ?? (await isDirect(client));
  canPrepare.set(client, isAllowed);
  if (!isAllowed) return client.query(sql, values);
  const name = statementNames.get(sql) ?? `payments_journal_${crypto.randomUUID()}`;
  statementNames.set(sql, name);
  try {
    return await client.query({ name, text: sql, values });
  } catch (error) {
    if (!hasSqlState(error, IS_UNPREPARED)) throw error;
    canPrepare.set(client, false);
    return client.query(sql, values);
  }
}

/** A pooler gives each connection a number of its own. */
async function isDirect(client: NumberedClient): Promise<boolean> {
  const { rows } = await client.query('SELECT pg_backend_pid()::text AS pid');
  return isObject(rows[0]) && 'pid' in rows[0] && rows[0].pid === String(client.processID);
}

const hasProcessNumber = (client: PostgresClient): client is NumberedClient =>
  'processID' in client && typeof client.processID === 'number';

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
