import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import {
  type DurableObjectSqlStorage,
  fromDurableObject,
  sqliteJournal,
} from '../../../src/journal/sqlite.ts';
import { turns } from '../../helpers/fake-timers.ts';
import { catchError } from '../../helpers/service.ts';

/** The storage of a Durable Object, on `node:sqlite`. */
function openStorage(sync: () => Promise<void>): DurableObjectSqlStorage {
  const database = new DatabaseSync(':memory:');
  onTestFinished(() => database.close());
  database.exec('CREATE TABLE payments_journal (key, version, record, written_at)');
  return {
    sql: { exec: (query, ...values) => ({ toArray: () => database.prepare(query).all(...values) }) },
    transactionSync: (closure) => closure(),
    sync,
  };
}

test('returns what it read only once sync() has confirmed it', async () => {
  const synced = Promise.withResolvers<void>();
  let isRead = false;
  const reading = sqliteJournal(fromDurableObject(openStorage(() => synced.promise)))
    .read('order-1')
    .finally(() => {
      isRead = true;
    });
  await turns();
  expect(isRead).toBe(false);
  synced.resolve();
  expect(await reading).toBe(null);
});

test('returns nothing that it read if sync() fails', async () => {
  const storage = openStorage(() => Promise.reject(new Error('the disk is gone')));
  const error = await catchError(sqliteJournal(fromDurableObject(storage)).read('order-1'));
  expect(error).toMatchObject({ name: 'JournalError', message: expect.stringContaining('the disk is gone') });
});
