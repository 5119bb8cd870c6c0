import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import type { RecordWrite } from '../../../src/stores/index.ts';
import {
  type SqliteDatabase,
  type SqliteStatement,
  sqliteJournal,
} from '../../../src/stores/sqlite/index.ts';
import { buildSchema } from '../../../src/stores/sqlite/table.ts';
import { nextTurn } from '../../../src/support/timing.ts';
import { claimKey } from '../../helpers/claims.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { catchError } from '../../helpers/service.ts';
import { describeDriver } from '../../helpers/sqlite-drivers.ts';
import {
  createSqliteHandle,
  openHandleStore,
  openMemory,
  openStore,
  sqliteKinds,
  TABLE,
  useSqliteFile,
} from '../../helpers/sqlite-stores.ts';
import { claimKeys, firstWrite, listAll } from '../../helpers/store-writes.ts';

describe('node:sqlite', () => {
  describeDriver({
    open: (file) => new DatabaseSync(file),
    close: (database) => database.isOpen && database.close(),
    openBigInts: (file) => new DatabaseSync(file, { readBigInts: true }),
    toArrays(file) {
      const database = new DatabaseSync(file, { returnArrays: true });
      return { database, arrays: database };
    },
  });
});

describe('the durability of a commit', () => {
  const [FULL, NORMAL] = [2, 1];
  const due = firstWrite({ dueAt: 1 });

  /** A store in a file, and how durable each of its commits was. A statement that `setFailing` names fails. */
  function openWatched() {
    const database = useSqliteFile()();
    const commits: unknown[] = [];
    let failing: RegExp | undefined;
    const watched: SqliteDatabase = {
      exec(sql) {
        if (/^COMMIT/.test(sql)) commits.push(database.prepare('PRAGMA synchronous').get()?.synchronous);
        database.exec(sql);
      },
      prepare(sql) {
        if (failing?.test(sql)) throw new Error('disk I/O error');
        return database.prepare(sql);
      },
    };
    const setFailing = (statement?: RegExp) => {
      failing = statement;
    };
    return { store: openStore(watched), database, commits, setFailing };
  }

  test('is full for each record, and less for the lease of a follow-up', async () => {
    const { store, commits } = openWatched();
    await store.write('key 17', due);
    // The table is made by a commit of its own.
    expect(commits.splice(0)).toEqual([FULL, FULL]);
    expect((await store.claimDue(claimKeys)).records).toHaveLength(1);
    expect(commits.splice(0)).toEqual([NORMAL]);
    await store.write('key 18', due);
    await store.delete([{ key: 'key 18', version: 'v1' }]);
    expect(commits).toEqual([FULL, FULL]);
  });

  test.each([
    ['failed', /UPDATE .*due_at/, 'disk I/O error'],
    ['was refused inside a transaction', undefined, 'inside a transaction'],
  ])('is full again after a lease that %s', async (_how, statement, message) => {
    const { store, database, commits, setFailing } = openWatched();
    await store.write('key 17', due);
    setFailing(statement);
    if (!statement) database.exec('BEGIN');
    expect(String(await catchError(store.claimDue(claimKeys)))).toContain(message);
    if (!statement) database.exec('ROLLBACK');
    setFailing();
    commits.length = 0;
    await store.write('key 18', due);
    expect(commits).toEqual([FULL]);
  });
});

test('waits 10 s for a locked file, while the process goes on', async () => {
  fakeClocks();
  const open = useSqliteFile();
  const [store, other] = [openStore(open()), open()];
  const ends: unknown[] = [];
  const writeLocked = (key: string) => {
    other.exec('BEGIN IMMEDIATE');
    store.write(key, firstWrite()).then(
      (isWritten) => ends.push(isWritten),
      (error) => ends.push(error.message),
    );
  };
  await store.write('key 16', firstWrite());
  writeLocked('key 17');
  await pass(9_900);
  expect(ends).toEqual([]);
  other.exec('COMMIT');
  await pass(100);
  writeLocked('key 18');
  // Less than a journal waits for a step, whose error would not name the lock.
  await pass(10_900);
  expect(ends).toEqual([true, 'database is locked']);
});

// A locked file, a locked table, and each with more in its code.
test.each([5, 6, 261, 262])('tries a write again after the code %i of SQLite', async (errcode) => {
  const database = openMemory();
  let refusals = 0;
  const exec = (sql: string) => {
    if (sql.startsWith('BEGIN') && refusals++ < 2) throw Object.assign(new Error('busy'), { errcode });
    database.exec(sql);
  };
  const store = openStore({ exec, prepare: (sql) => database.prepare(sql) });
  expect(await store.write('key 17', firstWrite())).toBe(true);
});

