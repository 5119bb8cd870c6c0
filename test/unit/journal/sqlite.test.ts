import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { chargeIntent, claimKey } from '../../helpers/claims.ts';
import { claimDueKeys, listKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';

/** Connections to a new file, closed and removed with the test. */
function temporaryDatabase() {
  const folder = createTempFolder();
  const open: DatabaseSync[] = [];
  onTestFinished(() => {
    for (const database of open) if (database.isOpen) database.close();
    folder.remove();
  });
  return (timeout = 0) => {
    const database = new DatabaseSync(join(folder.path, 'payments.db'), { timeout });
    open.push(database);
    return database;
  };
}

describe('sqliteJournal in a file conforms, each handle on its own connection', () => {
  let folder: ReturnType<typeof createTempFolder>;
  beforeAll(() => {
    folder = createTempFolder();
  });
  afterAll(() => folder.remove());

  const cases = journalConformance((options, storage) => {
    const database = new DatabaseSync(join(folder.path, `${storage}.db`));
    return { journal: sqliteJournal(database, options), close: () => database.close() };
  });
  test.each(cases)('$name', ({ run }) => run());
});

describe('sqliteJournal in memory conforms', () => {
  const database = new DatabaseSync(':memory:');
  afterAll(() => database.close());
  const cases = journalConformance((options, table) => sqliteJournal(database, { ...options, table }));
  test.concurrent.each(cases)('$name', ({ run }) => run());
});

test('sets WAL mode, and syncs each commit to disk', async () => {
  const database = temporaryDatabase()();
  await claimKey(sqliteJournal(database), 'order-17');
  expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  expect(database.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 });
});

test('waits for a locked file without blocking the process', async () => {
  const open = temporaryDatabase();
  const journal = sqliteJournal(open());
  await claimKey(journal, 'order-16');
  const other = open();
  other.exec('BEGIN IMMEDIATE');
  let turns = 0;
  let claimed = false;
  const claiming = getJournalCore(journal)
    .claim('order-17', chargeIntent)
    .then((result) => {
      claimed = true;
      return result;
    });
  while (turns < 5) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(claimed).toBe(false);
    turns++;
  }
  other.exec('COMMIT');
  expect(await claiming).toMatchObject({ state: 'claimed' });
});

test('refuses to charge inside a transaction, and records nothing', async () => {
  const database = temporaryDatabase()();
  const journal = sqliteJournal(database);
  const claim = await claimKey(journal, 'order-17');
  for (const open of ['BEGIN', 'BEGIN IMMEDIATE', 'SAVEPOINT mine']) {
    database.exec(open);
    const refusals = [
      await catchError(getJournalCore(journal).claim('order-18', chargeIntent)),
      await catchError(getJournalCore(journal).renew(claim)),
      await catchError(getJournalCore(journal).complete(claim, { state: 'not_sent' })),
    ];
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: true });
      expect(String(refusal)).toContain('inside a transaction');
    }
    database.exec('COMMIT');
    expect(await journal.read('order-18')).toBeNull();
    expect(await journal.read('order-17')).toMatchObject({ state: 'begun' });
  }
});

test.each(['a journal in use', 'a new journal'])(
  'reads and resolves inside a transaction: %s',
  async (which) => {
    const database = temporaryDatabase()();
    const first = sqliteJournal(database);
    const claim = await claimKey(first, 'order-17');
    await getJournalCore(first).complete(claim, { state: 'unknown' });
    const journal = which === 'a new journal' ? sqliteJournal(database) : first;

    database.exec('BEGIN');
    await journal.resolve('order-17', 'not_charged', note);
    expect(await journal.read('order-17')).toMatchObject({ state: 'not_charged' });
    database.exec('ROLLBACK');
    expect(await journal.read('order-17')).toMatchObject({ state: 'unknown' });

    database.exec('BEGIN');
    await journal.resolve('order-17', { reference: 'TXN-found' }, note);
    database.exec('COMMIT');
    expect(await journal.read('order-17')).toMatchObject({ state: 'completed' });
  },
);

