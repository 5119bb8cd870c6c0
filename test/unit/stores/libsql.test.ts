import type { DatabaseSync } from 'node:sqlite';
import { describe, expect, test, vi } from 'vitest';
import { fromLibsql, type LibsqlClient, type LibsqlStatement } from '../../../src/stores/sqlite/index.ts';
import { catchError } from '../../helpers/service.ts';
import {
  createSqliteHandle,
  openHandleStore,
  openMemory,
  useSqliteFile,
} from '../../helpers/sqlite-stores.ts';
import { listSteps } from '../../helpers/store-suite.ts';
import { firstWrite, listAll } from '../../helpers/store-writes.ts';

const runOn = async (database: DatabaseSync, statements: readonly LibsqlStatement[]) => {
  const results = await createSqliteHandle(database).batch(
    statements.map(({ sql, args }) => ({ sql, values: args })),
  );
  return results.map((rows) => ({ rows: rows.map((row) => ({ ...row })) }));
};

const refuseSync = () => Promise.reject(new Error('SYNC_NOT_SUPPORTED: SyncNotSupported'));

/** A client of a server, on a connection of `node:sqlite`. `onBatch` gets each batch before it is run. */
const createServerClient = (
  database: DatabaseSync,
  onBatch: (statements: readonly string[], mode: string) => void,
): LibsqlClient => ({
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
});

/**
 * A store through a client of a file, which opens a connection for each transaction. `onBatch` gets that connection before a
 * batch is run on it, and can throw.
 */
function openFile(onBatch: (connection: DatabaseSync, connect: () => DatabaseSync) => void = () => {}) {
  const connect = useSqliteFile();
  const own = connect();
  /** How many transactions are open now, and were at most. */
  const open = { now: 0, most: 0 };
  const client: LibsqlClient = {
    protocol: 'file',
    batch: (statements) => runOn(own, statements),
    async transaction() {
      const connection = connect();
      connection.exec('PRAGMA synchronous = NORMAL; BEGIN');
      open.now += 1;
      open.most = Math.max(open.most, open.now);
      return {
        async batch(statements) {
          onBatch(connection, connect);
          // Others run meanwhile.
          await new Promise((resolve) => setImmediate(resolve));
          return statements.map(({ sql, args }) => {
            const rows = connection.prepare(sql).all(...args);
            return { rows: rows.map((row) => ({ ...row })) };
          });
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
  const readKeys = () =>
    connect()
      .prepare('SELECT key FROM payments_journal ORDER BY key')
      .all()
      .map(({ key }) => key);
  return { client, connect, open, readKeys, store: openHandleStore(fromLibsql(client)) };
}

test.each([
  ['that can be behind', async () => {}, { name: 'JournalError', outcome: 'not_sent', retryable: false }],
  [
    'that cannot sync',
    () => Promise.reject(new Error('the primary is away')),
    { message: 'the primary is away' },
  ],
])('never uses an embedded replica %s', async (_what, sync, failure) => {
  const use = vi.fn(() => Promise.reject(new Error('the replica was used')));
  const client = { protocol: 'file', sync, batch: use, transaction: use, executeMultiple: use };
  const store = openHandleStore(fromLibsql(client));
  const { insert, list, claimDue } = listSteps(store);
  for (const step of [insert, list, claimDue, insert])
    expect(await catchError(Promise.resolve(step()))).toMatchObject(failure);
  expect(use).not.toHaveBeenCalled();
});

test('refuses a transaction, and what is no client', () => {
  const client = createServerClient(openMemory(), () => {});
  expect(() => fromLibsql(Object.assign({ ...client }, { commit: async () => {} }))).toThrow(
    'was given a Transaction',
  );
  const others = [{ ...client, protocol: 'memory' }, { ...client, batch: undefined }, {}, undefined];
  for (const other of others)
    expect(() => Reflect.apply(fromLibsql, undefined, [other])).toThrow('fromLibsql takes a client');
});

describe('a server', () => {
  test('runs each step as one batch that only a primary runs', async () => {
    const batches: { statements: readonly string[]; mode: string }[] = [];
    const client = createServerClient(openMemory(), (statements, mode) => batches.push({ statements, mode }));
    const store = openHandleStore(fromLibsql(client));
    await store.write('order-1', firstWrite({ dueAt: 1 }));
    batches.length = 0;
    await store.read('order-1');
    await store.list(listAll);
    await listSteps(store).claimDue();
    expect(batches.map(({ mode }) => mode)).toEqual(['write', 'write', 'write']);
    // A replica would run a batch of SELECT alone.
    for (const { statements } of batches)
      expect(statements.filter((sql) => !/^\s*SELECT/.test(sql))).not.toEqual([]);
  });

  test('is asked again while it is busy', async () => {
    let busy = 3;
    const client = createServerClient(openMemory(), () => {
      if (--busy >= 0) throw new Error('SQLITE_BUSY: database is locked');
    });
    expect(await openHandleStore(fromLibsql(client)).write('order-1', firstWrite())).toBe(true);
  });
});

describe('a file', () => {
  test('is in WAL mode, and syncs each commit to the disk', async () => {
    const levels: unknown[] = [];
    const { connect, store, readKeys } = openFile((connection) =>
      levels.push(connection.prepare('PRAGMA synchronous').get()?.synchronous),
    );
    await store.write('order-1', firstWrite());
    await store.write('order-2', firstWrite());
    expect(readKeys()).toEqual(['order-1', 'order-2']);
    expect(new Set(levels)).toEqual(new Set([2]));
    expect(connect().prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  });

  test('is not written before it is in WAL mode', async () => {
    const { client, connect } = openFile();
    const executeMultiple = vi.fn(client.executeMultiple).mockRejectedValueOnce(new Error('disk I/O error'));
    const store = openHandleStore(fromLibsql({ ...client, executeMultiple }));
    const write = () => store.write('order-1', firstWrite());
    expect(await catchError(write())).toMatchObject({ message: 'disk I/O error' });
    expect(await write()).toBe(true);
    expect(connect().prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  });

  test('is locked before anything is read for a write', async () => {
    let locks = 0;
    const { store } = openFile((_, connect) => {
      try {
        connect().exec('BEGIN IMMEDIATE');
      } catch {
        locks += 1;
      }
    });
    await store.write('order-1', firstWrite());
    // The table is missing at first: write, schema, write.
    expect(locks).toBe(3);
  });

  test('has one write at a time, also after one that failed, whose transaction ends', async () => {
    let fails = false;
    const { open, readKeys, store } = openFile(() => {
      if (fails) throw new Error('the disk is full');
    });
    await store.write('order-0', firstWrite());
    fails = true;
    expect(await catchError(store.write('order-1', firstWrite()))).toMatchObject({
      message: 'the disk is full',
    });
    fails = false;
    expect(open.now).toBe(0);
    await Promise.all(['order-2', 'order-3', 'order-4'].map((key) => store.write(key, firstWrite())));
    expect(open).toEqual({ now: 0, most: 1 });
    expect(readKeys()).toEqual(['order-0', 'order-2', 'order-3', 'order-4']);
  });
});
