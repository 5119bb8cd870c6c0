import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type DurableObjectSqlStorage, fromDurableObject } from '../../../src/journal/sqlite.ts';
import { buildSchema } from '../../../src/journal/sqlite-table.ts';
import { turns } from '../../helpers/fake-timers.ts';
import { catchError } from '../../helpers/service.ts';
import { firstWrite, openHandleStore, TABLE, useSqliteFile } from '../../helpers/sqlite-stores.ts';

/** The storage of a Durable Object, on `node:sqlite`. */
function openStorage(sync: () => Promise<void>): DurableObjectSqlStorage {
  const database = new DatabaseSync(':memory:');
  onTestFinished(() => database.close());
  database.exec(buildSchema(TABLE).join(';'));
  return {
    sql: { exec: (query, ...values) => ({ toArray: () => database.prepare(query).all(...values) }) },
    transactionSync: (closure) => closure(),
    sync,
  };
}

test('returns what it read only once sync() has confirmed it', async () => {
  const synced = Promise.withResolvers<void>();
  let isRead = false;
  const reading = openHandleStore(fromDurableObject(openStorage(() => synced.promise)))
    .read('order-1')
    .finally(() => {
      isRead = true;
    });
  await turns();
  expect(isRead).toBe(false);
  synced.resolve();
  expect(await reading).toMatchObject({ record: null });
});

test('returns nothing that it read if sync() fails', async () => {
  const storage = openStorage(() => Promise.reject(new Error('the disk is gone')));
  const error = await catchError(openHandleStore(fromDurableObject(storage)).read('order-1'));
  expect(error).toMatchObject({ message: 'the disk is gone' });
});

/** A storage with the transactions of workerd: it begins its own before a write, and sync() commits that. */
function openTransactions() {
  const connect = useSqliteFile();
  const database = connect();
  database.exec(`${buildSchema(TABLE).join(';')}; CREATE TABLE orders (id TEXT)`);
  let isOwn = false;
  const exec: DurableObjectSqlStorage['sql']['exec'] = (query, ...values) => {
    if (!database.isTransaction && /^\s*(?:INSERT|UPDATE|DELETE)/.test(query)) {
      database.exec('BEGIN');
      isOwn = true;
    }
    const rows = database.prepare(query).all(...values);
    return { toArray: () => rows };
  };
  const storage: DurableObjectSqlStorage = {
    sql: { exec },
    transactionSync(closure) {
      if (!database.isTransaction) {
        database.exec('BEGIN');
        isOwn = true;
      }
      database.exec('SAVEPOINT closure');
      try {
        const result = closure();
        database.exec('RELEASE closure');
        return result;
      } catch (error) {
        database.exec('ROLLBACK TO closure; RELEASE closure');
        throw error;
      }
    },
    async sync() {
      await turns(1);
      if (isOwn) database.exec('COMMIT');
      isOwn = false;
    },
  };
  return {
    database,
    storage,
    store: openHandleStore(fromDurableObject(storage)),
    /** What a crash would leave. */
    readKept: () =>
      connect()
        .prepare(`SELECT key FROM ${TABLE}`)
        .all()
        .map(({ key }) => key),
  };
}

test('ends a write once sync() has committed it', async () => {
  const { store, readKept } = openTransactions();
  expect(await store.write('order-1', firstWrite())).toBe(true);
  expect(readKept()).toEqual(['order-1']);
});

test("commits the runtime's own transaction before a write", async () => {
  const { store, storage, readKept } = openTransactions();
  storage.sql.exec("INSERT INTO orders VALUES ('17')");
  expect(await store.write('order-1', firstWrite())).toBe(true);
  expect(readKept()).toEqual(['order-1']);
});

test('writes all statements of a step, or none', async () => {
  const { storage, readKept } = openTransactions();
  const insert = `INSERT INTO ${TABLE} (key, version, record) VALUES ('order-1', 'v1', '{}')`;
  const statements = [insert, insert].map((sql) => ({ sql, values: [] }));
  const { batch } = fromDurableObject(storage);
  expect(String(await catchError(batch(statements)))).toContain('UNIQUE');
  await storage.sync();
  expect(readKept()).toEqual([]);
});

describe('inside a transaction of the merchant', () => {
  test('writes nothing', async () => {
    const { store, database } = openTransactions();
    database.exec('BEGIN');
    expect(await catchError(store.write('order-1', firstWrite()))).toMatchObject({
      name: 'JournalError',
      outcome: 'not_sent',
      retryable: true,
      message: expect.stringContaining('inside a transaction'),
    });
    expect(database.prepare(`SELECT key FROM ${TABLE}`).all()).toEqual([]);
    database.exec('ROLLBACK');
    expect(await store.write('order-1', firstWrite())).toBe(true);
  });

  test.each([0, 1])('leaves foreign keys as they are: deferred %s', async (deferred) => {
    const { store, database } = openTransactions();
    database.exec(`BEGIN; PRAGMA defer_foreign_keys = ${deferred}`);
    await catchError(store.write('order-1', firstWrite()));
    expect(database.prepare('PRAGMA defer_foreign_keys').get()).toEqual({ defer_foreign_keys: deferred });
    database.exec('ROLLBACK');
  });
});

test('writes nothing if the storage does not show its transactions', async () => {
  const { storage, readKept } = openTransactions();
  const exec: DurableObjectSqlStorage['sql']['exec'] = (query, ...values) =>
    query.includes('pragma_defer_foreign_keys') ? { toArray: () => [] } : storage.sql.exec(query, ...values);
  const store = openHandleStore(fromDurableObject({ ...storage, sql: { exec } }));
  expect(await catchError(store.write('order-1', firstWrite()))).toMatchObject({
    message: expect.stringContaining('does not show'),
  });
  expect(readKept()).toEqual([]);
});