test('writes in one transaction what comes in one turn', async () => {
  const database = openMemory();
  const statements: string[] = [];
  const counting = {
    exec: (sql: string) => {
      statements.push(sql);
      return database.exec(sql);
    },
    prepare: (sql: string) => database.prepare(sql),
  };
  const journal = sqliteJournal(counting);
  await claimKey(journal, 'order-0');
  await nextTurn();
  await nextTurn();
  statements.length = 0;
  const keys = Array.from({ length: 11 }, (_, index) => `order-${index}`);
  // Each callback is a task of its own, as the responses of several sockets are. All run in one turn.
  const claimInTask = (key: string) =>
    new Promise((resolve) => setImmediate(resolve)).then(() => claimKey(journal, key));
  const ends = await Promise.allSettled(keys.map(claimInTask));
  expect(ends.map(({ status }) => status)).toEqual(['rejected', ...Array(10).fill('fulfilled')]);
  expect(statements).toEqual(['BEGIN IMMEDIATE', 'COMMIT', 'BEGIN IMMEDIATE', 'COMMIT']);
});

test('keeps journals of two tables apart, also with SQL words as names', async () => {
  const database = useSqliteFile()();
  const [store, other] = [openStore(database, 'order'), openStore(database, 'payments')];
  await store.write('key 17', firstWrite());
  await other.write('key 18', firstWrite());
  expect(await other.read('key 17')).toMatchObject({ record: null });
  expect(await store.list(listAll)).toMatchObject([{ key: 'key 17' }]);
});

