import { JournalError } from './journal-error.ts';

/** What is used of a `Client` of `pg`, or of one that a pool lends. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  /** Of pg 8.21 or later. */
  getTransactionStatus?(): string | null;
}

/** What is used of a `Pool` of `pg`. */
export interface PostgresPool {
  readonly idleCount: number;
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  connect(): Promise<PooledPostgresClient>;
}

/** What is used of a client that a `Pool` of `pg` lends. */
export interface PooledPostgresClient extends PostgresClient {
  on(event: 'error', listener: () => void): unknown;
  removeListener(event: 'error', listener: () => void): unknown;
  release(destroy?: boolean): void;
}

/** Writes so that it is committed, or, where it is not `binding`, as a part of whatever transaction is open. */
export async function writeOn(
  client: PostgresPool | PostgresClient,
  binding: boolean,
  sql: string,
  values: unknown[],
): Promise<{ rows: unknown[] }> {
  if ('idleCount' in client) return unlessOvertaken(() => writeOnPool(client, sql, values));
  if (!binding) return client.query(sql, values);
  if (!client.getTransactionStatus || ('pipeline' in client && client.pipeline === true)) {
    throw new JournalError(
      'A Client that is in pipeline mode, or older than pg 8.21, does not tell whether it is inside a transaction: give ' +
        'the journal the Pool.',
    );
  }
  refuseTransaction(client);
  const result = await unlessOvertaken(() => client.query(sql, values));
  // A BEGIN may have been waiting before it in the client's queue.
  refuseTransaction(client);
  return result;
}

/** Where the database was told to be strict, it refuses what a write at the same time has overtaken: none was made. */
async function unlessOvertaken(write: () => Promise<{ rows: unknown[] }>): Promise<{ rows: unknown[] }> {
  try {
    return await write();
  } catch (fault) {
    if (Object(fault).code === '40001') return { rows: [] };
    throw fault;
  }
}

/** Somebody may have given a connection back in the middle of a transaction that nobody will ever commit. */
async function writeOnPool(pool: PostgresPool, sql: string, values: unknown[]): Promise<{ rows: unknown[] }> {
  const client = await pool.connect();
  const ignore = () => {};
  // A connection that breaks fails the query, and would end the process if nobody listened.
  client.on('error', ignore);
  let sound = false;
  try {
    refuseTransaction(client);
    const result = await client.query(sql, values);
    sound = true;
    return result;
  } finally {
    client.removeListener('error', ignore);
    client.release(!sound);
  }
}

/** What is recorded inside a transaction could be rolled back after the charge. `I`: idle; also where it cannot be told. */
function refuseTransaction(client: PostgresClient): void {
  const status = client.getTransactionStatus?.() ?? 'I';
  if (status === 'I') return;
  throw new JournalError(
    "The journal's connection is inside a transaction, which could be rolled back after the charge: give the journal " +
      'the Pool, and give no connection back to that before COMMIT or ROLLBACK.',
    { retryable: true },
  );
}
