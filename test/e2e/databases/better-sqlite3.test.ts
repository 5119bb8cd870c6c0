import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import type { Journal, JournalOptions } from '../../../src/journal/index.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { claimKey, completeKey, countDue, tryClaim } from '../../helpers/claims.ts';
import { claimDueKeys, listKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';
import { startCountingService } from './counting-service.ts';
import { database } from './kinds/better-sqlite3.ts';
import { chargeOrder, createClient } from './shop.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('better-sqlite3', database, { statementsOf: 'sqlite' });

function openFile(options?: JournalOptions): { handle: Database.Database; journal: Journal } {
  const folder = createTempFolder();
  const handle = new Database(join(folder.path, 'payments.db'));
  onTestFinished(() => {
    handle.close();
    folder.remove();
  });
  return { handle, journal: sqliteJournal(handle, options) };
}

test('sets WAL mode, and syncs each commit to disk', async () => {
  const { handle, journal } = openFile();
  handle.pragma('synchronous = NORMAL');
  await claimKey(journal, 'order-1');
  expect(handle.pragma('synchronous', { simple: true })).toBe(2);
  expect(handle.pragma('journal_mode', { simple: true })).toBe('wal');
});

test('sends nothing inside a transaction, and charges after it', async () => {
  const service = await startCountingService();
  onTestFinished(() => service.stop());
  const { handle, journal } = openFile();
  const payments = createClient({ baseUrl: service.baseUrl, journal });
  onTestFinished(() => payments.close());
  await chargeOrder(payments, 'order-0');
  handle.exec('BEGIN');
  expect(await catchError(chargeOrder(payments, 'order-1'))).toMatchObject({
    name: 'JournalError',
    outcome: 'not_sent',
    message: expect.stringContaining('inside a transaction'),
  });
  expect(await catchError(claimDueKeys(journal))).toMatchObject({ name: 'JournalError' });
  handle.exec('COMMIT');
  expect(service.chargesFor('order-1')).toEqual([]);
  expect(await chargeOrder(payments, 'order-1')).toBe('TXN-order-1-1');
});

test('reads and resolves as a part of a transaction', async () => {
  const { handle, journal } = openFile();
  await completeKey(journal, 'order-1', { state: 'unknown' });
  handle.exec('BEGIN');
  await journal.resolve('order-1', 'not_charged', note);
  expect(await journal.read('order-1')).toMatchObject({ state: 'not_charged' });
  handle.exec('ROLLBACK');
  expect(await journal.read('order-1')).toMatchObject({ state: 'unknown' });
});

test('works with integers as BigInts', async () => {
  const { handle, journal } = openFile();
  handle.defaultSafeIntegers();
  const claim = await claimKey(journal, 'order-1');
  expect(await countDue(journal)).toEqual({
    due: 0,
    nextIn: expect.closeTo(10_000, -4),
  });
  await getJournalCore(journal).complete(claim, { state: 'unknown' });
  expect(await journal.read('order-1')).toMatchObject({ state: 'unknown' });
  expect(await listKeys(journal, { state: 'unknown' })).toEqual(['order-1']);
  expect(await journal.count()).toMatchObject({ unknown: 1 });
  expect(await claimDueKeys(journal)).toEqual(['order-1']);
});

test('fails with unknown if statements return rows as arrays', async () => {
  const { handle, journal } = openFile();
  await completeKey(journal, 'order-1', { state: 'not_sent' });
  const raw = sqliteJournal({
    exec: (sql) => handle.exec(sql),
    prepare(sql) {
      const statement = handle.prepare(sql);
      return statement.reader ? statement.raw() : statement;
    },
  });
  for (const failure of [
    await catchError(tryClaim(raw, 'order-1')),
    await catchError(raw.read('order-1')),
    await catchError(raw.count()),
  ])
    expect(failure).toMatchObject({
      name: 'JournalError',
      outcome: 'unknown',
      retryable: false,
      message: expect.stringContaining('Turn off returnArrays or raw()'),
    });
  expect(await journal.read('order-1')).toMatchObject({ state: 'not_sent' });
});

test('charges nothing on a closed or read-only database', async () => {
  const { handle, journal } = openFile();
  await claimKey(journal, 'order-1');
  handle.pragma('query_only = ON');
  const refused = { name: 'JournalError', outcome: 'not_sent', retryable: true };
  expect(await catchError(tryClaim(journal, 'order-2'))).toMatchObject(refused);
  handle.close();
  expect(await catchError(tryClaim(journal, 'order-2'))).toMatchObject(refused);
});
