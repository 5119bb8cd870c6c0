/** What each driver of SQLite is tried with: that of Node, and others in test/e2e/databases. */

import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { SqliteDatabase } from '../../src/stores/sqlite/index.ts';
import { catchError } from './service.ts';
import { openStore } from './sqlite-stores.ts';
import { describeTransactions, listSteps, type WholeStore } from './store-suite.ts';
import { claimKeys, firstWrite, listAttention } from './store-writes.ts';
import { createTempFolder } from './temp-folder.ts';

/** Tests that a store reads the numbers of its database, whatever their type is. */
export async function expectNumbers({ write, read, list, count, countDue, claimDue }: WholeStore) {
  const record = { key: 'key 17', version: 'v1', text: '{}' };
  const now = expect.any(Number);
  await write('key 17', firstWrite({ createdAt: 5, attentionAt: 6, dueAt: 7 }));
  expect(await read('key 18')).toEqual({ record: null, now });
  expect(await list(listAttention)).toEqual([{ ...record, at: 6 }]);
  expect(await count()).toEqual({ records: 1, attention: 1 });
  expect(await countDue(claimKeys)).toEqual({ due: 1, nextIn: null });
  expect(await claimDue(claimKeys)).toEqual({ records: [{ ...record, at: 7 }], now });
}

interface Driver<Database extends SqliteDatabase> {
  open(file: string): Database;
  close(database: Database): void;
  openBigInts(file: string): Database;
  /** Returns a database whose statements return rows as arrays. */
  toArrays(file: string): { database: Database; arrays: SqliteDatabase };
}

export function describeDriver<Database extends SqliteDatabase>(driver: Driver<Database>): void {
  const openFile = () => {
    const folder = createTempFolder();
    const open: Database[] = [];
    onTestFinished(() => {
      for (const database of open) driver.close(database);
      folder.remove();
    });
    const keep = (database: Database) => {
      open.push(database);
      return database;
    };
    const file = join(folder.path, 'payments.db');
    return { file, keep, connect: () => keep(driver.open(file)) };
  };

  describeTransactions('a connection', () => {
    const { connect } = openFile();
    const database = connect();
    return { store: openStore(database), run: (sql) => database.exec(sql), witness: openStore(connect()) };
  }, ['BEGIN', 'BEGIN IMMEDIATE', 'SAVEPOINT mine']);

  test('sets WAL mode, and syncs each commit to disk, from the first write on', async () => {
    const database = openFile().connect();
    const read = (name: string) => Object.values(Object(database.prepare(`PRAGMA ${name}`).get()))[0];
    const readBoth = () => [read('journal_mode'), Number(read('synchronous'))];
    database.exec('CREATE TABLE orders (id TEXT); PRAGMA synchronous = NORMAL');
    const store = openStore(database);
    await store.read('key 17');
    await store.claimDue(claimKeys);
    await store.countDue(claimKeys);
    expect(readBoth()).toEqual(['delete', 1]);
    await store.write('key 17', firstWrite());
    expect(readBoth()).toEqual(['wal', 2]);
  });

  test('works with integers as BigInts', async () => {
    const { file, keep } = openFile();
    await expectNumbers(openStore(keep(driver.openBigInts(file))));
  });

  test('fails with unknown on rows that are arrays', async () => {
    const { file, keep, connect } = openFile();
    await openStore(connect()).write('key 17', firstWrite({ attentionAt: 1, dueAt: 1 }));
    const { database, arrays } = driver.toArrays(file);
    keep(database);
    const store = openStore(arrays);
    const { list, count, claimDue, countDue } = listSteps(store);
    const [found, none] = ['key 17', 'key 18'].map((key) => () => store.read(key));
    for (const step of [found, none, list, count, claimDue, countDue])
      expect(await catchError(Promise.resolve(step?.()))).toMatchObject({
        name: 'JournalError',
        outcome: 'unknown',
        retryable: false,
        message: expect.stringContaining('Turn off returnArrays or raw()'),
      });
  });
}
