import type { DatabaseSync } from 'node:sqlite';
import type { LibsqlClient, LibsqlStatement } from '../../src/journal/sqlite.ts';
import { createSqliteHandle } from './sqlite-handle.ts';

const toHandle = (statements: readonly LibsqlStatement[]) =>
  statements.map(({ sql, args }) => ({ sql, values: args }));

const runOn = async (database: DatabaseSync, statements: readonly LibsqlStatement[]) =>
  (await createSqliteHandle(database).batch(toHandle(statements))).map((rows) => ({
    rows: rows.map((row) => ({ ...row })),
  }));

const refuseSync = () => Promise.reject(new Error('SYNC_NOT_SUPPORTED: SyncNotSupported'));

/** A client of a server of libSQL, on a connection of `node:sqlite`. `onBatch` gets each batch before it is run. */
export function createServerClient(
  database: DatabaseSync,
  onBatch: (statements: readonly string[], mode: string) => void,
): LibsqlClient {
  return {
    protocol: 'http',
    async batch(statements, mode) {
      onBatch(
        statements.map(({ sql }) => sql),
        mode,
      );
      return runOn(database, statements);
    },
    transaction: () => Promise.reject(new Error('a transaction of its own was begun')),
    executeMultiple: async (sql) => database.exec(sql),
    sync: refuseSync,
  };
}

/** What a client of a file is watched for. */
export interface FileClient extends LibsqlClient {
  /** How many transactions are open now, and were at most. */
  readonly open: { now: number; most: number };
}

/**
 * A client of a file, which opens a connection for each transaction. `onBatch` gets that connection before a batch is run on it, and
 * can throw.
 */
export function createFileClient(
  connect: () => DatabaseSync,
  onBatch: (connection: DatabaseSync) => void = () => {},
): FileClient {
  const own = connect();
  const open = { now: 0, most: 0 };
  return {
    open,
    protocol: 'file',
    batch: (statements) => runOn(own, statements),
    async transaction() {
      const connection = connect();
      connection.exec('PRAGMA synchronous = NORMAL; BEGIN');
      open.now += 1;
      open.most = Math.max(open.most, open.now);
      return {
        async batch(statements) {
          onBatch(connection);
          // Others run meanwhile.
          await new Promise((resolve) => setImmediate(resolve));
          return statements.map(({ sql, args }) => ({
            rows: connection
              .prepare(sql)
              .all(...args)
              .map((row) => ({ ...row })),
          }));
        },
        executeMultiple: async (sql) => connection.exec(sql),
        commit: async () => connection.exec('COMMIT'),
        close() {
          open.now -= 1;
          connection.close();
        },
      };
    },
    executeMultiple: async (sql) => own.exec(sql),
    sync: refuseSync,
  };
}
