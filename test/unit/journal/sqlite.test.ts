import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type SqliteDatabase, type SqliteStatement, sqliteJournal } from '../../../src/journal/sqlite.ts';
import { catchError } from '../../helpers/service.ts';
import { describeDriver } from '../../helpers/sqlite-drivers.ts';
import { createSqliteHandle } from '../../helpers/sqlite-handle.ts';
import { openHandleStore, openStore, useSqliteFile } from '../../helpers/sqlite-stores.ts';
import { claimKeys, firstWrite, listAll } from '../../helpers/store-writes.ts';

const due = firstWrite({ dueAt: 1 });

describe('node:sqlite', () => {
  describeDriver({
    open: (file) => new DatabaseSync(file),
    close: (database) => database.isOpen && database.close(),
    readPragma: (database, name) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0],
    openBigInts: (file) => new DatabaseSync(file, { readBigInts: true }),
    openArrays(file) {
      const database = new DatabaseSync(file, { returnArrays: true });
      onTestFinished(() => database.close());
      return database;
    },
  });
});

/** A store in a file, what its connection executes, and how durable each of its commits was. */
function openWatched() {
  const database = useSqliteFile()();
  const readLevel = () => database.prepare('PRAGMA synchronous').get()?.synchronous;
  const commits: unknown[] = [];
  const executed: string[] = [];
  let failing: RegExp | undefined;
  const watched: SqliteDatabase = {
    exec(sql) {
      executed.push(sql);
      if (/^COMMIT/.test(sql)) commits.push(readLevel());
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
  return { store: openStore(watched), database, watched, commits, executed, readLevel, setFailing };
}

describe('the durability of a commit', () => {
  const [FULL, NORMAL] = [2, 1];

  test('is full for each record, and less for the lease of a follow-up', async () => {
    const { store, commits, readLevel } = openWatched();
    await store.write('key 17', due);
    // The table is made by a commit of its own.
    expect(commits.splice(0)).toEqual([FULL, FULL]);
    expect((await store.claimDue(claimKeys)).records).toHaveLength(1);
    expect(commits.splice(0)).toEqual([NORMAL]);
    expect(readLevel()).toBe(FULL);
    await store.write('key 18', due);
    await store.delete([{ key: 'key 18', version: 'v1' }]);
    expect(commits).toEqual([FULL, FULL]);
  });

  test('is full for the first record after the lease of a new process', async () => {
    const { store, watched, database, commits } = openWatched();
    await store.write('key 17', due);
    database.exec('PRAGMA synchronous = OFF');
    const restarted = openStore(watched);
    expect((await restarted.claimDue(claimKeys)).records).toHaveLength(1);
    await restarted.write('key 18', due);
    expect(commits.at(-1)).toBe(FULL);
  });

  test.each([
    ['failed', /UPDATE .*due_at/, 'disk I/O error'],
    ['was refused inside a transaction', undefined, 'inside a transaction'],
  ])('is full again after a lease that %s', async (_how, statement, message) => {
    const { store, database, commits, readLevel, setFailing } = openWatched();
    await store.write('key 17', due);
    setFailing(statement);
    if (!statement) database.exec('BEGIN');
    expect(String(await catchError(store.claimDue(claimKeys)))).toContain(message);
    if (!statement) database.exec('ROLLBACK');
    setFailing();
    expect(readLevel()).toBe(FULL);
    commits.length = 0;
    await store.write('key 18', due);
    expect(commits).toEqual([FULL]);
  });
});

test('waits for a locked file without blocking the process', async () => {
  const open = useSqliteFile();
  const store = openStore(open());
  await store.write('key 16', firstWrite());
  const other = open();
  other.exec('BEGIN IMMEDIATE');
  const written = vi.fn();
  const writing = store.write('key 17', firstWrite()).then(written);
  for (let turns = 0; turns < 5; turns++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(written).not.toHaveBeenCalled();
  }
  other.exec('COMMIT');
  await writing;
  expect(written).toHaveBeenCalledExactlyOnceWith(true);
});

test('writes as a part of a transaction also before it has set anything', async () => {
  const database = useSqliteFile()();
  await openStore(database).write('key 17', firstWrite());
  database.exec('BEGIN');
  const change = firstWrite({}, { expected: 'v1', version: 'v2', mustCommit: false });
  const store = openStore(database);
  expect(await store.write('key 17', change)).toBe(true);
  database.exec('ROLLBACK');
  expect(await store.read('key 17')).toMatchObject({ record: { version: 'v1' } });
});

test('writes several records in one transaction, each by its own version', async () => {
  const { store, executed } = openWatched();
  await store.write('key 1', firstWrite());
  executed.length = 0;
  const changes = [{}, {}, { expected: 'v1' }];
  const writes = changes.map((fields, index) => ({
    key: `key ${index + 1}`,
    change: firstWrite({}, { version: 'v2', ...fields }),
  }));
  expect(await store.writeAll?.(writes)).toEqual([false, true, false]);
  expect(executed).toEqual(['BEGIN IMMEDIATE', 'COMMIT']);
});

test('makes its table again when it was dropped', async () => {
  const database = useSqliteFile()();
  const store = openStore(database);
  await store.write('key 17', firstWrite());
  database.exec('DROP TABLE payments_journal');
  expect(await store.read('key 17')).toMatchObject({ record: null, isNew: true });
  expect(await store.write('key 17', firstWrite())).toBe(true);
});

test('keeps journals of two tables apart, also with SQL words as names', async () => {
  const database = useSqliteFile()();
  const [store, other] = [openStore(database, 'order'), openStore(database, 'payments')];
  await store.write('key 17', firstWrite());
  await other.write('key 18', firstWrite());
  expect(await other.read('key 17')).toMatchObject({ record: null });
  expect(await store.list(listAll)).toMatchObject([{ key: 'key 17' }]);
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

describe('a handle', () => {
  type Batch = (
    statements: readonly SqliteStatement[],
  ) => ReturnType<ReturnType<typeof createSqliteHandle>['batch']>;

  /** A store by a handle whose batches go through `change`, and the statements of each. */
  function openChanged(change: (run: Batch) => Batch = (run) => run, options = {}) {
    const database = useSqliteFile()();
    const { batch: run } = createSqliteHandle(database);
    const changed = change(run);
    const batches: string[][] = [];
    const batch: Batch = (statements) => {
      batches.push(statements.map(({ sql }) => sql.slice(0, 12)));
      return changed(statements);
    };
    return { store: openHandleStore({ batch, ...options }), whole: openHandleStore({ batch: run }), batches };
  }

  test('makes the table at the first write, and reads without asking for it', async () => {
    const { store, batches } = openChanged();
    await store.write('key 1', firstWrite());
    await store.write('key 2', firstWrite());
    expect(batches.flat().filter((sql) => sql === 'CREATE TABLE')).toHaveLength(1);
    batches.length = 0;
    await store.read('key 1');
    expect(batches).toEqual([[expect.stringMatching(/^SELECT/)]]);
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
    const both = [expect.stringMatching(/^DELETE/), expect.stringMatching(/^SELECT/)];
    expect(batches).toEqual([both, both, both, both]);
  });

  test('waits for no other call, which might hang', async () => {
    let calls = 0;
    // In a Worker, the request of the first call can be cancelled. Nothing of it ever resolves then.
    const { store, whole } = openChanged(
      (run) => (statements) => (calls++ === 0 ? new Promise(() => {}) : run(statements)),
    );
    await whole.write('key 1', firstWrite());
    store.read('key 1').catch(() => {});
    expect(await store.read('key 2')).toMatchObject({ record: null });
  });

  test('makes the table once when twenty handles use a file first', async () => {
    const open = useSqliteFile();
    const everyone = Promise.withResolvers<void>();
    let waiting = 0;
    const stores = Array.from({ length: 20 }, () => {
      const handle = createSqliteHandle(open({ timeout: 5_000 }));
      let batches = 0;
      return openHandleStore({
        async batch(statements) {
          // Each sees that there is no table before one of them makes any.
          const running = handle.batch(statements);
          running.catch(() => {});
          if (batches++ === 0 && ++waiting === 20) everyone.resolve();
          await everyone.promise;
          return running;
        },
      });
    });
    const written = stores.map((store, index) => store.write(`key ${index}`, firstWrite()));
    expect(await Promise.all(written)).toEqual(Array(20).fill(true));
    expect(await stores[0]?.count()).toEqual({ records: 20, attention: 0 });
  });

  test('tries again to make the table after a failure', async () => {
    let isDown = true;
    const { store } = openChanged((run) => async (statements) => {
      if (isDown && /^CREATE/.test(statements[0]?.sql ?? '')) throw new Error('connection refused');
      return run(statements);
    });
    expect(String(await catchError(store.write('key 1', firstWrite())))).toContain('connection refused');
    isDown = false;
    expect(await store.write('key 1', firstWrite())).toBe(true);
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

  test.each<[string, (row: Record<string, unknown>) => unknown]>([
    ['arrays', Object.values],
    ['no version', ({ version: _, ...row }) => row],
    ['no time', (row) => ({ ...row, now: null })],
    ['bytes', (row) => ({ ...row, record: new Uint8Array(2) })],
    ['text for numbers', (row) => ({ ...row, now: 'many', records: 'many' })],
  ])('fails with unknown on rows that are %s', async (_what, change) => {
    const { store, whole } = openChanged((run) => async (statements) => {
      const results = (await run(statements)).map((rows) => rows.map(change));
      return results.map((rows) => rows.map((row) => Object(row)));
    });
    await whole.write('key 1', firstWrite());
    const step = _what === 'text for numbers' ? () => store.count() : () => store.read('key 1');
    expect(await catchError(step())).toMatchObject({
      name: 'JournalError',
      outcome: 'unknown',
      retryable: false,
    });
  });

  test('fails with unknown on a read that returns no row', async () => {
    const { store } = openChanged(() => async () => [[]]);
    expect(await catchError(store.read('key 1'))).toMatchObject({ name: 'JournalError', outcome: 'unknown' });
  });
});
