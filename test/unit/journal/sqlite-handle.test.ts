import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type SqliteHandle, type SqliteStatement, sqliteJournal } from '../../../src/journal/sqlite.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { claimKey, completeKey, countDue, tryClaim } from '../../helpers/claims.ts';
import { claimDueKeys } from '../../helpers/listed-keys.ts';
import { catchError } from '../../helpers/service.ts';
import { createSqliteHandle } from '../../helpers/sqlite-handle.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';

function openMemory(options: { readBigInts?: boolean } = {}): DatabaseSync {
  const database = new DatabaseSync(':memory:', options);
  onTestFinished(() => database.close());
  return database;
}

describe('sqliteJournal by a handle conforms', () => {
  const handle = createSqliteHandle(new DatabaseSync(':memory:'));
  const cases = journalConformance((options, table) => sqliteJournal(handle, { ...options, table }));
  test.concurrent.each(cases)('$name', ({ run }) => run());
});

test('makes the table at the first write, and reads without asking for it', async () => {
  const handle = createSqliteHandle(openMemory());
  const batches: string[][] = [];
  const recording: SqliteHandle = {
    batch: (statements) => {
      batches.push(statements.map(({ sql }) => sql));
      return handle.batch(statements);
    },
  };
  const journal = sqliteJournal(recording);
  await claimKey(journal, 'order-1');
  await claimKey(journal, 'order-2');
  expect(batches.flat().filter((sql) => sql.startsWith('CREATE TABLE'))).toHaveLength(1);
  batches.length = 0;
  await sqliteJournal(recording).read('order-1');
  expect(batches).toEqual([[expect.stringContaining('SELECT')]]);
});

test('waits for no other call, which might hang', async () => {
  const handle = createSqliteHandle(openMemory());
  await claimKey(sqliteJournal(handle), 'order-1');
  let batches = 0;
  const journal = sqliteJournal({
    // In a Worker, the request of the first call can be cancelled. Nothing of it ever resolves then.
    batch: (statements) => (batches++ === 0 ? new Promise(() => {}) : handle.batch(statements)),
  });
  journal.read('order-1').catch(() => {});
  expect(await journal.read('order-2')).toBeNull();
});

test('makes the tables once when twenty handles use a file first', async () => {
  const folder = createTempFolder();
  const databases = Array.from({ length: 20 }, () => new DatabaseSync(join(folder.path, 'payments.db')));
  onTestFinished(() => {
    for (const database of databases) database.close();
    folder.remove();
  });
  let waiting = 0;
  const everyone = Promise.withResolvers<void>();
  const claims = databases.map((database, index) => {
    const handle = createSqliteHandle(database);
    let batches = 0;
    const journal = sqliteJournal({
      async batch(statements) {
        // Each sees that there is no table before one of them makes any.
        const running = handle.batch(statements);
        running.catch(() => {});
        if (batches++ === 0 && ++waiting === databases.length) everyone.resolve();
        await everyone.promise;
        return running;
      },
    });
    return claimKey(journal, `order-${index}`);
  });
  expect(await Promise.all(claims)).toHaveLength(20);
});

test('tries again to make the tables after a failure', async () => {
  const handle = createSqliteHandle(openMemory());
  let isDown = true;
  const journal = sqliteJournal({
    async batch(statements) {
      if (isDown) throw new Error('connection refused');
      return handle.batch(statements);
    },
  });
  expect(await catchError(tryClaim(journal, 'order-1'))).toMatchObject({
    name: 'JournalError',
    retryable: true,
  });
  isDown = false;
  expect(await tryClaim(journal, 'order-1')).toMatchObject({ state: 'claimed' });
});

test('returns what became due between two statements of a batch', async () => {
  const database = openMemory();
  const { batch } = createSqliteHandle(database);
  const writer = sqliteJournal({ batch });
  for (const [key, firstCheckIn] of Object.entries({ late: 2_000, later: 3_000, early: 1_000 })) {
    const result = { reference: `TXN-${key}` };
    await completeKey(writer, key, {
      state: 'completed',
      result,
      firstCheckIn,
    });
  }
  // The clock of the database goes on by so many seconds before each statement of a claim.
  const claimAt = (...seconds: number[]) => {
    const shift = ({ sql, values }: SqliteStatement, index: number) => ({
      sql: sql.replaceAll("'now'", `'now', '${seconds[index] ?? 0} seconds'`),
      values,
    });
    const journal = sqliteJournal({ batch: (statements) => batch(statements.map(shift)) });
    return claimDueKeys(journal, { limit: 10, lease: 60_000 });
  };
  expect(await claimAt(1.5, 2.5)).toEqual(['early', 'late']);
  // What was not claimed is not returned, and is not postponed.
  expect(await claimAt(4, 2.5)).toEqual([]);
  expect(await claimAt(4, 4)).toEqual(['later']);
});

test('takes rows with BigInts and without a prototype', async () => {
  const handle = createSqliteHandle(openMemory({ readBigInts: true }));
  const journal = sqliteJournal({
    async batch(statements) {
      const results = await handle.batch(statements);
      return results.map((rows) => rows.map((row) => Object.assign(Object.create(null), row)));
    },
  });
  await completeKey(journal, 'order-1', { state: 'unknown' });
  expect(await journal.read('order-1')).toMatchObject({ state: 'unknown' });
  expect(await journal.count()).toMatchObject({ unknown: 1 });
  expect(await countDue(journal)).toEqual({ due: 1, nextIn: null });
  expect(await claimDueKeys(journal)).toEqual(['order-1']);
});

const unreadable: [string, (row: Record<string, unknown>) => unknown][] = [
  ['arrays', Object.values],
  ['no version', ({ version: _, ...row }) => row],
  ['no age', (row) => ({ ...row, age: null })],
  ['bytes', (row) => ({ ...row, record: new Uint8Array(2) })],
];
test.each(unreadable)('fails with unknown on rows that are %s', async (_what, change) => {
  const handle = createSqliteHandle(openMemory());
  const first = sqliteJournal(handle);
  await completeKey(first, 'order-1', { state: 'not_sent' });
  const changing = {
    batch: async (statements: SqliteStatement[]) =>
      (await handle.batch(statements)).map((rows) => rows.map(change)),
  };
  const journal: unknown = Reflect.apply(sqliteJournal, undefined, [changing]);
  expect(journal).toHaveProperty('read');
  const failure = await catchError(Reflect.apply(Object(journal).read, undefined, ['order-1']));
  expect(failure).toMatchObject({ name: 'JournalError', outcome: 'unknown', retryable: false });
});

test('fails with unknown on a count that is no number', async () => {
  const handle = createSqliteHandle(openMemory());
  const first = sqliteJournal(handle);
  await completeKey(first, 'order-1', { state: 'not_sent' });
  const batch: typeof handle.batch = async (statements) =>
    (await handle.batch(statements)).map((rows) => rows.map((row) => ({ ...row, records: 'many' })));
  const failure = await catchError(sqliteJournal({ batch }).count());
  expect(failure).toMatchObject({ name: 'JournalError', outcome: 'unknown', retryable: false });
});
