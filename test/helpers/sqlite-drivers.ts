/** What each driver of SQLite is tried with: that of Node, and others in test/e2e/databases. */

import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { SqliteDatabase } from '../../src/journal/sqlite.ts';
import { catchError } from './service.ts';
import { openStore } from './sqlite-stores.ts';
import { describeTransactions } from './store-suite.ts';
import { claimKeys, firstWrite, listAll, listAttention } from './store-writes.ts';
import { createTempFolder } from './temp-folder.ts';

interface Driver<Database extends SqliteDatabase> {
  open(file: string): Database;
  close(database: Database): void;
  /** Returns the first column of what a pragma returns. */
  readPragma(database: Database, name: string): unknown;
  openBigInts(file: string): Database;
  openArrays(file: string): SqliteDatabase;
}

export function describeDriver<Database extends SqliteDatabase>(driver: Driver<Database>): void {
  const openFile = () => {
    const folder = createTempFolder();
    const file = join(folder.path, 'payments.db');
    const open: Database[] = [];
    onTestFinished(() => {
      for (const database of open) driver.close(database);
      folder.remove();
    });
    const connect = (openIt = driver.open) => {
      const database = openIt(file);
      open.push(database);
      return database;
    };
    return { file, connect };
  };

  describeTransactions('a connection', () => {
    const { connect } = openFile();
    const database = connect();
    return { store: openStore(database), run: (sql) => database.exec(sql), witness: openStore(connect()) };
  }, ['BEGIN', 'BEGIN IMMEDIATE', 'SAVEPOINT mine']);

  test('sets WAL mode, and syncs each commit to disk, from the first write on', async () => {
    const database = openFile().connect();
    const read = () => ['journal_mode', 'synchronous'].map((name) => driver.readPragma(database, name));
    database.exec('CREATE TABLE orders (id TEXT); PRAGMA synchronous = NORMAL');
    const store = openStore(database);
    await store.read('key 17');
    await store.claimDue(claimKeys);
    await store.countDue(claimKeys);
    expect(read().map(Number)).toEqual([Number.NaN, 1]);
    expect(read()[0]).toBe('delete');
    await store.write('key 17', firstWrite());
    expect(read()[0]).toBe('wal');
    expect(Number(read()[1])).toBe(2);
  });

  test('works with integers as BigInts', async () => {
    const store = openStore(openFile().connect(driver.openBigInts));
    const record = { key: 'key 17', version: 'v1', text: '{}' };
    await store.write('key 17', firstWrite({ createdAt: 5, attentionAt: 6, dueAt: 7 }));
    expect(await store.read('key 18')).toEqual({ record: null, now: expect.any(Number) });
    expect(await store.list(listAttention)).toEqual([{ ...record, at: 6 }]);
    expect(await store.count()).toEqual({ records: 1, attention: 1 });
    expect(await store.countDue(claimKeys)).toEqual({ due: 1, nextIn: null });
    expect(await store.claimDue(claimKeys)).toEqual({
      records: [{ ...record, at: 7 }],
      now: expect.any(Number),
    });
  });

  test('fails with unknown on rows that are arrays', async () => {
    const { file, connect } = openFile();
    await openStore(connect()).write('key 17', firstWrite({ attentionAt: 1, dueAt: 1 }));
    const store = openStore(driver.openArrays(file));
    for (const step of [
      () => store.read('key 17'),
      () => store.read('key 18'),
      () => store.list(listAll),
      () => store.count(),
      () => store.claimDue(claimKeys),
      () => store.countDue(claimKeys),
    ])
      expect(await catchError(step())).toMatchObject({
        name: 'JournalError',
        outcome: 'unknown',
        retryable: false,
        message: expect.stringContaining('Turn off returnArrays or raw()'),
      });
  });

  test('rejects on a read-only or closed database', async () => {
    const database = openFile().connect();
    const store = openStore(database);
    await store.write('key 16', firstWrite());
    database.exec('PRAGMA query_only = ON');
    expect(String(await catchError(store.write('key 17', firstWrite())))).toContain('readonly');
    driver.close(database);
    expect(await catchError(store.read('key 17'))).toBeInstanceOf(Error);
    expect(await catchError(store.write('key 17', firstWrite()))).toBeInstanceOf(Error);
  });
}
