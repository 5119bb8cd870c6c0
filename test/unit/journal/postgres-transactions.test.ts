import { type Client, Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  fromPostgresJs,
  fromPrisma,
  fromQuery,
  type PostgresQuery,
  postgresJournal,
  postgresSchema,
} from '../../../src/journal/postgres.ts';
import { createPostgresStore } from '../../../src/journal/postgres-store.ts';
import { closePool } from '../../helpers/close-pool.ts';
import { startPostgres } from '../../helpers/databases.ts';
import { openClient, openPool } from '../../helpers/postgres-tables.ts';
import { catchError } from '../../helpers/service.ts';
import { asWhole, REFUSED } from '../../helpers/store-suite.ts';
import {
  createChange,
  createWrite,
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
const open = (client: Pool | Client) => asWhole(createPostgresStore(client, TABLE));
const openQuery = (query: PostgresQuery) => asWhole(createPostgresStore(fromQuery(query), TABLE));
const openOn = (client: Client | Pool) => openQuery((text, values) => client.query(text, values));
/** Reads through a connection of its own: what is committed. */
const readCommitted = (key: string) => readVersion(open(pool), key);

describe('a connection that was released inside a transaction', () => {
  test.each(['awaited', 'not awaited'])('is refused, and the pool recovers: BEGIN %s', async (how) => {
    const own = openPool(server, { max: 1 });
    const store = open(own);
    const key = newKey();
    const forgotten = await own.connect();
    const begun = forgotten.query('BEGIN');
    if (how === 'awaited') await begun;
    forgotten.release();
    expect(await catchError(store.write(key, createChange()))).toMatchObject(REFUSED);
    await begun;
    expect(await readCommitted(key)).toBeNull();
    const version = await writeNew(store, key);
    expect(await readCommitted(key)).toBe(version);
  });

  test('refuses pg before 8.21 for what must be committed', async () => {
    const own = openPool(server, { max: 1 });
    own.on('connect', (client) => {
      Object.defineProperty(client, 'getTransactionStatus', { value: undefined });
    });
    const store = open(own);
    const key = newKey();
    for (const statement of ['SELECT 1', 'BEGIN']) {
      const forgotten = await own.connect();
      await forgotten.query(statement);
      forgotten.release();
      expect(await catchError(store.write(key, createChange()))).toMatchObject({
        name: 'JournalError',
        outcome: 'not_sent',
        retryable: false,
        message: expect.stringContaining('Upgrade pg to 8.21 or later.'),
      });
      expect(await readCommitted(key)).toBeNull();
    }
    const version = await writeNew(store, key, { mustCommit: false });
    expect(await readCommitted(key)).toBe(version);
  });
});

test.each([
  ['older than 8.21', {}, 'Upgrade pg to 8.21 or later.'],
  ['in pipeline mode', { getTransactionStatus: () => 'I', pipeline: true }, 'Give the journal the Pool.'],
])('refuses to write on a Client that is %s', async (_which, more, instead) => {
  const queries: string[] = [];
  const query = async (text: string) => {
    queries.push(text);
    return { rows: [] };
  };
  const store = createPostgresStore({ query, ...more }, TABLE);
  expect(await catchError(store.write(newKey(), createChange()))).toMatchObject({
    name: 'JournalError',
    retryable: false,
    message: expect.stringContaining(instead),
  });
  expect(queries).toEqual([]);
});

test.each(['ROLLBACK', 'COMMIT'])('refuses a write behind a BEGIN that ends in %s', async (ending) => {
  const client = await openClient(server);
  const ofHandle = openQuery(async (text, values) => {
    const result = await client.query(text, values);
    if (isMark(text)) await client.query('BEGIN');
    return result;
  });
  for (const store of [open(client), ofHandle]) {
    const [key, change] = [newKey(), createChange()];
    await store.read(key);
    const begun = store === ofHandle ? undefined : client.query('BEGIN');
    expect(await catchError(store.write(key, change))).toMatchObject(REFUSED);
    await begun;
    await client.query(ending);
    expect(await readCommitted(key)).toBe(ending === 'ROLLBACK' ? null : change.version);
  }
});

test.each([
  ['a Client', open],
  ['a handle', openOn],
])(
  'refuses to write through %s after a savepoint, and inside a failed transaction',
  async (_what, openOf) => {
    const client = await openClient(server);
    const store = openOf(client);
    const key = newKey();
    const expected = await writeNew(store, key);
    await client.query('BEGIN; SAVEPOINT here');
    const claim = () => store.claimDue({ kind: 'key', limit: 10, lease: 10_000 });
    // Nothing is due.
    for (const step of [() => store.write('order 2', createChange()), claim])
      expect(await catchError(step())).toMatchObject(REFUSED);
    await catchError(client.query('SELECT 1 / 0'));
    for (const change of [createChange({ expected }), createChange()])
      expect(await catchError(store.write(key, change))).toMatchObject(REFUSED);
    await client.query('ROLLBACK');
    expect([await readCommitted('order 2'), await readCommitted(key)]).toEqual([null, expected]);
  },
);

test.each([
  ['a Client', open],
  ['a handle', openOn],
])('leaves the error of a strict transaction that was overtaken: %s', async (_what, openOf) => {
  const client = await openClient(server);
  const store = openOf(client);
  const key = newKey();
  const expected = await writeNew(store, key);
  const write = createWrite(key, { expected, mustCommit: false });
  for (const step of [
    () => store.write(key, write.change),
    () => store.writeAll?.([write, createWrite(newKey(), { mustCommit: false })]),
  ]) {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await store.read(key);
    await pool.query(`UPDATE ${TABLE} SET version = version WHERE key = $1`, [key]);
    const failure = step();
    if (failure) expect(await catchError(failure)).toMatchObject({ code: '40001' });
    await client.query('ROLLBACK');
  }
});

const isMark = (text: string) => text.includes('set_config') && text.startsWith('SELECT');
const isStatus = (text: string) => text.includes('txid_status');

const UNPROVEN = {
  name: 'JournalError',
  outcome: 'not_sent',
  message: expect.stringContaining('does not confirm that the record is committed'),
};

describe('a handle', () => {
  test.each(['COMMIT', 'ROLLBACK'])(
    'believes the end of a transaction before the check: %s',
    async (ending) => {
      const client = await openClient(server);
      const store = openQuery(async (text, values) => {
        if (isMark(text) || isStatus(text)) return client.query(text, values);
        await client.query('BEGIN');
        const result = await client.query(text, values);
        await client.query(ending);
        return result;
      });
      const [key, change] = [newKey(), createChange()];
      const writing = store.write(key, change);
      if (ending === 'COMMIT') expect(await writing).toBe(true);
      else
        expect(await catchError(writing)).toMatchObject({
          ...UNPROVEN,
          message: expect.stringContaining('aborted'),
        });
      expect(await readCommitted(key)).toBe(ending === 'COMMIT' ? change.version : null);
    },
  );

  const eachRoute = [false, true].flatMap((mark) =>
    [false, true].flatMap((write) => [false, true].map((status) => ({ mark, write, status }))),
  );
  // A pool can run each statement on another connection. `true`: it is the one that was left inside a transaction.
  test.each(eachRoute)('writes only if the write is outside: $mark, $write, $status', async (route) => {
    const [healthy, forgotten] = [await openClient(server), await openClient(server)];
    const isOnForgotten = (text: string) => {
      if (isMark(text)) return route.mark;
      return isStatus(text) ? route.status : route.write;
    };
    const store = openQuery((text, values) =>
      (isOnForgotten(text) ? forgotten : healthy).query(text, values),
    );
    await forgotten.query('BEGIN');
    const [key, change] = [newKey(), createChange()];
    const writing = store.write(key, change);
    if (route.write) expect(await catchError(writing)).toMatchObject(REFUSED);
    else expect(await writing).toBe(true);
    expect(await readCommitted(key)).toBe(route.write ? null : change.version);
  });

  test('believes only the server that wrote', async () => {
    const other = await startPostgres();
    const elsewhere = new Pool({ connectionString: other.url });
    onTestFinished(async () => {
      await closePool(elsewhere);
      await other.stop();
    });
    const client = await openClient(server);
    const store = openQuery((text, values) => (isStatus(text) ? elsewhere : client).query(text, values));
    const { rows } = await client.query('SELECT txid_current()::int AS txid');
    const wanted = Number(rows[0].txid) + 10;
    // There is a committed transaction of that number.
    await elsewhere.query(`DO $$ BEGIN WHILE txid_current() < ${wanted} LOOP COMMIT; END LOOP; END $$`);
    await elsewhere.query('SELECT txid_current()');
    expect(await catchError(store.write(newKey(), createChange()))).toMatchObject(UNPROVEN);
  });

  test('believes no mark that is the result of another query', async () => {
    const store = openQuery((text, values) => pool.query(text, isMark(text) ? ['another'] : values));
    const key = newKey();
    expect(await catchError(store.write(key, createChange()))).toMatchObject(UNPROVEN);
    expect(await readCommitted(key)).toBeNull();
  });

  test('takes three statements for what must be committed, and one for the rest', async () => {
    const run: string[] = [];
    const store = openQuery((text, values) => {
      run.push(text);
      expect(values.every((value) => value === null || typeof value === 'string')).toBe(true);
      return pool.query(text, values);
    });
    const [key, version] = [newKey(), 'first'];
    const steps: [number, () => Promise<unknown>][] = [
      [3, () => store.write(key, createChange({ version }))],
      // Nothing was written, so nothing has to be committed.
      [2, () => store.write(key, createChange())],
      [1, () => store.write(newKey(), createChange({ mustCommit: false, index: null }))],
      [1, () => store.read(key)],
      [1, () => store.list({ by: 'attentionAt', after: null, limit: 1 })],
      [1, () => store.count()],
      [1, () => store.countDue({ kind: 'key' })],
      [2, () => store.claimDue({ kind: 'key', limit: 10, lease: 10_000 })],
      [3, () => store.delete([{ key, version }])],
    ];
    for (const [expected, step] of steps) {
      run.length = 0;
      await step();
      expect(run.length, String(step)).toBe(expected);
    }
    // A group might belong to one request of a Worker.
    expect([store.writeAll, open(pool).writeAll]).toEqual([undefined, expect.any(Function)]);
  });

  test.each([
    ['Prisma', { $connect: () => {} }, {}],
    ['postgres.js', { begin: () => {} }, { savepoint: () => {} }],
  ])('of a transaction is known by its methods: %s', async (driver, outside, inside) => {
    const run: string[] = [];
    const query = async (text: string, values: (string | null)[]) => {
      run.push(text);
      return (await pool.query(text, values)).rows;
    };
    const methods = {
      unsafe: (text: string, values: (string | null)[] = []) => query(text, values),
      $queryRawUnsafe: (text: string, ...values: (string | null)[]) => query(text, values),
      $executeRawUnsafe: (text: string) => query(text, []),
    };
    const openWith = (more: object) => {
      const client = { ...methods, ...more };
      return createPostgresStore(driver === 'Prisma' ? fromPrisma(client) : fromPostgresJs(client), TABLE);
    };
    await writeNew(openWith(outside), newKey());
    run.length = 0;
    const refused = { ...REFUSED, retryable: false };
    expect(await catchError(openWith(inside).write(newKey(), createChange()))).toMatchObject(refused);
    expect(run).toEqual([]);
  });
});

type Row = Record<string, unknown>;
const rename =
  (change: (name: string) => string) =>
  (row: Row): Row =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [change(name), value]));

