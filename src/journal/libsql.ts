/** Runs the statements of a journal through `@libsql/client`: on a server of libSQL, at Turso, or in a local file. */

import { ConfigurationError, JournalError } from '../errors.ts';
import { retryWhileBusy } from './sqlite-connection.ts';
import type { SqliteHandle, SqliteStatement } from './sqlite-handle.ts';

/** What is used of a `Client` of `@libsql/client`. */
export interface LibsqlClient {
  /** `http` or `ws` for a server, `file` for a local file. */
  readonly protocol: string;
  batch(
    statements: { sql: string; args: (string | number | null)[] }[],
    mode: 'write' | 'deferred',
  ): Promise<{ rows: Record<string, unknown>[] }[]>;
  executeMultiple(sql: string): Promise<void>;
  sync(): Promise<unknown>;
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
 * import { createClient } from '@libsql/client';
 * import { fromLibsql, sqliteJournal } from 'payment-collection-client/journal/sqlite';
 *
 * const client = createClient({ url: 'libsql://payments.example.com', authToken: process.env.TURSO_AUTH_TOKEN });
 * const payments = new PaymentsClient({ journal: sqliteJournal(fromLibsql(client)) });
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
  // In another mode a replica, which might be behind, could run the statements.
  if (isServer) return { batch: (statements) => retryWhileBusy(() => runBatch(client, statements, 'write')) };
  return createFileHandle(client);
}

async function runBatch(
  client: LibsqlClient,
  statements: readonly SqliteStatement[],
  mode: 'write' | 'deferred',
): Promise<Record<string, unknown>[][]> {
  const results = await client.batch(
    statements.map(({ sql, values }) => ({ sql, args: [...values] })),
    mode,
  );
  return results.map(({ rows }) => rows);
}

/** Fails on a connection that would not sync a commit to disk. The client opens connections of its own, so each is asked. */
const ASSERT_DURABLE: SqliteStatement = {
  sql: 'SELECT CASE WHEN (SELECT synchronous FROM pragma_synchronous) < 2 THEN abs(-9223372036854775808) END',
  values: [],
};

/** As many connections can need it, one after the other: the client opens 20 unless its `concurrency` is set. */
const MAX_CONNECTIONS = 100;

function createFileHandle(client: LibsqlClient): SqliteHandle {
  let prepared: Promise<void> | undefined;
  const prepare = () => {
    prepared ??= assertNoReplica(client)
      .then(() => client.executeMultiple('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL'))
      .catch((error) => {
        prepared = undefined;
        throw error;
      });
    return prepared;
  };

  const write = async (statements: readonly SqliteStatement[]) => {
    for (let attempt = 1; ; attempt++) {
      try {
        const [, ...results] = await runBatch(client, [ASSERT_DURABLE, ...statements], 'write');
        return results;
      } catch (error) {
        // Nothing was written. It cannot be set inside the transaction of the batch.
        if (!/integer overflow/.test(String(error)) || attempt === MAX_CONNECTIONS) throw error;
        await client.executeMultiple('PRAGMA synchronous = FULL');
      }
    }
  };

  return {
    batch: (statements) =>
      retryWhileBusy(async () => {
        await prepare();
        // In WAL mode a read waits for nobody, and sees what is committed.
        const isRead = statements.every(({ sql }) => sql.startsWith('SELECT'));
        return isRead ? runBatch(client, statements, 'deferred') : write(statements);
      }),
  };
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
