import { type Client, Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  fromPostgresJs,
  fromPrisma,
  fromQuery,
  type PostgresQuery,
  postgresJournal,
  postgresSchema,
} from '../../../src/journal/postgres.ts';
import { createPostgresStore } from '../../../src/journal/postgres-store.ts';
import type { JournalStore } from '../../../src/journal/store.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { closePool } from '../../helpers/close-pool.ts';
import { startPostgres } from '../../helpers/databases.ts';
import {
  createChange,
  createIndex,
  openClient,
  REFUSED,
  readVersion,
  requireMethod,
  STRICT,
  waitForLock,
  writeNew,
} from '../../helpers/postgres-tables.ts';
import { catchError } from '../../helpers/service.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const TABLE = 'payments_journal';

const server = useDatabase();
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: server.url });
  await pool.query(postgresSchema());
});

beforeEach(async () => {
  await pool.query(`DELETE FROM ${TABLE}`);
});

afterAll(() => pool?.end());

const isMark = (text: string) => text.includes('set_config') && text.startsWith('SELECT');
const isStatus = (text: string) => text.includes('txid_status');

const UNPROVEN = {
  name: 'JournalError',
  outcome: 'not_sent',
  message: expect.stringContaining('does not confirm that the record is committed'),
};

const openQuery = (query: PostgresQuery) => createPostgresStore(fromQuery(query), TABLE);

const openOn = (client: Client | Pool) => openQuery((text, values) => client.query(text, values));

/** Reads through a connection of its own: what is committed. */
const readCommitted = (key: string) => readVersion(createPostgresStore(pool, TABLE), key);

const CLAIM = { kind: 'key', limit: 10, lease: 10_000 } as const;

const claimDue = async (store: JournalStore) => (await requireMethod(store, 'claimDue')(CLAIM)).records;

describe('fromQuery conforms', () => {
  const cases = journalConformance(async (table) => {
    const handle = fromQuery(async (text, values) => (await pool.query(text, values)).rows);
    await handle.runSchema(postgresSchema(table));
    return createPostgresStore(handle, table);
  });
  test.each(cases)('$name', ({ run }) => run());
});

describe('inside a transaction', () => {
  test('refuses to write, and writes nothing into it', async () => {
    const client = await openClient(server);
    const store = openOn(client);
    const version = await writeNew(store, 'order 1', { index: createIndex({ dueAt: 0 }) });
    await client.query('BEGIN');
    for (const step of [
      () => store.write('order 1', createChange({ expected: version })),
      () => store.write('order 2', createChange()),
      () => claimDue(store),
      () => requireMethod(store, 'delete')([{ key: 'order 1', version }]),
    ])
      expect(await catchError(step())).toMatchObject(REFUSED);
    const { rows } = await client.query('SELECT txid_current_if_assigned() AS txid');
    expect(rows).toEqual([{ txid: null }]);
    await client.query('COMMIT');
    expect([await readCommitted('order 1'), await readCommitted('order 2')]).toEqual([version, null]);
    expect(await claimDue(store)).toMatchObject([{ key: 'order 1', version }]);
    await writeNew(store, 'order 2');
  });

  test('refuses to claim what is due if nothing is', async () => {
    const client = await openClient(server);
    await client.query('BEGIN');
    expect(await catchError(claimDue(openOn(client)))).toMatchObject(REFUSED);
    await client.query('ROLLBACK');
  });

  test('refuses to write after a savepoint, and inside a failed one', async () => {
    const client = await openClient(server);
    const store = openOn(client);
    const expected = await writeNew(store, 'order 1');
    await client.query('BEGIN');
    await client.query('SAVEPOINT here');
    expect(await catchError(store.write('order 2', createChange()))).toMatchObject(REFUSED);
    await catchError(client.query('SELECT 1 / 0'));
    expect(await catchError(store.write('order 1', createChange({ expected })))).toMatchObject(REFUSED);
    expect(await catchError(store.write('order 2', createChange()))).toMatchObject(REFUSED);
    await client.query('ROLLBACK');
    expect(await readCommitted('order 2')).toBeNull();
  });

  test.each(['ROLLBACK', 'COMMIT'])('refuses if it begins before the write: %s', async (ending) => {
    const client = await openClient(server);
    const store = openQuery(async (text, values) => {
      const result = await client.query(text, values);
      if (isMark(text)) await client.query('BEGIN');
      return result;
    });
    const change = createChange();
    expect(await catchError(store.write('order 1', change))).toMatchObject(REFUSED);
    await client.query(ending);
    expect(await readCommitted('order 1')).toBe(ending === 'ROLLBACK' ? null : change.version);
  });

  test('writes if it begins before the write and is committed before the check', async () => {
    const client = await openClient(server);
    const store = openQuery(async (text, values) => {
      const result = await client.query(text, values);
      if (isMark(text)) await client.query('BEGIN');
      else if (!isStatus(text)) await client.query('COMMIT');
      return result;
    });
    const version = await writeNew(store, 'order 1');
    expect(await readCommitted('order 1')).toBe(version);
  });

  test('rejects if it is rolled back before the check', async () => {
    const client = await openClient(server);
    const store = openQuery(async (text, values) => {
      if (isMark(text) || isStatus(text)) return client.query(text, values);
      await client.query('BEGIN');
      const result = await client.query(text, values);
      await client.query('ROLLBACK');
      return result;
    });
    expect(await catchError(store.write('order 2', createChange()))).toMatchObject({
      ...UNPROVEN,
      message: expect.stringContaining('aborted'),
    });
    expect(await readCommitted('order 2')).toBeNull();
  });

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
    const change = createChange();
    const writing = store.write('order 1', change);
    if (route.write) expect(await catchError(writing)).toMatchObject(REFUSED);
    else expect(await writing).toBe(true);
    expect(await readCommitted('order 1')).toBe(route.write ? null : change.version);
  });

  test('reads, lists and writes as a part of it', async () => {
    const client = await openClient(server);
    const store = openOn(client);
    const expected = await writeNew(store, 'order 1');

    await client.query('BEGIN');
    const version = await writeNew(store, 'order 1', { expected, mustCommit: false });
    expect(await readVersion(store, 'order 1')).toBe(version);
    const listed = await requireMethod(store, 'list')({ by: 'createdAt', after: null, limit: 1 });
    expect(listed).toMatchObject([{ key: 'order 1', version }]);
    expect(await readCommitted('order 1')).toBe(expected);
    await client.query('ROLLBACK');
    expect(await readVersion(store, 'order 1')).toBe(expected);

    await client.query('BEGIN');
    const again = await writeNew(store, 'order 1', { expected, mustCommit: false });
    await client.query('COMMIT');
    expect(await readCommitted('order 1')).toBe(again);
  });

  test('leaves the error of a strict transaction that was overtaken', async () => {
    const client = await openClient(server);
    const store = openOn(client);
    const expected = await writeNew(store, 'order 1');
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await store.read('order 1');
    await pool.query(`UPDATE ${TABLE} SET version = version`);
    const failure = await catchError(store.write('order 1', createChange({ expected, mustCommit: false })));
    expect(failure).toMatchObject({ code: '40001' });
    await client.query('ROLLBACK');
  });
});