/** A store whose query returns other rows. */
const openChanged = (change: (rows: Row[]) => unknown) =>
  openQuery(async (text, values) => change((await pool.query(text, values)).rows));

test.each<[string, (rows: Row[]) => unknown]>([
  ['undefined', () => undefined],
  ['no row', (rows) => (rows[0]?.mark ? rows : [])],
  ['rows as arrays', (rows) => rows.map((row) => Object.values(row))],
  ['numbers', (rows) => rows.map((row) => ({ ...row, txid: 7 }))],
  ['renamed columns', (rows) => rows.map(rename((name) => `the_${name}`))],
])('rejects each step if its query returns %s', async (what, change) => {
  const key = newKey();
  const expected = await writeNew(openOn(pool), key, { index: { dueAt: 0 } });
  const store = openChanged(change);
  for (const step of [
    () => store.write(newKey(), createChange()),
    () => store.write(key, createChange({ expected, mustCommit: false })),
    () => store.read(key),
    // An empty page has no row either.
    ...(what === 'no row' ? [] : [() => store.list({ by: 'createdAt', after: null, limit: 10 })]),
    () => store.count(),
    () => store.countDue({ kind: 'key' }),
    () => store.claimDue({ kind: 'key', limit: 10, lease: 10_000 }),
    () => store.delete([{ key: newKey(), version: 'first' }]),
  ])
    expect(await catchError(step())).toMatchObject({ name: 'JournalError' });
});

