import { type Client, Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { fromQuery, postgresJournal, postgresSchema } from '../../../src/journal/postgres.ts';
import { createPostgresStore } from '../../../src/journal/postgres-store.ts';
import { startCuttingProxy } from '../../helpers/cutting-proxy.ts';
import {
  createTable,
  IMPATIENT,
  openClient,
  openPool,
  STRICT,
  waitForLock,
} from '../../helpers/postgres-tables.ts';
import { catchError } from '../../helpers/service.ts';
import { asWhole, type WholeStore } from '../../helpers/store-suite.ts';
import {
  createChange,
  createWrite,
  nameKeys,
  readVersion,
  requireMethod,
  writeNew,
} from '../../helpers/store-writes.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const TABLE = 'payments_journal';

const server = useDatabase();
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: server.url });
  // The server can stop before the last connection is closed.
  pool.on('error', () => {});
  await pool.query(postgresSchema());
});

afterAll(() => pool?.end());

const newKey = () => `order ${crypto.randomUUID()}`;

/** Locks a record in a transaction of its own. */
async function lockRecord(table: string, key: string): Promise<Client> {
  const other = await openClient(server);
  await other.query('BEGIN');
  await other.query(`SELECT 1 FROM ${table} WHERE key = $1 FOR UPDATE`, [key]);
  return other;
}

describe('migrate', () => {
  test('can run many times, also concurrently, and keeps the records', async () => {
    const own = openPool(server, { max: 20 });
    const handle = fromQuery((text, values) => own.query(text, values));
    const journals = Array.from({ length: 20 }, (_, index) =>
      postgresJournal(index % 2 ? own : handle, { table: 'made_at_once' }),
    );
    await Promise.all(journals.map((journal) => journal.migrate()));
    const version = await writeNew(createPostgresStore(own, 'made_at_once'), 'order 1');
    await Promise.all(journals.map((journal) => journal.migrate()));
    const { rows } = await own.query(
      "SELECT indexname FROM pg_indexes WHERE tablename = 'made_at_once' ORDER BY 1",
    );
    const indexes = ['attention', 'created', 'due', 'pkey'];
    expect(rows).toEqual(indexes.map((index) => ({ indexname: `made_at_once_${index}` })));
    expect(await readVersion(createPostgresStore(handle, 'made_at_once'), 'order 1')).toBe(version);
  });

  test('hides its own notices only', async () => {
    const client = await openClient(server);
    const notices: unknown[] = [];
    client.on('notice', ({ message }) => notices.push(message));
    await client.query('BEGIN');
    await postgresJournal(client).migrate();
    await client.query("DO $$ BEGIN RAISE NOTICE 'of the merchant'; END $$");
    await client.query('COMMIT');
    expect(notices).toEqual(['of the merchant']);
  });

  test('throws the error of the database', async () => {
    const journal = postgresJournal(pool, { table: 'missing.journal' });
    expect(String(await catchError(journal.migrate()))).toContain('schema "missing" does not exist');
  });

  test('does not wait for an open transaction if nothing is to be changed', async () => {
    const table = await createTable(server);
    await writeNew(table.store, 'order 1');
    const other = await lockRecord(table.name, 'order 1');
    await other.query(`UPDATE ${table.name} SET version = version`);
    await openPool(server, IMPATIENT).query(postgresSchema(table.name));
    expect((await other.query('SELECT 1 AS still_open')).rows).toHaveLength(1);
  });

  test.each(['order.user', 'other.payments_journal', 'a'.repeat(51)])('makes the table %s', async (table) => {
    const [, schema] = /^(.*)\./.exec(table) ?? [];
    if (schema !== undefined) await pool.query(`CREATE SCHEMA "${schema}"`);
    for (const _ of [1, 2]) await pool.query(postgresSchema(table));
    const key = newKey();
    await writeNew(createPostgresStore(pool, table), key);
    expect(await readVersion(createPostgresStore(pool, TABLE), key)).toBeNull();
    const { rows } = await pool.query('SELECT 1 FROM pg_indexes WHERE schemaname = $1 AND tablename = $2', [
      schema ?? 'public',
      table.replace(/^.*\./, ''),
    ]);
    expect(rows).toHaveLength(4);
  });

  test.each(['', 'Journal', 'a b', 'a;b', '1st', 'a"b', 'a.b.c', '.a', "a'b", 'a'.repeat(52), 'a\n', 17])(
    'refuses the table name %j',
    (table) => {
      const options: object = { table };
      expect(() => postgresJournal(pool, options)).toThrow('table must be a plain name in lower case');
      expect(() => Reflect.apply(postgresSchema, undefined, [table])).toThrow('table must be a plain name');
    },
  );
});