test.each([true, false])(
  'writes after a strict database refused an overtaken write, mustCommit: %s',
  async (mustCommit) => {
    const store = openOn(await openClient(server, STRICT));
    const expected = await writeNew(store, 'order 1');
    const other = await openClient(server);
    await other.query('BEGIN');
    await other.query(`UPDATE ${TABLE} SET version = version`);
    const change = createChange({ expected, mustCommit });
    const writing = store.write('order 1', change);
    await waitForLock(pool);
    await other.query('COMMIT');
    expect(await writing).toBe(true);
    expect(await readCommitted('order 1')).toBe(change.version);
  },
);

test('takes three statements for what must be committed, and one for the rest', async () => {
  let statements = 0;
  const store = openQuery((text, values) => {
    statements++;
    expect(values.every((value) => value === null || typeof value === 'string')).toBe(true);
    return pool.query(text, values);
  });
  const version = 'first';
  const steps: [number, () => Promise<unknown> | undefined][] = [
    [3, () => store.write('order 1', createChange({ version }))],
    // Nothing was written, so nothing has to be committed.
    [2, () => store.write('order 1', createChange())],
    [1, () => store.write('order 2', createChange({ mustCommit: false, index: null }))],
    [1, () => store.read('order 1')],
    [1, () => store.list?.({ by: 'attentionAt', after: null, limit: 1 })],
    [1, () => store.count?.()],
    [1, () => store.countDue?.({ kind: 'key' })],
    [2, () => store.claimDue?.(CLAIM)],
    [3, () => store.delete?.([{ key: 'order 1', version }])],
  ];
  for (const [expected, step] of steps) {
    statements = 0;
    await step();
    expect({ step: String(step), statements }).toEqual({ step: String(step), statements: expected });
  }
});

test('writes no group: the handle might belong to one request of a Worker', () => {
  expect(openOn(pool).writeAll).toBeUndefined();
  expect(createPostgresStore(pool, TABLE).writeAll).toBeDefined();
});

test('believes only the server that wrote', async () => {
  const other = await startPostgres();
  const elsewhere = new Pool({ connectionString: other.url });
  onTestFinished(async () => {
    await closePool(elsewhere);
    await other.stop();
  });
  const client = await openClient(server);
  let isRouted = false;
  const store = openQuery((text, values) =>
    (isRouted && text.startsWith('SELECT') ? elsewhere : client).query(text, values),
  );
  const expected = await writeNew(store, 'order 1');
  const { rows } = await client.query('SELECT txid_current()::int AS txid');
  const wanted = Number(rows[0].txid) + 10;
  await elsewhere.query(`DO $$ BEGIN WHILE txid_current() < ${wanted} LOOP COMMIT; END LOOP; END $$`);
  await elsewhere.query('SELECT txid_current()');
  isRouted = true;
  await client.query('BEGIN');
  expect(await catchError(store.write('order 1', createChange({ expected })))).toMatchObject(UNPROVEN);
  await client.query('ROLLBACK');
});

