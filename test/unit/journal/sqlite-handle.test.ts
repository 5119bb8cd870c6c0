import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import type { SqliteHandle, SqliteStatement } from '../../../src/journal/sqlite.ts';
import { catchError } from '../../helpers/service.ts';
import { createSqliteHandle } from '../../helpers/sqlite-handle.ts';
import { firstWrite, openHandleStore, useSqliteFile } from '../../helpers/sqlite-stores.ts';

function openMemory(options: { readBigInts?: boolean } = {}): DatabaseSync {
  const database = new DatabaseSync(':memory:', options);
  onTestFinished(() => database.close());
  return database;
}

const DUE = { kind: 'key', limit: 10, lease: 60_000 } as const;

test('makes the table at the first write, and reads without asking for it', async () => {
  const handle = createSqliteHandle(openMemory());
  const batches: string[][] = [];
  const recording: SqliteHandle = {
    batch: (statements) => {
      batches.push(statements.map(({ sql }) => sql));
      return handle.batch(statements);
    },
  };
  const store = openHandleStore(recording);
  await store.write('order-1', firstWrite());
  await store.write('order-2', firstWrite());
  expect(batches.flat().filter((sql) => sql.startsWith('CREATE TABLE'))).toHaveLength(1);
  batches.length = 0;
  await openHandleStore(recording).read('order-1');
  expect(batches).toEqual([[expect.stringContaining('SELECT')]]);
});

test('offers no group of writes, which could hang with one request', () => {
  expect(openHandleStore(createSqliteHandle(openMemory()))).not.toHaveProperty('writeAll');
});

test('sends what could write with each read, if replicas run what only reads', async () => {
  const own = createSqliteHandle(openMemory());
  const batches: string[][] = [];
  const handle: SqliteHandle = {
    hasReplicas: true,
    batch(statements) {
      batches.push(statements.map(({ sql }) => sql.slice(0, 6)));
      return own.batch(statements);
    },
  };
  const store = openHandleStore(handle);
  await store.write('order 17', firstWrite());
  batches.length = 0;
  expect(await store.read('order 17')).toMatchObject({ record: { version: 'v1' } });
  await store.list({ by: 'createdAt', after: null, limit: 1 });
  await store.count();
  await store.countDue({ kind: 'order' });
  expect(batches).toEqual(Array.from({ length: 4 }, () => ['DELETE', 'SELECT']));
});

test('waits for no other call, which might hang', async () => {
  const handle = createSqliteHandle(openMemory());
  await openHandleStore(handle).write('order-1', firstWrite());
  let batches = 0;
  const store = openHandleStore({
    // In a Worker, the request of the first call can be cancelled. Nothing of it ever resolves then.
    batch: (statements) => (batches++ === 0 ? new Promise(() => {}) : handle.batch(statements)),
  });
  store.read('order-1').catch(() => {});
  expect(await store.read('order-2')).toMatchObject({ record: null });
});

test('makes the tables once when twenty handles use a file first', async () => {
  const open = useSqliteFile();
  const databases = Array.from({ length: 20 }, () => open({ timeout: 5_000 }));
  let waiting = 0;
  const everyone = Promise.withResolvers<void>();
  const writes = databases.map((database, index) => {
    const handle = createSqliteHandle(database);
    let batches = 0;
    const store = openHandleStore({
      async batch(statements) {
        // Each sees that there is no table before one of them makes any.
        const running = handle.batch(statements);
        running.catch(() => {});
        if (batches++ === 0 && ++waiting === databases.length) everyone.resolve();
        await everyone.promise;
        return running;
      },
    });
    return store.write(`order-${index}`, firstWrite());
  });
  expect(await Promise.all(writes)).toEqual(Array(20).fill(true));
  const [database] = databases;
  if (!database) throw new Error('no database');
  expect(await openHandleStore(createSqliteHandle(database)).count()).toEqual({ records: 20, attention: 0 });
});