test('reads columns whose names a driver writes with a capital letter', async () => {
  await pool.query(`DELETE FROM ${TABLE}`);
  const store = openChanged((rows) =>
    rows.map(rename((name) => `${name[0]?.toUpperCase()}${name.slice(1)}`)),
  );
  const index = { createdAt: 17, attentionAt: 18, dueAt: 19 };
  const version = await writeNew(store, 'order 1', { index });
  const listed = { key: 'order 1', version, text: '{}' };
  expect(await readVersion(store, 'order 1')).toBe(version);
  expect(await store.list({ by: 'attentionAt', after: null, limit: 1 })).toEqual([{ ...listed, at: 18 }]);
  expect(await store.count()).toEqual({ records: 1, attention: 1 });
  expect(await store.countDue({ kind: 'key' })).toEqual({ due: 1, nextIn: null });
  const { records } = await store.claimDue({ kind: 'key', limit: 10, lease: 10_000 });
  expect(records).toEqual([{ ...listed, at: 19 }]);
  expect(await requireMethod(store, 'delete')([{ key: 'order 1', version }])).toBe(1);
});

test.each([
  ['in code', (code: string) => ({ code })],
  ['in the cause', (code: string) => ({ cause: { code } })],
  [
    'of Prisma 7',
    (code: string) => ({ code: 'P2010', meta: { driverAdapterError: { cause: { originalCode: code } } } }),
  ],
  ['of Prisma 6', (code: string) => ({ code: 'P2010', meta: { code } })],
])('names migrate if the table is missing, by the code %s', async (_where, fields) => {
  const query: PostgresQuery = (text, values) =>
    pool.query(text, values).catch((error: unknown) => {
      throw Object.assign(new Error('failed'), fields(Object(error).code));
    });
  const store = createPostgresStore(fromQuery(query), 'missing');
  expect(String(await catchError(store.read('order 1')))).toContain('journal.migrate()');
});