test('creates its table again when it was dropped', async () => {
  const database = temporaryDatabase()();
  const journal = sqliteJournal(database);
  await claimKey(journal, 'order-17');
  database.exec('DROP TABLE payments_journal');
  expect(await getJournalCore(journal).claim('order-17', chargeIntent)).toMatchObject({ state: 'claimed' });
  expect(database.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 });
});

test('keeps journals of two tables apart, also with SQL words as names', async () => {
  const database = temporaryDatabase()();
  await claimKey(sqliteJournal(database, { table: 'order' }), 'order-17');
  await claimKey(sqliteJournal(database, { table: 'payments' }), 'order-18');
  expect(await sqliteJournal(database, { table: 'payments' }).read('order-17')).toBeNull();
  expect(await sqliteJournal(database, { table: 'order' }).read('order-17')).not.toBeNull();
});

test.each(['', 'a b', 'a;b', '1st', 'a"b', 'main.journal', 17])('refuses the table name %j', (table) => {
  const options: object = { table };
  expect(() => sqliteJournal(new DatabaseSync(':memory:'), options)).toThrow('table must be a plain name');
});

test('refuses what is not a database', () => {
  const libsqlClient = { batch() {}, execute() {} };
  const d1Binding = { batch() {}, exec() {}, prepare() {} };
  const libsqlDatabase = { exec() {}, prepare() {}, syncUntil() {} };
  for (const database of [undefined, null, {}, 'payments.db', libsqlClient, d1Binding, libsqlDatabase]) {
    expect(() => Reflect.apply(sqliteJournal, undefined, [database])).toThrow(
      'sqliteJournal takes a database of node:sqlite, better-sqlite3 or bun:sqlite',
    );
  }
});

test('fails with unknown if the database returns rows as arrays', async () => {
  const open = temporaryDatabase();
  const first = sqliteJournal(open());
  await getJournalCore(first).complete(await claimKey(first, 'order-17'), { state: 'not_sent' });
  const database = new DatabaseSync(open().location() ?? '', { returnArrays: true });
  onTestFinished(() => database.close());
  const journal = sqliteJournal(database);
  for (const failure of [
    await catchError(getJournalCore(journal).claim('order-17', chargeIntent)),
    await catchError(journal.read('order-17')),
    await catchError(journal.resolve('order-17', 'not_charged', note)),
    await catchError(listKeys(journal)),
    await catchError(journal.count()),
    await catchError(getJournalCore(journal).followUps.countDue({ kind: 'key' })),
  ]) {
    expect(failure).toMatchObject({ name: 'JournalError', outcome: 'unknown', retryable: false });
    expect(String(failure)).toContain('Turn off returnArrays');
  }
  expect(await first.read('order-17')).toMatchObject({ state: 'not_sent' });
});

test('works with a database that returns integers as BigInt', async () => {
  const database = new DatabaseSync(':memory:', { readBigInts: true });
  onTestFinished(() => database.close());
  const journal = sqliteJournal(database);
  const claim = await claimKey(journal, 'order-17');
  expect(await getJournalCore(journal).followUps.countDue({ kind: 'key' })).toEqual({
    due: 0,
    nextIn: expect.closeTo(10_000, -3),
  });
  await getJournalCore(journal).complete(claim, { state: 'unknown' });
  expect(await listKeys(journal, { state: 'unknown' })).toEqual(['order-17']);
  expect(await journal.count()).toMatchObject({ unknown: 1 });
  expect(await claimDueKeys(journal)).toEqual(['order-17']);
});

test('fails with a JournalError on a closed or read-only database', async () => {
  const open = temporaryDatabase();
  const database = open();
  const journal = sqliteJournal(database);
  await claimKey(journal, 'order-16');
  database.exec('PRAGMA query_only = ON');
  expect(await catchError(getJournalCore(journal).claim('order-17', chargeIntent))).toMatchObject({
    name: 'JournalError',
    outcome: 'not_sent',
    retryable: true,
    message: expect.stringContaining('readonly'),
  });
  database.close();
  expect(await catchError(journal.read('order-17'))).toMatchObject({ name: 'JournalError', retryable: true });
});
