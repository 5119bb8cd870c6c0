/** Runs the statements of a journal through `@libsql/client`: on a server of libSQL, at Turso, or in a local file. */

import { ConfigurationError, JournalError } from '../../errors.ts';
import { retryWhileBusy } from './connection.ts';
import { isReadOnly, type SqliteHandle, type SqliteStatement } from './handle.ts';

/** What is used of a `Client` of `@libsql/client`. */
export interface LibsqlClient {
  /** `http` or `ws` for a server, `file` for a local file. */
  readonly protocol: string;
  /** Runs statements in a transaction of its own. */
  batch(statements: LibsqlStatement[], mode: 'write' | 'deferred'): Promise<LibsqlResult[]>;
  /** Begins a transaction on a connection of its own. */
  transaction(mode: 'deferred'): Promise<LibsqlTransaction>;
  /** Runs statements that return no rows. */
  executeMultiple(sql: string): Promise<void>;
  /** Rejects unless the client is an embedded replica. */
  sync(): Promise<unknown>;
}

/** What is used of a `Transaction` of `@libsql/client`. */
export interface LibsqlTransaction {
  /** Runs statements as a part of the transaction. */
  batch(statements: LibsqlStatement[]): Promise<LibsqlResult[]>;
  /** Runs statements that return no rows. */
  executeMultiple(sql: string): Promise<void>;
  /** Commits what was written. */
  commit(): Promise<void>;
  /** Rolls back what was not committed. */
  close(): void;
}

/** What is used of an `InStatement` of `@libsql/client`. */
export interface LibsqlStatement {
  sql: string;
  args: (string | number | null)[];
}

/** What is used of a `ResultSet` of `@libsql/client`. */
export interface LibsqlResult {
  readonly rows: Record<string, unknown>[];
}

/**
 * Makes a handle of a `Client` of `@libsql/client`, for `sqliteJournal`. Each write is a transaction of its own, whatever
 * transactions of yours are open on the client.
 *
 * On a server each read goes to the primary, too, since a replica could return an old record. How durable a record is
 * depends on the server. In a local file it sets WAL mode and `synchronous = FULL`, and checks that for each write, so that
 * a record survives a crash of the machine. An embedded replica (`syncUrl`) is refused: give the journal a client of its
 * own, whose `url` is that of the primary.
 *
 * @throws {ConfigurationError} if `client` is a `Transaction`, or no client of libSQL.
 *
 * @example
 * ```ts
 * import { fromLibsql, sqliteJournal } from 'payment-collection-client/journal/sqlite';
 *
 * // What createClient() of @libsql/client returns.
 * const payments = new PaymentsClient({ journal: sqliteJournal(fromLibsql(libsqlClient)) });
 * ```
 */
export function fromLibsql(client: LibsqlClient): SqliteHandle {
  const { batch, protocol, commit, executeMultiple } = Object(client);
  if (typeof commit === 'function') {
    throw new ConfigurationError(
      'fromLibsql was given a Transaction, which could be rolled back after the charge. Give it the client.',
    );
  }
  const isServer = protocol === 'http' || protocol === 'ws';
  if (
    typeof batch !== 'function' ||
    typeof executeMultiple !== 'function' ||
    !(isServer || protocol === 'file')
  )
    throw new ConfigurationError('fromLibsql takes a client of @libsql/client: createClient({ url }).');
  return isServer ? createServerHandle(client) : createFileHandle(client);
}

/** The server runs a batch as one request. It fails each statement after one that failed, and then rolls back. */
function createServerHandle(client: LibsqlClient): SqliteHandle {
  return {
    // They run what only reads, whatever its mode is.
    hasReplicas: true,
    batch: (statements) =>
      retryWhileBusy(async () => toRows(await client.batch(toLibsql(statements), 'write'))),
  };
}

const toLibsql = (statements: readonly SqliteStatement[]): LibsqlStatement[] =>
  statements.map(({ sql, values }) => ({ sql, args: [...values] }));

const toRows = (results: readonly LibsqlResult[]) => results.map(({ rows }) => rows);

/** The client opens connections of its own, so what is set on a connection is set for each write. */
function createFileHandle(client: LibsqlClient): SqliteHandle {
  let isChecked = false;
  let isWal = false;
  const run = async (statements: readonly SqliteStatement[]) => {
    if (!isChecked) await assertNoReplica(client);
    isChecked = true;
    if (isReadOnly(statements)) return toRows(await client.batch(toLibsql(statements), 'deferred'));
    // In WAL mode a read waits for nobody, and sees what is committed.
    if (!isWal) await client.executeMultiple('PRAGMA journal_mode = WAL');
    isWal = true;
    const transaction = await client.transaction('deferred');
    try {
      // A statement that waits for a lock stays open in this client until it is collected, and blocks each COMMIT of its
      // connection. One that is run as text does not.
      await transaction.executeMultiple('ROLLBACK; PRAGMA synchronous = FULL; BEGIN IMMEDIATE');
      const results = await transaction.batch(toLibsql(statements));
      await transaction.commit();
      return toRows(results);
    } finally {
      transaction.close();
    }
  };

  // A client has few connections, and one of them at a time can write.
  let last: Promise<unknown> = Promise.resolve();
  const runAlone = (statements: readonly SqliteStatement[]) => {
    const result = last.then(() => run(statements));
    last = result.catch(() => {});
    return result;
  };
  return { batch: (statements) => retryWhileBusy(() => runAlone(statements)) };
}

/** A replica can be read before it has a record. With `offline` it is also written before the primary knows. */
async function assertNoReplica(client: LibsqlClient): Promise<void> {
  try {
    await client.sync();
  } catch (error) {
    // Of a file that has nothing to be synced with.
    if (/SyncNotSupported/.test(String(error))) return;
    throw error;
  }
  throw new JournalError(
    'The client of the journal is an embedded replica, which can be behind. Nothing was sent. Give the journal a client ' +
      "of its own, with the replica's syncUrl as its url.",
  );
}
