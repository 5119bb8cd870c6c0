import { expect, test } from 'vitest';
import type { SqliteDatabase } from '../../../src/journal/sqlite.ts';
import { catchError } from '../../helpers/service.ts';
import { firstWrite, openStore, useSqliteFile } from '../../helpers/sqlite-stores.ts';

const FULL = 2;
const NORMAL = 1;
const DUE = { kind: 'key', limit: 10, lease: 60_000 } as const;
const due = firstWrite({ dueAt: 1 });

/** A store in a file, and how durable each of its commits was. `failNext` makes a statement fail. */
function openWatched() {
  const database = useSqliteFile()();
  const readLevel = () => database.prepare('PRAGMA synchronous').get()?.synchronous;
  const commits: unknown[] = [];
  let failing: RegExp | undefined;
  const watched: SqliteDatabase = {
    exec(sql) {
      if (/^COMMIT/.test(sql)) commits.push(readLevel());
      database.exec(sql);
    },
    prepare(sql) {
      const isFailing = failing?.test(sql);
      failing = isFailing ? undefined : failing;
      if (isFailing) throw new Error('disk I/O error');
      return database.prepare(sql);
    },
  };
  const failNext = (statement: RegExp) => {
    failing = statement;
  };
  return { store: openStore(watched), database, watched, commits, readLevel, failNext };
}

test('waits for the disk at each record, and at no lease of a follow-up', async () => {
  const { store, commits, readLevel } = openWatched();
  await store.write('order-17', due);
  // The table is made by a commit of its own.
  expect(commits.splice(0)).toEqual([FULL, FULL]);
  expect((await store.claimDue(DUE)).records).toHaveLength(1);
  expect(commits.splice(0)).toEqual([NORMAL]);
  expect(readLevel()).toBe(FULL);
  await store.write('order-18', due);
  await store.delete([{ key: 'order-18', version: 'v1' }]);
  expect(commits).toEqual([FULL, FULL]);
});

test('waits for the disk at the first record after a lease', async () => {
  const { store, watched, database, commits } = openWatched();
  await store.write('order-17', due);
  database.exec('PRAGMA synchronous = OFF');
  commits.length = 0;
  const restarted = openStore(watched);
  expect((await restarted.claimDue(DUE)).records).toHaveLength(1);
  await restarted.write('order-18', due);
  expect(commits.at(-1)).toBe(FULL);
});

test('waits for the disk again after a lease that failed', async () => {
  const { store, commits, readLevel, failNext } = openWatched();
  await store.write('order-17', due);
  failNext(/UPDATE .*due_at/);
  expect(String(await catchError(store.claimDue(DUE)))).toContain('disk I/O error');
  expect(readLevel()).toBe(FULL);
  commits.splice(0);
  await store.write('order-18', due);
  expect(commits).toEqual([FULL]);
});

test('claims nothing inside a transaction of the merchant', async () => {
  const { store, database, readLevel, commits } = openWatched();
  await store.write('order-17', due);
  database.exec('BEGIN');
  expect(await catchError(store.claimDue(DUE))).toMatchObject({ code: 'journal_error' });
  database.exec('ROLLBACK');
  expect(readLevel()).toBe(FULL);
  commits.length = 0;
  expect((await store.claimDue(DUE)).records).toHaveLength(1);
  await store.write('order-18', due);
  expect(commits.at(-1)).toBe(FULL);
});
