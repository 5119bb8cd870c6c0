import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { fromLibsql, type LibsqlClient } from '../../../src/journal/sqlite.ts';
import { createFileClient, createServerClient } from '../../helpers/fake-libsql.ts';
import { catchError } from '../../helpers/service.ts';
import { firstWrite, openHandleStore, useSqliteFile } from '../../helpers/sqlite-stores.ts';

const DUE = { kind: 'key', limit: 10, lease: 1_000 } as const;

describe('an embedded replica', () => {
  const openReplica = (sync: LibsqlClient['sync']) => {
    const use = vi.fn(() => Promise.reject(new Error('the replica was used')));
    const client = { protocol: 'file', sync, batch: use, transaction: use, executeMultiple: use };
    return { store: openHandleStore(fromLibsql(client)), use };
  };

  test('is not used, however often it is called', async () => {
    // Only an embedded replica has something to be synced with.
    const { store, use } = openReplica(async () => {});
    for (const _call of [1, 2, 3])
      for (const error of [
        await catchError(store.read('order-1')),
        await catchError(store.write('order-1', firstWrite())),
        await catchError(store.claimDue(DUE)),
      ])
        expect(error).toMatchObject({
          name: 'JournalError',
          outcome: 'not_sent',
          retryable: false,
          message: expect.stringContaining('embedded replica'),
        });
    expect(use).not.toHaveBeenCalled();
  });

  test('is not used while it cannot sync', async () => {
    const { store, use } = openReplica(() => Promise.reject(new Error('the primary is away')));
    expect(await catchError(store.read('order-1'))).toMatchObject({ message: 'the primary is away' });
    expect(use).not.toHaveBeenCalled();
  });
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

function openMemory(): DatabaseSync {
  const database = new DatabaseSync(':memory:');
  onTestFinished(() => database.close());
  return database;
}

describe('a server', () => {
  test('runs each step as one batch that only a primary runs', async () => {
    const batches: { statements: readonly string[]; mode: string }[] = [];
    const client = createServerClient(openMemory(), (statements, mode) => batches.push({ statements, mode }));
    const store = openHandleStore(fromLibsql(client));
    await store.write('order-1', firstWrite({ dueAt: 1 }));
    batches.length = 0;
    await store.read('order-1');
    await store.list({ by: 'createdAt', after: null, limit: 10 });
    await store.claimDue(DUE);
    expect(batches.map(({ mode }) => mode)).toEqual(['write', 'write', 'write']);
    // A replica would run a batch of SELECT alone.
    for (const { statements } of batches)
      expect(statements.filter((sql) => !/^\s*SELECT/.test(sql))).not.toEqual([]);
  });

  test('is asked again while it is busy', async () => {
    const database = openMemory();
    let busy = 3;
    const client = createServerClient(database, () => {
      if (--busy >= 0) throw new Error('SQLITE_BUSY: database is locked');
    });
    const store = openHandleStore(fromLibsql(client));
    expect(await store.write('order-1', firstWrite())).toBe(true);
    expect(await store.read('order-1')).toMatchObject({ record: { version: 'v1' } });
  });
});

describe('a file', () => {
  const open = (onBatch?: (connection: DatabaseSync, connect: () => DatabaseSync) => void) => {
    const connect = useSqliteFile();
    const client = createFileClient(connect, (connection) => onBatch?.(connection, connect));
    return { connect, client, store: openHandleStore(fromLibsql(client)) };
  };
  const readKeys = (database: DatabaseSync) =>
    database
      .prepare('SELECT key FROM payments_journal ORDER BY key')
      .all()
      .map(({ key }) => key);

  test('has a record committed once its write resolves', async () => {
    const { connect, store } = open();
    await store.write('order-1', firstWrite());
    expect(readKeys(connect())).toEqual(['order-1']);
  });

  test('is in WAL mode, and syncs each commit to the disk', async () => {
    const levels: unknown[] = [];
    const { connect, store } = open((connection) =>
      levels.push(connection.prepare('PRAGMA synchronous').get()?.synchronous),
    );
    await store.write('order-1', firstWrite());
    await store.write('order-2', firstWrite());
    expect(new Set(levels)).toEqual(new Set([2]));
    expect(connect().prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  });

  test('is locked before anything is read for a write', async () => {
    let locks = 0;
    const { store } = open((_, connect) => {
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

  test('has one write at a time', async () => {
    const { client, connect, store } = open();
    await store.write('order-0', firstWrite());
    await Promise.all(['order-1', 'order-2', 'order-3'].map((key) => store.write(key, firstWrite())));
    expect(client.open).toEqual({ now: 0, most: 1 });
    expect(readKeys(connect())).toEqual(['order-0', 'order-1', 'order-2', 'order-3']);
  });

  test('takes writes after one that failed, whose transaction ends', async () => {
    let fails = false;
    const { client, connect, store } = open(() => {
      if (fails) throw new Error('the disk is full');
    });
    await store.write('order-1', firstWrite());
    fails = true;
    expect(await catchError(store.write('order-2', firstWrite()))).toMatchObject({
      message: 'the disk is full',
    });
    fails = false;
    expect(client.open.now).toBe(0);
    expect(await store.write('order-3', firstWrite())).toBe(true);
    expect(readKeys(connect())).toEqual(['order-1', 'order-3']);
  });
});
