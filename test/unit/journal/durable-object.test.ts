import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { type DurableObjectSqlStorage, fromDurableObject } from '../../../src/journal/sqlite.ts';
import { buildSchema } from '../../../src/journal/sqlite-table.ts';
import { turns } from '../../helpers/fake-timers.ts';
import { catchError } from '../../helpers/service.ts';
import { openHandleStore, TABLE } from '../../helpers/sqlite-stores.ts';

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
