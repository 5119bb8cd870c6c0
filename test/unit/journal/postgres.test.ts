import { Client, Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postgresJournal, postgresSchema } from '../../../src/journal/postgres.ts';
import { createPostgresStore } from '../../../src/journal/postgres-store.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import {
  CREATED_AT,
  createChange,
  createIndex,
  createWrite,
  openClient,
  openPool,
  readVersion,
  requireMethod,
  STRICT,
  waitForLock,
  writeNew,
} from '../../helpers/postgres-tables.ts';
import { catchError } from '../../helpers/service.ts';
import { isExhaustive } from '../../helpers/sized.ts';
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

describe('a Pool conforms', () => {
  const cases = journalConformance(async (table) => {
    await pool.query(postgresSchema(table));
    return createPostgresStore(pool, table);
  });
  test.each(cases)('$name', ({ run }) => run());
});

if (isExhaustive) {
  describe('Clients conform', () => {
    const cases = journalConformance(async (table) => {
      const client = new Client({ connectionString: server.url });
      await client.connect();
      await client.query(postgresSchema(table));
      return { store: createPostgresStore(client, table), close: () => client.end() };
    });
    test.each(cases)('$name', ({ run }) => run());
  });

  describe.each(['repeatable\\ read', 'serializable'])('a Pool conforms under %s', (level) => {
    const cases = journalConformance(async (table) => {
      const own = new Pool({
        connectionString: server.url,
        options: `-c default_transaction_isolation=${level}`,
      });
      await own.query(postgresSchema(table));
      return { store: createPostgresStore(own, table), close: () => own.end() };
    });
    test.each(cases)('$name', ({ run }) => run());
  });
}

test('returns the time with a record and without one', async () => {
  const store = createPostgresStore(pool, TABLE);
  const readTime = async () => {
    const { rows } = await pool.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now');
    return Math.floor(Number(rows[0].now));
  };
  const key = newKey();
  const before = await readTime();
  const missing = await store.read(key);
  const version = await writeNew(store, key, { text: '{"a": 1, "a":  "\\u0000"}' });
  const found = await store.read(key);
  const after = await readTime();
  expect(missing).toEqual({ record: null, now: expect.any(Number) });
  expect(found).toEqual({
    record: { version, text: '{"a": 1, "a":  "\\u0000"}' },
    now: expect.any(Number),
  });
  const times = [before, missing.now, found.now, after];
  expect(times).toEqual(times.toSorted((one, other) => one - other));
  expect(times.every(Number.isInteger)).toBe(true);
});

test.each([
  ['a Pool', async () => openPool(server, STRICT)],
  ['a Client', () => openClient(server, STRICT)],
])('writes through %s after the database refused an overtaken write', async (_what, open) => {
  const store = createPostgresStore(await open(), TABLE);
  const key = newKey();
  const expected = await writeNew(store, key);
  const other = await openClient(server);
  const overtake = async (version: string) => {
    await other.query('BEGIN');
    await other.query(`UPDATE ${TABLE} SET version = $1 WHERE key = $2`, [version, key]);
    const change = createChange({ expected });
    const writing = store.write(key, change);
    await waitForLock(pool);
    await other.query('COMMIT');
    return { isWritten: await writing, version: change.version };
  };
  const { isWritten, version } = await overtake(expected);
  expect(isWritten).toBe(true);
  expect(await readVersion(store, key)).toBe(version);
  await pool.query(`UPDATE ${TABLE} SET version = $1 WHERE key = $2`, [expected, key]);
  expect(await overtake('of another process')).toMatchObject({ isWritten: false });
  expect(await readVersion(store, key)).toBe('of another process');
});