test('runs one statement for each step', async () => {
  const client = await openClient(server);
  const run = vi.fn((text: string, values?: unknown[]) => client.query(text, values));
  const counting = { query: run, getTransactionStatus: () => client.getTransactionStatus() };
  const store = asWhole(createPostgresStore(counting, TABLE));
  const key = newKey();
  const change = createChange();
  const steps: (() => Promise<unknown> | undefined)[] = [
    () => store.read(key),
    () => store.write(key, change),
    () => store.write(key, createChange()),
    () => store.write(key, createChange({ expected: change.version })),
    () => store.writeAll?.([createWrite(newKey()), createWrite(newKey())]),
    () => store.list({ by: 'createdAt', after: null, limit: 10 }),
    () => store.list({ by: 'attentionAt', after: { at: 1, key }, limit: 10 }),
    () => store.count(),
    () => store.claimDue({ kind: 'key', limit: 10, lease: 10_000 }),
    () => store.countDue({ kind: 'key' }),
    () => store.delete([{ key, version: change.version }]),
  ];
  for (const step of steps) {
    run.mockClear();
    await step();
    expect(run.mock.calls.length, String(step)).toBe(1);
  }
});

describe('prepared statements', () => {
  const writeTwice = async (client: Pool | Client) => {
    const store = createPostgresStore(client, TABLE);
    for (let count = 0; count < 2; count++) await writeNew(store, newKey());
  };
  const listInserts = async (client: Pool | Client) => {
    const { rows } = await client.query(`SELECT generic_plans + custom_plans > 1 AS reused
      FROM pg_prepared_statements WHERE statement LIKE 'WITH written AS (%INSERT%'`);
    return rows;
  };

  test('are kept by a connection, and not needed once the server has dropped them', async () => {
    const own = openPool(server, { max: 1 });
    await writeTwice(own);
    expect(await listInserts(own)).toEqual([{ reused: true }]);
    await own.query('DISCARD ALL');
    await writeTwice(own);
    expect(await listInserts(own)).toEqual([]);
  });

  test('are not made through a pooler', async () => {
    const own = await openClient(server);
    // As with PgBouncer, which gives each of its clients a number that no process of the server has.
    await writeTwice(Object.assign(own, { processID: -1 }));
    expect(await listInserts(own)).toEqual([]);
  });
});

test('overrides synchronous_commit = off for its own writes only', async () => {
  const own = openPool(server, { options: '-c synchronous_commit=off', max: 1 });
  await own.query(postgresSchema('watched'));
  await own.query(`
    CREATE TABLE committed (how text);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO committed SELECT current_setting('synchronous_commit'); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER noting AFTER INSERT OR UPDATE ON watched
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note();`);
  const store = createPostgresStore(own, 'watched');
  const first = await writeNew(store, 'order 17');
  const second = await writeNew(store, 'order 17', { expected: first });
  const third = await writeNew(store, 'order 17', { expected: second, mustCommit: false });
  const together = [createWrite('order 17', { expected: third }), createWrite('order 18')];
  expect(await requireMethod(store, 'writeAll')(together)).toEqual([true, true]);
  expect((await own.query('SELECT how FROM committed')).rows).toEqual(Array(5).fill({ how: 'on' }));
  expect((await own.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: 'off' }]);
  await own.query('SET synchronous_commit = local');
  await writeNew(store, 'order 19');
  expect((await own.query('SELECT how FROM committed')).rows.at(-1)).toEqual({ how: 'local' });
});

test('keeps a text as it is: what is a number in it, and the same name twice', async () => {
  const store = createPostgresStore(pool, TABLE);
  const [key, text] = [newKey(), '{"a": 1.50, "a":  "\\u0000"}'];
  await writeNew(store, key, { text });
  expect(await store.read(key)).toMatchObject({ record: { text } });
});