test.each([
  ['Prisma', { $connect: () => {} }, {}],
  ['postgres.js', { begin: () => {} }, { savepoint: () => {} }],
])('knows the handle of a transaction by its methods: %s', async (driver, outside, inside) => {
  const statements: string[] = [];
  const run = async (text: string, values: (string | null)[]) => {
    statements.push(text);
    return (await pool.query(text, values)).rows;
  };
  const methods = {
    unsafe: (text: string, values: (string | null)[] = []) => run(text, values),
    $queryRawUnsafe: (text: string, ...values: (string | null)[]) => run(text, values),
    $executeRawUnsafe: (text: string) => run(text, []),
  };
  const open = (more: object) => {
    const client = { ...methods, ...more };
    return createPostgresStore(driver === 'Prisma' ? fromPrisma(client) : fromPostgresJs(client), TABLE);
  };
  await writeNew(open(outside), 'order 1');
  statements.length = 0;
  expect(await catchError(open(inside).write('order 2', createChange()))).toMatchObject({
    ...REFUSED,
    retryable: false,
  });
  expect(statements).toEqual([]);
});

describe('a query that does not return the rows', () => {
  const rowsOf = async (text: string, values: (string | null)[]) => (await pool.query(text, values)).rows;
  const broken: [string, PostgresQuery][] = [
    ['undefined', async () => undefined],
    ['no row', async (text, values) => (isMark(text) ? rowsOf(text, values) : [])],
    ['rows as arrays', async (text, values) => (await rowsOf(text, values)).map((row) => Object.values(row))],
    ['numbers', async (text, values) => (await rowsOf(text, values)).map((row) => ({ ...row, txid: 7 }))],
    [
      'renamed columns',
      async (text, values) =>
        (await rowsOf(text, values)).map((row) =>
          Object.fromEntries(Object.entries(row).map(([name, value]) => [`the_${name}`, value])),
        ),
    ],
  ];

  test.each(broken)('rejects each step: %s', async (_what, query) => {
    const expected = await writeNew(openOn(pool), 'order 1', { index: createIndex({ dueAt: 0 }) });
    const store = openQuery(query);
    for (const step of [
      () => store.write('order 2', createChange()),
      () => store.write('order 1', createChange({ expected, mustCommit: false })),
      () => store.read('order 1'),
      () => requireMethod(store, 'count')(),
      () => requireMethod(store, 'countDue')({ kind: 'key' }),
      () => claimDue(store),
      () => requireMethod(store, 'delete')([{ key: 'order 2', version: 'first' }]),
    ])
      expect(await catchError(step())).toMatchObject({ name: 'JournalError' });
  });
});

test('reads columns whose names a driver writes with a capital letter', async () => {
  const store = openQuery(async (text, values) => {
    const { rows } = await pool.query(text, values);
    const capitalize = ([name, value]: [string, unknown]) => [
      `${name[0]?.toUpperCase()}${name.slice(1)}`,
      value,
    ];
    return rows.map((row) => Object.fromEntries(Object.entries<unknown>(row).map(capitalize)));
  });
  const index = createIndex({ createdAt: 17, attentionAt: 18, dueAt: 19 });
  const version = await writeNew(store, 'order 1', { index });
  const listed = { key: 'order 1', version, text: '{}' };
  const list = requireMethod(store, 'list');
  expect(await readVersion(store, 'order 1')).toBe(version);
  expect(await list({ by: 'createdAt', after: null, limit: 1 })).toEqual([{ ...listed, at: 17 }]);
  expect(await list({ by: 'attentionAt', after: null, limit: 1 })).toEqual([{ ...listed, at: 18 }]);
  expect(await requireMethod(store, 'count')()).toEqual({ records: 1, attention: 1 });
  expect(await requireMethod(store, 'countDue')({ kind: 'key' })).toEqual({ due: 1, nextIn: null });
  expect(await claimDue(store)).toEqual([{ ...listed, at: 19 }]);
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

test('makes the table through a handle', async () => {
  const handle = fromQuery((text, values) => pool.query(text, values));
  await postgresJournal(handle, { table: 'made_by_handle' }).migrate();
  await writeNew(createPostgresStore(handle, 'made_by_handle'), 'order 1');
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

  test('what is not a driver', () => {
    for (const value of [undefined, null, {}, 'postgres://localhost']) {
      expect(() => Reflect.apply(fromPostgresJs, undefined, [value])).toThrow('fromPostgresJs takes');
      expect(() => Reflect.apply(fromPrisma, undefined, [value])).toThrow('fromPrisma takes');
      expect(() => Reflect.apply(fromQuery, undefined, [value])).toThrow('fromQuery takes');
    }
  });
});
