import { expect, test } from 'vitest';
import { type DurableObjectSqlStorage, fromDurableObject } from '../../../src/stores/sqlite/index.ts';
import { buildSchema } from '../../../src/stores/sqlite/table.ts';
import { turns } from '../../helpers/fake-timers.ts';
import { catchError } from '../../helpers/service.ts';
import { openHandleStore, TABLE, useSqliteFile } from '../../helpers/sqlite-stores.ts';
import { REFUSED } from '../../helpers/store-suite.ts';
import { firstWrite } from '../../helpers/store-writes.ts';

/** A storage with the transactions of workerd: it begins its own before a write, and sync() commits that. */
function openStorage() {
  const connect = useSqliteFile();
  const database = connect();
  database.exec(`${buildSchema(TABLE).join(';')}; CREATE TABLE orders (id TEXT)`);
  let isOwn = false;
  const begin = () => {
    if (database.isTransaction) return;
    database.exec('BEGIN');
    isOwn = true;
  };
  const exec: DurableObjectSqlStorage['sql']['exec'] = (query, ...values) => {
    if (/^\s*(?:INSERT|UPDATE|DELETE)/.test(query)) begin();
    const rows = database.prepare(query).all(...values);
    return { toArray: () => rows };
  };
  const storage: DurableObjectSqlStorage = {
    sql: { exec },
    transactionSync(closure) {
      begin();
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

test('returns what it read only once sync() has confirmed it', async () => {
  const { storage } = openStorage();
  const synced = Promise.withResolvers<void>();
  const store = openHandleStore(fromDurableObject({ ...storage, sync: () => synced.promise }));
  let isRead = false;
  const reading = store.read('order-1').finally(() => {
    isRead = true;
  });
  await turns();
  expect(isRead).toBe(false);
  synced.reject(new Error('the disk is gone'));
  expect(await catchError(reading)).toMatchObject({ message: 'the disk is gone' });
});

test("ends a write once sync() has committed it, and the runtime's own transaction before", async () => {
  const { store, storage, readKept } = openStorage();
  expect(await store.write('order-1', firstWrite())).toBe(true);
  expect(readKept()).toEqual(['order-1']);
  storage.sql.exec("INSERT INTO orders VALUES ('17')");
  expect(await store.write('order-2', firstWrite())).toBe(true);
  expect(readKept()).toEqual(['order-1', 'order-2']);
});

test('writes all statements of a step, or none', async () => {
  const { storage, readKept } = openStorage();
  const insert = `INSERT INTO ${TABLE} (key, version, record) VALUES ('order-1', 'v1', '{}')`;
  const statements = [insert, insert].map((sql) => ({ sql, values: [] }));
  expect(String(await catchError(fromDurableObject(storage).batch(statements)))).toContain('UNIQUE');
  await storage.sync();
  expect(readKept()).toEqual([]);
});

test.each([0, 1])('writes nothing inside a transaction with deferred foreign keys %s', async (deferred) => {
  const { store, database } = openStorage();
  database.exec(`BEGIN; PRAGMA defer_foreign_keys = ${deferred}`);
  expect(await catchError(store.write('order-1', firstWrite()))).toMatchObject(REFUSED);
  expect(database.prepare('PRAGMA defer_foreign_keys').get()).toEqual({ defer_foreign_keys: deferred });
  expect(database.prepare(`SELECT key FROM ${TABLE}`).all()).toEqual([]);
  database.exec('ROLLBACK');
  expect(await store.write('order-1', firstWrite())).toBe(true);
});

test('writes nothing if the storage does not show its transactions', async () => {
  const { storage, readKept } = openStorage();
  const exec: DurableObjectSqlStorage['sql']['exec'] = (query, ...values) =>
    query.includes('pragma_defer_foreign_keys') ? { toArray: () => [] } : storage.sql.exec(query, ...values);
  const store = openHandleStore(fromDurableObject({ ...storage, sql: { exec } }));
  expect(String(await catchError(store.write('order-1', firstWrite())))).toContain('does not show');
  expect(readKept()).toEqual([]);
});