describe('a connection that breaks', () => {
  test.each(['ended by the server', 'reset'])('fails its own call only: %s', async (how) => {
    const own = openPool(server, { max: 1 });
    const connections: object[] = [];
    own.on('connect', (client) => connections.push(client));
    const store = createPostgresStore(own, TABLE);
    const key = newKey();
    const expected = await writeNew(store, key);
    const blocker = await lockRecord(TABLE, key);
    const change = createChange({ expected });
    const failure = catchError(store.write(key, change));
    const pid = await waitForLock(pool);
    if (how === 'reset') Object(connections[0]).connection.stream.destroy(new Error('reset'));
    else await blocker.query('SELECT pg_terminate_backend($1)', [pid]);
    expect(await failure).toBeInstanceOf(Error);
    await blocker.query('ROLLBACK');
    // The server might not notice the reset before it has the lock.
    expect([expected, change.version]).toContain(await readVersion(store, key));
    await writeNew(store, newKey());
  });

  test('leaves no listener and no connection behind if it does not', async () => {
    const own = openPool(server, { max: 1 });
    const store = createPostgresStore(own, TABLE);
    await writeNew(store, newKey());
    const count = async () => {
      const client = await own.connect();
      const listeners = client.listenerCount('error');
      client.release();
      return { listeners, client };
    };
    const before = await count();
    for (let written = 0; written < 20; written++) await writeNew(store, newKey());
    const after = await count();
    expect([after.listeners, after.client === before.client]).toEqual([before.listeners, true]);
    expect(own.waitingCount + own.totalCount - own.idleCount).toBe(0);
  });
});

