import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { claimDueKeys } from '../../helpers/listed-keys.ts';
import { catchError } from '../../helpers/service.ts';
import { firstWrite, openStore } from '../../helpers/sqlite-stores.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';
import { startCountingService } from './counting-service.ts';
import { database } from './kinds/better-sqlite3.ts';
import { chargeOrder, createClient } from './shop.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('better-sqlite3', database, { statementsOf: 'sqlite' });

const DUE = { kind: 'key', limit: 10, lease: 60_000 } as const;

function openFile() {
  const folder = createTempFolder();
  const handle = new Database(join(folder.path, 'payments.db'));
  onTestFinished(() => {
    handle.close();
    folder.remove();
  });
  return { handle, store: openStore(handle) };
}

test('sets WAL mode, and syncs each commit to disk', async () => {
  const { handle, store } = openFile();
  handle.pragma('synchronous = NORMAL');
  await store.write('order-1', firstWrite());
  expect(handle.pragma('synchronous', { simple: true })).toBe(2);
  expect(handle.pragma('journal_mode', { simple: true })).toBe('wal');
});

test('sends nothing inside a transaction, and charges after it', async () => {
  const service = await startCountingService();
  onTestFinished(() => service.stop());
  const { handle } = openFile();
  const journal = sqliteJournal(handle);
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

test('writes as a part of a transaction what must not be committed', async () => {
  const { handle, store } = openFile();
  await store.write('order-1', firstWrite());
  handle.exec('BEGIN');
  const change = { expected: 'v1', version: 'v2' };
  expect(String(await catchError(store.write('order-1', firstWrite({}, change))))).toContain(
    'inside a transaction',
  );
  expect(await store.write('order-1', firstWrite({}, { ...change, mustCommit: false }))).toBe(true);
  expect(await store.read('order-1')).toMatchObject({ record: { version: 'v2' } });
  handle.exec('ROLLBACK');
  expect(await store.read('order-1')).toMatchObject({ record: { version: 'v1' } });
});

test('works with integers as BigInts', async () => {
  const { handle, store } = openFile();
  handle.defaultSafeIntegers();
  const record = { key: 'order-1', version: 'v1', text: '{}' };
  await store.write('order-1', firstWrite({ createdAt: 5, attentionAt: 6, dueAt: 7 }));
  expect(await store.read('order-2')).toEqual({ record: null, now: expect.any(Number) });
  expect(await store.list({ by: 'attentionAt', after: null, limit: 10 })).toEqual([{ ...record, at: 6 }]);
  expect(await store.count()).toEqual({ records: 1, attention: 1 });
  expect(await store.countDue(DUE)).toEqual({ due: 1, nextIn: null });
  expect(await store.claimDue(DUE)).toEqual({ records: [{ ...record, at: 7 }], now: expect.any(Number) });
});

test('fails with unknown if statements return rows as arrays', async () => {
  const { handle, store } = openFile();
  await store.write('order-1', firstWrite());
  const raw = openStore({
    exec: (sql) => handle.exec(sql),
    prepare(sql) {
      const statement = handle.prepare(sql);
      return statement.reader ? statement.raw() : statement;
    },
  });
  for (const failure of [
    await catchError(raw.read('order-1')),
    await catchError(raw.read('order-2')),
    await catchError(raw.count()),
    await catchError(raw.claimDue(DUE)),
  ])
    expect(failure).toMatchObject({
      name: 'JournalError',
      outcome: 'unknown',
      retryable: false,
      message: expect.stringContaining('Turn off returnArrays or raw()'),
    });
});

test('writes nothing on a closed or read-only database', async () => {
  const { handle, store } = openFile();
  await store.write('order-1', firstWrite());
  handle.pragma('query_only = ON');
  expect(String(await catchError(store.write('order-2', firstWrite())))).toContain('readonly');
  handle.close();
  expect(String(await catchError(store.write('order-2', firstWrite())))).toContain('not open');
});
