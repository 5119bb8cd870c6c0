import { JournalError } from './journal-error.ts';

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
