import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { catchError } from '../../helpers/service.ts';
import { firstWrite, openStore, useSqliteFile } from '../../helpers/sqlite-stores.ts';

const DUE = { kind: 'key', limit: 10, lease: 60_000 } as const;

test('sets WAL mode, and syncs each commit to disk', async () => {
  const database = useSqliteFile()();
  await openStore(database).write('order-17', firstWrite());
  expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  expect(database.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 });
});

test('leaves a file as it is until the first write', async () => {
  const database = useSqliteFile()();
  database.exec('CREATE TABLE orders (id TEXT); PRAGMA synchronous = NORMAL');
  const store = openStore(database);
  await store.read('order-17');
  await store.claimDue(DUE);
  await store.countDue(DUE);
  expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'delete' });
  expect(database.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 1 });
  expect(database.prepare('SELECT name FROM sqlite_master').all()).toEqual([{ name: 'orders' }]);
});

test('waits for a locked file without blocking the process', async () => {
  const open = useSqliteFile();
  const store = openStore(open());
  await store.write('order-16', firstWrite());
  const other = open();
  other.exec('BEGIN IMMEDIATE');
  let isWritten: boolean | undefined;
  const writing = store.write('order-17', firstWrite()).then((result) => {
    isWritten = result;
  });
  for (let turns = 0; turns < 5; turns++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(isWritten).toBeUndefined();
  }
  other.exec('COMMIT');
  await writing;
  expect(isWritten).toBe(true);
});

test('refuses what must be committed inside a transaction', async () => {
  const database = useSqliteFile()();
  const store = openStore(database);
  await store.write('order-17', firstWrite({ dueAt: 1 }));
  for (const open of ['BEGIN', 'BEGIN IMMEDIATE', 'SAVEPOINT mine']) {
    database.exec(open);
    const refusals = [
      await catchError(store.write('order-18', firstWrite())),
      await catchError(store.write('order-17', firstWrite({}, { expected: 'v1', version: 'v2' }))),
      await catchError(store.claimDue(DUE)),
      await catchError(store.delete([{ key: 'order-17', version: 'v1' }])),
    ];
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: true });
      expect(String(refusal)).toContain('inside a transaction');
    }
    expect(await store.countDue(DUE)).toMatchObject({ due: 1 });
    database.exec('COMMIT');
    expect(await store.read('order-18')).toMatchObject({ record: null });
    expect(await store.read('order-17')).toMatchObject({ record: { version: 'v1' } });
  }
  expect((await store.claimDue(DUE)).records).toHaveLength(1);
});

test.each([
  ['in use', false],
  ['a new one', true],
])('writes what must not be committed inside a transaction: %s', async (_, isNew) => {
  const database = useSqliteFile()();
  const first = openStore(database);
  await first.write('order-17', firstWrite());
  const store = isNew ? openStore(database) : first;
  const change = firstWrite({}, { expected: 'v1', version: 'v2', mustCommit: false });

  database.exec('BEGIN');
  expect(await store.write('order-17', change)).toBe(true);
  expect(await store.read('order-17')).toMatchObject({ record: { version: 'v2' } });
  database.exec('ROLLBACK');
  expect(await store.read('order-17')).toMatchObject({ record: { version: 'v1' } });

  database.exec('BEGIN');
  expect(await store.write('order-17', change)).toBe(true);
  database.exec('COMMIT');
  expect(await store.read('order-17')).toMatchObject({ record: { version: 'v2' } });
});

test('writes several records in one transaction, each by its own version', async () => {
  const database = useSqliteFile()();
  const executed: string[] = [];
  const { writeAll, ...store } = openStore({
    exec(sql) {
      executed.push(sql);
      database.exec(sql);
    },
    prepare: (sql) => database.prepare(sql),
  });
  await store.write('order-1', firstWrite());
  executed.length = 0;
  const written = await writeAll?.([
    { key: 'order-1', change: firstWrite({}, { version: 'v2' }) },
    { key: 'order-2', change: firstWrite({}, { version: 'v2' }) },
    { key: 'order-3', change: firstWrite({}, { expected: 'v1', version: 'v2' }) },
  ]);
  expect(written).toEqual([false, true, false]);
  expect(executed).toEqual(['BEGIN IMMEDIATE', 'COMMIT']);
  expect(await store.read('order-1')).toMatchObject({ record: { version: 'v1' } });
  expect(await store.read('order-2')).toMatchObject({ record: { version: 'v2' } });
});

test('creates its table again when it was dropped', async () => {
  const database = useSqliteFile()();
  const store = openStore(database);
  await store.write('order-17', firstWrite());
  database.exec('DROP TABLE payments_journal');
  expect(await store.read('order-17')).toMatchObject({ record: null, isNew: true });
  expect(await store.write('order-17', firstWrite())).toBe(true);
  expect(database.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 });
});

test('keeps journals of two tables apart, also with SQL words as names', async () => {
  const database = useSqliteFile()();
  const [store, other] = [openStore(database, 'order'), openStore(database, 'payments')];
  await store.write('order-17', firstWrite());
  await other.write('order-18', firstWrite());
  expect(await other.read('order-17')).toMatchObject({ record: null });
  expect(await store.read('order-17')).toMatchObject({ record: { version: 'v1' } });
  expect(await store.list({ by: 'createdAt', after: null, limit: 10 })).toMatchObject([{ key: 'order-17' }]);
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
  const open = useSqliteFile();
  const first = openStore(open());
  await first.write('order-17', firstWrite({ attentionAt: 1, dueAt: 1 }));
  const database = new DatabaseSync(open().location() ?? '', { returnArrays: true });
  onTestFinished(() => database.close());
  const store = openStore(database);
  for (const failure of [
    await catchError(store.read('order-17')),
    await catchError(store.read('order-18')),
    await catchError(store.list({ by: 'createdAt', after: null, limit: 10 })),
    await catchError(store.count()),
    await catchError(store.claimDue(DUE)),
    await catchError(store.countDue(DUE)),
  ]) {
    expect(failure).toMatchObject({ name: 'JournalError', outcome: 'unknown', retryable: false });
    expect(String(failure)).toContain('Turn off returnArrays');
  }
});

test('works with a database that returns integers as BigInt', async () => {
  const database = new DatabaseSync(':memory:', { readBigInts: true });
  onTestFinished(() => database.close());
  const store = openStore(database);
  const record = { key: 'order-17', version: 'v1', text: '{}' };
  await store.write('order-17', firstWrite({ createdAt: 5, attentionAt: 6, dueAt: 7 }));
  expect(await store.read('order-17')).toMatchObject({ now: expect.any(Number) });
  expect(await store.list({ by: 'attentionAt', after: null, limit: 10 })).toEqual([{ ...record, at: 6 }]);
  expect(await store.count()).toEqual({ records: 1, attention: 1 });
  expect(await store.countDue(DUE)).toEqual({ due: 1, nextIn: null });
  expect(await store.claimDue(DUE)).toEqual({ records: [{ ...record, at: 7 }], now: expect.any(Number) });
});

test('rejects on a closed or read-only database', async () => {
  const database = useSqliteFile()();
  const store = openStore(database);
  await store.write('order-16', firstWrite());
  database.exec('PRAGMA query_only = ON');
  expect(String(await catchError(store.write('order-17', firstWrite())))).toContain('readonly');
  database.close();
  expect(await catchError(store.read('order-17'))).toBeInstanceOf(Error);
  expect(await catchError(store.write('order-17', firstWrite()))).toBeInstanceOf(Error);
});
