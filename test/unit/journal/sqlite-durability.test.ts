import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { type SqliteDatabase, sqliteJournal } from '../../../src/journal/sqlite.ts';
import { claimKey, completeKey } from '../../helpers/claims.ts';
import { claimDueKeys } from '../../helpers/listed-keys.ts';
import { catchError } from '../../helpers/service.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';

const FULL = 2;
const NORMAL = 1;

/** A journal in a file, and how durable each of its commits was. `failNext` makes a statement fail. */
function openJournal() {
  const folder = createTempFolder();
  const database = new DatabaseSync(`${folder.path}/payments.db`);
  onTestFinished(() => {
    database.close();
    folder.remove();
  });
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
  return { journal: sqliteJournal(watched), database, commits, readLevel, failNext };
}

test('waits for the disk at each record, and at no lease of a follow-up', async () => {
  const { journal, commits, readLevel } = openJournal();
  await completeKey(journal, 'order-17', { state: 'completed', result: { reference: 'TXN-17' } });
  expect(commits.splice(0)).toEqual([FULL, FULL, FULL]);
  expect(await claimDueKeys(journal)).toEqual(['order-17']);
  expect(commits.splice(0)).toEqual([NORMAL]);
  expect(readLevel()).toBe(FULL);
  await claimKey(journal, 'order-18');
  expect(commits).toEqual([FULL]);
});

test('waits for the disk again after a lease that failed', async () => {
  const { journal, commits, readLevel, failNext } = openJournal();
  await claimKey(journal, 'order-17');
  failNext(/UPDATE .*due_at/);
  expect(await catchError(claimDueKeys(journal))).toMatchObject({ code: 'journal_error' });
  expect(readLevel()).toBe(FULL);
  commits.splice(0);
  await claimKey(journal, 'order-18');
  expect(commits).toEqual([FULL]);
});

test('claims nothing inside a transaction of the merchant', async () => {
  const { journal, database, readLevel } = openJournal();
  await claimKey(journal, 'order-17');
  database.exec('BEGIN');
  expect(await catchError(claimDueKeys(journal))).toMatchObject({ code: 'journal_error' });
  database.exec('ROLLBACK');
  expect(readLevel()).toBe(FULL);
});