test('tries again to make the tables after a failure', async () => {
  const handle = createSqliteHandle(openMemory());
  let isDown = true;
  const store = openHandleStore({
    async batch(statements) {
      if (isDown && /^CREATE/.test(statements[0]?.sql ?? '')) throw new Error('connection refused');
      return handle.batch(statements);
    },
  });
  expect(String(await catchError(store.write('order-1', firstWrite())))).toContain('connection refused');
  isDown = false;
  expect(await store.write('order-1', firstWrite())).toBe(true);
});

test('returns what became due between two statements of a batch', async () => {
  const { batch } = createSqliteHandle(openMemory());
  const writer = openHandleStore({ batch });
  const start = 1_800_000_000_000;
  for (const [key, dueIn] of Object.entries({ late: 2_000, later: 3_000, early: 1_000 }))
    await writer.write(key, firstWrite({ dueAt: start + dueIn }));
  // The clock of the database shows so many seconds at each statement of a claim.
  const claimAt = async (...seconds: number[]) => {
    const shift = ({ sql, values }: SqliteStatement, index: number) => ({
      sql: sql.replaceAll("'now'", `${start / 1000 + (seconds[index] ?? 0)}, 'unixepoch', 'subsec'`),
      values,
    });
    const { claimDue } = openHandleStore({ batch: (statements) => batch(statements.map(shift)) });
    const { records } = await claimDue(DUE);
    return records.map(({ key, at }) => [key, at - start]);
  };
  // What the clock had not reached at the first statement was due when it was claimed.
  expect(await claimAt(1.5, 1.5, 2.5)).toEqual([
    ['early', 1_000],
    ['late', 1_500],
  ]);
  // What was not claimed is not returned, and is not postponed.
  expect(await claimAt(4, 4, 2.5)).toEqual([]);
  expect(await claimAt(4, 4, 4)).toEqual([['later', 3_000]]);
});

test('takes rows with BigInts and without a prototype', async () => {
  const handle = createSqliteHandle(openMemory({ readBigInts: true }));
  const store = openHandleStore({
    async batch(statements) {
      const results = await handle.batch(statements);
      return results.map((rows) => rows.map((row) => Object.assign(Object.create(null), row)));
    },
  });
  await store.write('order-1', firstWrite({ dueAt: 1 }));
  const record = { version: 'v1', text: '{}' };
  expect(await store.read('order-1')).toEqual({ record, now: expect.any(Number) });
  expect(await store.count()).toEqual({ records: 1, attention: 0 });
  expect(await store.countDue(DUE)).toEqual({ due: 1, nextIn: null });
  expect(await store.claimDue(DUE)).toMatchObject({ records: [{ ...record, key: 'order-1', at: 1 }] });
});

const unreadable: [string, (row: Record<string, unknown>) => unknown][] = [
  ['arrays', Object.values],
  ['no version', ({ version: _, ...row }) => row],
  ['no time', (row) => ({ ...row, now: null })],
  ['bytes', (row) => ({ ...row, record: new Uint8Array(2) })],
];
test.each(unreadable)('fails with unknown on rows that are %s', async (_what, change) => {
  const handle = createSqliteHandle(openMemory());
  await openHandleStore(handle).write('order-1', firstWrite());
  const changing = {
    batch: async (statements: SqliteStatement[]) =>
      (await handle.batch(statements)).map((rows) => rows.map(change)),
  };
  const store: ReturnType<typeof openHandleStore> = Reflect.apply(openHandleStore, undefined, [changing]);
  const failure = await catchError(store.read('order-1'));
  expect(failure).toMatchObject({ name: 'JournalError', outcome: 'unknown', retryable: false });
});

test('fails with unknown on a count that is no number', async () => {
  const handle = createSqliteHandle(openMemory());
  await openHandleStore(handle).write('order-1', firstWrite());
  const batch: typeof handle.batch = async (statements) =>
    (await handle.batch(statements)).map((rows) => rows.map((row) => ({ ...row, records: 'many' })));
  const failure = await catchError(openHandleStore({ batch }).count());
  expect(failure).toMatchObject({ name: 'JournalError', outcome: 'unknown', retryable: false });
});

test('fails with unknown on a read that returns no row', async () => {
  const failure = await catchError(openHandleStore({ batch: async () => [[]] }).read('order-1'));
  expect(failure).toMatchObject({ name: 'JournalError', outcome: 'unknown', retryable: false });
});