describe('beside other transactions', () => {
  const writeAll = (store: WholeStore, keys: readonly string[], versions?: readonly string[]) =>
    requireMethod(
      store,
      'writeAll',
    )(
      keys.map((key, index) =>
        createWrite(key, { version: `of ${key}`, expected: versions?.[index] ?? null }),
      ),
    );
  const openImpatient = async () => {
    const table = await createTable(server);
    return { ...table, store: asWhole(createPostgresStore(openPool(server, IMPATIENT), table.name)) };
  };

  test.each([
    ['a Pool', async () => openPool(server, STRICT)],
    ['a Client', () => openClient(server, STRICT)],
    [
      'a handle',
      async () => {
        const client = await openClient(server, STRICT);
        return fromQuery((text, values) => client.query(text, values));
      },
    ],
  ])('writes through %s after a strict database refused an overtaken write', async (_what, open) => {
    const store = createPostgresStore(await open(), TABLE);
    for (const mustCommit of [true, false]) {
      const key = newKey();
      const expected = await writeNew(store, key);
      const overtake = async (version: string) => {
        const other = await lockRecord(TABLE, key);
        await other.query(`UPDATE ${TABLE} SET version = $1 WHERE key = $2`, [version, key]);
        const change = createChange({ expected, mustCommit });
        const writing = store.write(key, change);
        await waitForLock(pool);
        await other.query('COMMIT');
        return { isWritten: await writing, version: change.version };
      };
      const { isWritten, version } = await overtake(expected);
      expect([isWritten, await readVersion(store, key)]).toEqual([true, version]);
      await pool.query(`UPDATE ${TABLE} SET version = $1 WHERE key = $2`, [expected, key]);
      expect(await overtake('of another process')).toMatchObject({ isWritten: false });
      expect(await readVersion(store, key)).toBe('of another process');
    }
  });

  test.each(['pg', 'a handle'])('repeats a step that lost to another transaction: %s', async (driver) => {
    const { name } = await createTable(server);
    const client = await openClient(server);
    let refusals = 0;
    const query = async (text: string, values?: unknown[]) => {
      if (/UPDATE|DELETE/.test(text) && refusals++ < 2)
        throw Object.assign(new Error('could not serialize access'), { code: '40001' });
      return client.query(text, values);
    };
    const own =
      driver === 'pg'
        ? { query, getTransactionStatus: () => client.getTransactionStatus() }
        : fromQuery((text, values) => query(text, values));
    const store = asWhole(createPostgresStore(own, name));
    const repeat = async <T>(step: () => Promise<T>) => {
      refusals = 0;
      const result = await step();
      expect(refusals).toBe(3);
      return result;
    };
    const version = await writeNew(store, 'order 1', { index: { dueAt: 0 } });
    const { records } = await repeat(() => store.claimDue({ kind: 'key', limit: 1, lease: 60_000 }));
    expect(records).toMatchObject([{ key: 'order 1', version }]);
    const change = createChange({ expected: version });
    expect(await repeat(() => store.write('order 1', change))).toBe(true);
    expect(await repeat(() => store.delete([{ key: 'order 1', version: change.version }]))).toBe(1);
  });

  test('waits for no record that is locked, when it claims or writes a group', async () => {
    const { store, name } = await openImpatient();
    const keys = nameKeys(4);
    const index = { dueAt: 0 };
    for (const key of keys) await writeNew(store, key, { version: 'first', index });
    const other = await lockRecord(name, 'order 2');
    const claim = async () => (await store.claimDue({ kind: 'key', limit: 10, lease: 60_000 })).records;
    expect((await claim()).map(({ key }) => key)).toEqual(['order 0', 'order 1', 'order 3']);
    const versions = Array(4).fill('first');
    expect(await writeAll(store, keys, versions)).toEqual([true, true, undefined, true]);
    await other.query('COMMIT');
    expect((await claim()).map(({ key }) => key)).toEqual(['order 2']);
    expect(await writeAll(store, keys, versions)).toEqual([undefined, undefined, true, undefined]);
  });

  test.each(['read\\ committed', 'repeatable\\ read', 'serializable'])(
    'shares what is due, and groups of writes, under %s',
    async (level) => {
      const { name, store: first } = await createTable(server);
      const keys = nameKeys(30);
      const options = `-c default_transaction_isolation=${level}`;
      const open = () => asWhole(createPostgresStore(openPool(server, { options }), name));
      /** As a journal does: what was not tried together is written alone. */
      const writeEach = async (store: WholeStore) => {
        const writes = keys.map((key) => createWrite(key, { index: { dueAt: 0 } }));
        const results = await requireMethod(store, 'writeAll')(writes);
        return Promise.all(
          writes.map(({ key, change }, index) => results[index] ?? store.write(key, change)),
        );
      };
      const [one, two] = await Promise.all([writeEach(open()), writeEach(open())]);
      expect(one.map((isWritten, index) => Number(isWritten) + Number(two[index]))).toEqual(
        keys.map(() => 1),
      );
      const store = open();
      const claim = () => store.claimDue({ kind: 'key', limit: 3, lease: 60_000 });
      const claimed = await Promise.all(keys.slice(0, 10).map(claim));
      const found = claimed.flatMap(({ records }) => records.map(({ key }) => key));
      expect(found.toSorted()).toEqual(keys.toSorted());
      expect(await first.countDue({ kind: 'key' })).toMatchObject({ due: 0 });
    },
  );

  /** Inserts a record in an open transaction. A group that inserts the same one waits for it. */
  const openWaiting = async (options = {}) => {
    const table = await createTable(server);
    const store = asWhole(createPostgresStore(openPool(server, options), table.name));
    const other = await openClient(server);
    await other.query('BEGIN');
    await other.query(`INSERT INTO ${table.name} VALUES ('order 2', 'of another', '{}')`);
    const writing = writeAll(store, nameKeys(3));
    const ending = writing.then(
      (results) => ({ results }),
      (error: unknown) => ({ error }),
    );
    const pid = await waitForLock(pool);
    return { ...table, store, other, ending, pid };
  };

  test('writes none of a group whose connection was ended', async () => {
    const { store, other, ending, pid, name, run } = await openWaiting();
    await run('SELECT pg_terminate_backend($1)', [pid]);
    expect(await ending).toEqual({ error: expect.any(Error) });
    await other.query('ROLLBACK');
    expect(await run(`SELECT 1 FROM ${name}`)).toEqual([]);
    expect(await writeAll(store, nameKeys(3))).toEqual([true, true, true]);
  });

  test('tries no write of a group that a strict database refused', async () => {
    const { store, other, ending } = await openWaiting(STRICT);
    await other.query('COMMIT');
    expect(await ending).toEqual({ results: [undefined, undefined, undefined] });
    const alone = nameKeys(3).map((key) => store.write(key, createChange()));
    expect(await Promise.all(alone)).toEqual([true, true, false]);
  });

  test('rejects if the result of a group was lost, which is written', async () => {
    const { name, store: witness } = await createTable(server);
    const proxy = await startCuttingProxy(server.url, (data) => data.includes('json_to_recordset'));
    const own = openPool(server, { connectionString: proxy.url });
    expect(await catchError(writeAll(asWhole(createPostgresStore(own, name)), nameKeys(3)))).toBeInstanceOf(
      Error,
    );
    expect(proxy.cuts()).toBe(1);
    expect(await witness.count()).toEqual({ records: 3, attention: 0 });
  });
});