describe('refuses', () => {
  const sql = Object.assign(() => {}, { unsafe: () => {}, begin: () => {} });
  const neon = Object.assign(() => {}, { unsafe: () => {}, query: () => {}, transaction: () => {} });
  test.each([
    ['postgres.js', sql, 'Use fromPostgresJs(sql).'],
    ['Prisma', { $queryRawUnsafe: () => {}, $executeRawUnsafe: () => {} }, 'Use fromPrisma(prisma).'],
    ['Drizzle', { query: {}, execute: () => {} }, 'Use fromQuery('],
    ['Kysely', { executeQuery: () => {} }, 'Use fromQuery('],
    ['PGlite', { query: () => {}, exec: () => {} }, 'Use fromQuery('],
    ['the HTTP client of Neon', neon, 'Use fromQuery('],
  ])('%s as it is, and names the function for it', (_what, client, instead) => {
    expect(() => Reflect.apply(postgresJournal, undefined, [client])).toThrow(instead);
  });

  test.each([undefined, null, {}, 'postgres://localhost'])('what is not a driver: %j', (value) => {
    for (const [take, message] of [
      [postgresJournal, 'postgresJournal takes a Pool or a Client of pg.'],
      [fromPostgresJs, 'fromPostgresJs takes'],
      [fromPrisma, 'fromPrisma takes'],
      [fromQuery, 'fromQuery takes'],
    ] as const)
      expect(() => Reflect.apply(take, undefined, [value])).toThrow(message);
  });
});