describe('a handle', () => {
  type Run = ReturnType<typeof createSqliteHandle>['batch'];

  /** A store by a handle whose batches go through `change`, the statements of each, and a store that is not changed. */
  function openChanged(change: (run: Run) => Run = (run) => run, options = {}) {
    const { batch: run } = createSqliteHandle(useSqliteFile()());
    const batches: string[][] = [];
    const batch: Run = (statements) => {
      batches.push(statements.map(({ sql }) => sql.slice(0, 6)));
      return change(run)(statements);
    };
    return { store: openHandleStore({ batch, ...options }), whole: openHandleStore({ batch: run }), batches };
  }

  test('makes the table at the first write, and reads without asking for it', async () => {
    const { store, batches } = openChanged();
    await store.write('key 1', firstWrite());
    expect(batches.map(([first]) => first)).toEqual(['INSERT', 'CREATE', 'INSERT']);
    await store.write('key 2', firstWrite());
    await store.read('key 1');
    expect(batches.slice(3)).toEqual([['INSERT'], ['SELECT']]);
    // A group could hang with one request of a Worker.
    expect(store).not.toHaveProperty('writeAll');
  });

  test('sends what could write with each read, if replicas run what only reads', async () => {
    const { store, batches } = openChanged(undefined, { hasReplicas: true });
    await store.write('key 17', firstWrite());
    batches.length = 0;
    expect(await store.read('key 17')).toMatchObject({ record: { version: 'v1' } });
    await store.list(listAll);
    await store.count();
    await store.countDue({ kind: 'order' });
    expect(batches).toEqual(Array(4).fill(['DELETE', 'SELECT']));
  });

  test('returns what became due between two statements of a batch', async () => {
    const start = 1_800_000_000_000;
    // The clock of the database shows so many seconds at each statement of a claim.
    let seconds: number[] = [];
    const shift = ({ sql, values }: SqliteStatement, index: number) => ({
      sql: sql.replaceAll("'now'", `${start / 1000 + (seconds[index] ?? 0)}, 'unixepoch', 'subsec'`),
      values,
    });
    const { store, whole } = openChanged((run) => (statements) => run(statements.map(shift)));
    for (const [key, dueIn] of Object.entries({ late: 2_000, later: 3_000, early: 1_000 }))
      await whole.write(key, firstWrite({ dueAt: start + dueIn }));
    const claimAt = async (...given: number[]) => {
      seconds = given;
      return (await store.claimDue(claimKeys)).records.map(({ key, at }) => [key, at - start]);
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

  test('says what table is missing without the error of the driver', async () => {
    const { store } = openChanged(() => async () => {
      throw Object.assign(new Error('no such table: x'), { query: 'INSERT' });
    });
    const failure = await catchError(store.count());
    expect(failure).toMatchObject({ reason: 'no_journal', cause: { message: 'no such table: x' } });
    expect(Object(failure).cause).not.toHaveProperty('query');
  });

  test('says that the next is due now if its time has come meanwhile', async () => {
    const { store, whole } = openChanged(
      (run) => async (statements) =>
        (await run(statements)).map((rows) => rows.map((row) => ({ ...row, later: -1 }))),
    );
    await whole.write('key 1', firstWrite());
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 0, nextIn: 0 });
  });

  test.each<[string, 'read' | 'count', (row: Record<string, unknown>) => Record<string, unknown>[]]>([
    ['no row', 'read', () => []],
    ['no version', 'read', ({ version: _, ...row }) => [row]],
    ['no time', 'read', (row) => [{ ...row, now: null }]],
    ['bytes', 'read', (row) => [{ ...row, record: new Uint8Array(2) }]],
    ['text for numbers', 'count', (row) => [{ ...row, records: 'many' }]],
  ])('fails with unknown on a result with %s', async (_what, method, change) => {
    const { store, whole } = openChanged(
      (run) => async (statements) => (await run(statements)).map((rows) => rows.flatMap(change)),
    );
    await whole.write('key 1', firstWrite());
    expect(await catchError(store[method]('key 1'))).toMatchObject({
      name: 'JournalError',
      outcome: 'unknown',
      retryable: false,
    });
  });
});

const NOW = 1_800_000_000_000;

test.each(Object.entries(sqliteKinds))(
  '%s reads only what is asked for, through an index',
  async (_kind, open) => {
    const database = useSqliteFile()();
    database.exec(buildSchema(TABLE).join(';'));
    const insert = (count: number, name: string, values: string) =>
      database.exec(
        `WITH RECURSIVE series(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < ${count})
      INSERT INTO ${TABLE} (key, version, record, kind, created_at, attention_at, due_at)
      SELECT '${name}-' || i, 'v' || i, '{}', ${values} FROM series`,
      );
    insert(2_000, 'order', `'key', i, ${NOW} + i, ${NOW} + 1000 + i`);
    insert(30, 'due', `'key', i, ${NOW} - i, ${NOW} - i`);

    const statements = new Set<string>();
    const { store, setNow } = open(database, (sql) => statements.add(sql));
    setNow(NOW);
    expect(await store.read('order-7')).toMatchObject({ record: { version: 'v7' } });
    expect(await store.list({ by: 'createdAt', after: { at: 900, key: '' }, limit: 150 })).toHaveLength(150);
    expect(await store.list({ by: 'attentionAt', after: null, limit: 150 })).toHaveLength(30);
    expect(await store.count()).toEqual({ records: 2_030, attention: 30 });
    expect(await store.countDue({ kind: 'key' })).toEqual({ due: 30, nextIn: 1_001 });
    expect((await store.claimDue(claimKeys)).records).toHaveLength(30);
    const writes: RecordWrite[] = [
      { key: 'new', change: firstWrite() },
      { key: 'order-7', change: firstWrite(null, { expected: 'v7', version: 'new' }) },
    ];
    for (const { key, change } of writes) expect(await store.write(key, change)).toBe(true);
    expect(await store.delete([{ key: 'order-8', version: 'v8' }])).toBe(1);

    const plans = [...statements]
      .filter((sql) => /^(?:SELECT|INSERT|UPDATE|DELETE)/.test(sql))
      .flatMap((sql) => database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all())
      .map(({ detail }) => String(detail));
    // A subquery returns no more keys than its limit, and json_each what it was given.
    expect(plans.filter((plan) => /SCAN (?!CONSTANT|json_each|\(subquery)|TEMP/.test(plan))).toEqual([]);
    const search = `SEARCH ${TABLE} USING`;
    expect(plans).toEqual(
      expect.arrayContaining([
        `${search} PRIMARY KEY (key=?) LEFT-JOIN`,
        `${search} PRIMARY KEY (key=?)`,
        `${search} INDEX ${TABLE}_created_at ((created_at,key)>(?,?))`,
        `${search} INDEX ${TABLE}_attention_at ((attention_at,key)>(?,?) AND attention_at<?)`,
        `${search} COVERING INDEX ${TABLE}_due_at (kind=? AND due_at<?)`,
        `${search} COVERING INDEX ${TABLE}_due_at (kind=? AND due_at>?)`,
        `${search} COVERING INDEX ${TABLE}_due_at (kind=? AND due_at>? AND due_at<?)`,
      ]),
    );
  },
);