describe('migrate', () => {
  test('can run many times, also concurrently', async () => {
    const own = openPool(server, { max: 20 });
    const journals = Array.from({ length: 20 }, () => postgresJournal(own, { table: 'made_at_once' }));
    await Promise.all(journals.map((journal) => journal.migrate()));
    await Promise.all(journals.map((journal) => journal.migrate()));
    const { rows } = await own.query(
      "SELECT indexname FROM pg_indexes WHERE tablename = 'made_at_once' ORDER BY 1",
    );
    const indexes = ['attention', 'created', 'due', 'pkey'];
    expect(rows).toEqual(indexes.map((index) => ({ indexname: `made_at_once_${index}` })));
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

  test('keeps the records', async () => {
    const store = createPostgresStore(pool, TABLE);
    const key = newKey();
    const version = await writeNew(store, key);
    await postgresJournal(pool).migrate();
    expect(await readVersion(store, key)).toBe(version);
  });

  test('throws the error of the database', async () => {
    const journal = postgresJournal(pool, { table: 'missing.journal' });
    expect(String(await catchError(journal.migrate()))).toContain('schema "missing" does not exist');
  });
});

test.each(['order.user', 'a'.repeat(51)])('makes the table %s, and uses it', async (table) => {
  await pool.query('CREATE SCHEMA IF NOT EXISTS "order"');
  await pool.query(postgresSchema(table));
  await pool.query(postgresSchema(table));
  const key = newKey();
  await writeNew(createPostgresStore(pool, table), key);
  expect(await readVersion(createPostgresStore(pool, TABLE), key)).toBeNull();
  const { rows } = await pool.query(`SELECT key FROM ${table.replace(/[^.]+/g, '"$&"')}`);
  expect(rows).toEqual([{ key }]);
});

test.each(['', 'Journal', 'a b', 'a;b', '1st', 'a"b', 'a.b.c', '.a', "a'b", 'a'.repeat(52), 'a\n', 17])(
  'refuses the table name %j',
  (table) => {
    const options: object = { table };
    expect(() => postgresJournal(pool, options)).toThrow('table must be a plain name in lower case');
    expect(() => Reflect.apply(postgresSchema, undefined, [table])).toThrow('table must be a plain name');
  },
);

test('refuses what is not a client', () => {
  for (const client of [undefined, null, {}, 'postgres://localhost']) {
    expect(() => Reflect.apply(postgresJournal, undefined, [client])).toThrow(
      'postgresJournal takes a Pool or a Client of pg.',
    );
  }
});

test('runs one statement for each step', async () => {
  const client = await openClient(server);
  let statements = 0;
  const counting = {
    query: (text: string, values?: unknown[]) => {
      statements++;
      return client.query(text, values);
    },
    getTransactionStatus: () => client.getTransactionStatus(),
  };
  const store = createPostgresStore(counting, TABLE);
  const key = newKey();
  const change = createChange();
  const steps: (() => Promise<unknown> | undefined)[] = [
    () => store.read(key),
    () => store.write(key, change),
    () => store.write(key, createChange()),
    () => store.write(key, createChange({ expected: change.version })),
    () => store.writeAll?.([createWrite(newKey()), createWrite(newKey())]),
    () => store.list?.({ by: 'createdAt', after: null, limit: 10 }),
    () => store.list?.({ by: 'attentionAt', after: { at: 1, key }, limit: 10 }),
    () => store.count?.(),
    () => store.claimDue?.({ kind: 'key', limit: 10, lease: 10_000 }),
    () => store.countDue?.({ kind: 'key' }),
    () => store.delete?.([{ key, version: change.version }]),
  ];
  for (const [index, step] of steps.entries()) {
    statements = 0;
    await step();
    expect({ index, statements }).toEqual({ index, statements: 1 });
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

  test('are kept by a connection to the server', async () => {
    const own = openPool(server, { max: 1 });
    await writeTwice(own);
    expect(await listInserts(own)).toEqual([{ reused: true }]);
  });

  test('are not needed once the server has dropped them', async () => {
    const own = openPool(server, { max: 1 });
    await writeTwice(own);
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
});

test.each(['local', 'remote_write', 'on'])('keeps synchronous_commit = %s', async (setting) => {
  const own = openPool(server, { options: `-c synchronous_commit=${setting}`, max: 1 });
  await writeNew(createPostgresStore(own, TABLE), newKey());
  expect((await own.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: setting }]);
});

test('stores what a record is found by in columns of whole milliseconds', async () => {
  const store = createPostgresStore(pool, TABLE);
  const [alone, grouped, hidden] = [newKey(), newKey(), newKey()];
  const index = createIndex({ kind: 'order', attentionAt: CREATED_AT + 1.4, dueAt: Number.MAX_VALUE });
  await writeNew(store, alone, { index });
  expect(
    await requireMethod(
      store,
      'writeAll',
    )([createWrite(grouped, { index }), createWrite(hidden, { index: null })]),
  ).toEqual([true, true]);
  const { rows } = await pool.query(
    `SELECT key, kind, created_at, attention_at, due_at FROM ${TABLE} WHERE key = ANY ($1)`,
    [[alone, grouped, hidden]],
  );
  const columns = {
    kind: 'order',
    created_at: String(CREATED_AT),
    attention_at: String(CREATED_AT + 1),
    due_at: String(8.64e15),
  };
  const none = { kind: null, created_at: null, attention_at: null, due_at: null };
  expect(rows).toHaveLength(3);
  expect(rows).toEqual(
    expect.arrayContaining([
      { key: alone, ...columns },
      { key: grouped, ...columns },
      { key: hidden, ...none },
    ]),
  );
});
