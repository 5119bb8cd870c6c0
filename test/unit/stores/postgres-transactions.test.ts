import { type Client, Pool } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  fromPostgresJs,
  fromPrisma,
  fromQuery,
  type PostgresHandle,
  type PostgresQuery,
} from '../../../src/stores/postgres/index.ts';
import { createPostgresStore } from '../../../src/stores/postgres/store.ts';
import { closePool } from '../../helpers/close-pool.ts';
import { startPostgres } from '../../helpers/databases.ts';
import {
  openClient,
  openPool,
  openQuery,
  type PostgresTable,
  useTable,
} from '../../helpers/postgres-tables.ts';
import { catchError } from '../../helpers/service.ts';
import { asWhole, listSteps, REFUSED } from '../../helpers/store-suite.ts';
import { createChange, createWrite, readVersion, writeNew } from '../../helpers/store-writes.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const TABLE = 'payments_journal';
const server = useDatabase();
const getTable = useTable(server);
const run: PostgresTable['run'] = (text, values) => getTable().run(text, values);

const newKey = () => `order ${crypto.randomUUID()}`;
const open = (client: Parameters<typeof createPostgresStore>[0]) =>
  asWhole(createPostgresStore(client, TABLE));
/** Reads through a connection of its own: what is committed. */
const readCommitted = (key: string) => readVersion(getTable().store, key);

const isMark = (text: string) => text.includes('set_config') && text.startsWith('SELECT');
const isStatus = (text: string) => text.includes('txid_status');

test('refuses a connection that was released inside a transaction, and the pool recovers', async () => {
  const own = openPool(server, { max: 1 });
  const key = newKey();
  const forgotten = await own.connect();
  await forgotten.query('BEGIN');
  forgotten.release();
  expect(await catchError(open(own).write(key, createChange()))).toMatchObject(REFUSED);
  expect(await readCommitted(key)).toBeNull();
  const version = await writeNew(open(own), key);
  expect(await readCommitted(key)).toBe(version);
});

test('refuses a Pool of pg before 8.21 for what must be committed', async () => {
  const own = openPool(server, { max: 1 });
  own.on('connect', (client) => {
    Object.defineProperty(client, 'getTransactionStatus', { value: undefined });
  });
  const key = newKey();
  expect(await catchError(open(own).write(key, createChange()))).toMatchObject({
    name: 'JournalError',
    outcome: 'not_sent',
    retryable: false,
    message: expect.stringContaining('Upgrade pg to 8.21 or later.'),
  });
  expect(await readCommitted(key)).toBeNull();
  const version = await writeNew(open(own), key, { mustCommit: false });
  expect(await readCommitted(key)).toBe(version);
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
  expect(await catchError(open({ query, ...more }).write(newKey(), createChange()))).toMatchObject({
    name: 'JournalError',
    retryable: false,
    message: expect.stringContaining(instead),
  });
  expect(queries).toEqual([]);
});

test.each(['ROLLBACK', 'COMMIT'])('refuses a write behind a BEGIN that ends in %s', async (ending) => {
  const client = await openClient(server);
  let isBegun = false;
  // The code of the merchant is first in the queue of the connection.
  const beginFirst = async (text: string, values: unknown[] = []) => {
    if (!isBegun && !isMark(text)) await client.query('BEGIN');
    isBegun ||= !isMark(text);
    return client.query(text, values);
  };
  for (const store of [
    open({ query: beginFirst, getTransactionStatus: () => client.getTransactionStatus() }),
    open(fromQuery(beginFirst)),
  ]) {
    const [key, change] = [newKey(), createChange()];
    isBegun = false;
    expect(await catchError(store.write(key, change))).toMatchObject(REFUSED);
    await client.query(ending);
    expect(await readCommitted(key)).toBe(ending === 'ROLLBACK' ? null : change.version);
  }
});

const drivers: [string, (client: Client) => Client | PostgresHandle][] = [
  ['a Client', (client) => client],
  ['a handle', openQuery],
];

test.each(drivers)('refuses to write through %s inside a failed transaction', async (_what, toHandle) => {
  const client = await openClient(server);
  const store = open(toHandle(client));
  const key = newKey();
  const expected = await writeNew(store, key);
  await client.query('BEGIN');
  await catchError(client.query('SELECT 1 / 0'));
  for (const change of [createChange({ expected }), createChange()])
    expect(await catchError(store.write(key, change))).toMatchObject(REFUSED);
  await client.query('ROLLBACK');
  expect(await readCommitted(key)).toBe(expected);
});

test.each(drivers)(
  'leaves the error of a strict transaction that was overtaken: %s',
  async (_what, toHandle) => {
    const client = await openClient(server);
    const store = open(toHandle(client));
    const key = newKey();
    const expected = await writeNew(store, key);
    const write = createWrite(key, { expected, mustCommit: false });
    const group = [write, createWrite(newKey(), { mustCommit: false })];
    for (const step of [() => store.write(key, write.change), () => store.writeAll?.(group)]) {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await store.read(key);
      await run(`UPDATE ${TABLE} SET version = version WHERE key = $1`, [key]);
      const failure = step();
      if (failure) expect(await catchError(failure)).toMatchObject({ code: '40001' });
      await client.query('ROLLBACK');
    }
  },
);

describe('a handle', () => {
  const unproven = (status: string) => ({
    name: 'JournalError',
    outcome: 'not_sent',
    message: expect.stringContaining(
      `does not confirm that the record is committed: its transaction is ${status}`,
    ),
  });

  test.each(['COMMIT', 'ROLLBACK'])(
    'believes the end of a transaction before the check: %s',
    async (ending) => {
      const client = await openClient(server);
      const query: PostgresQuery = async (text, values) => {
        if (isMark(text) || isStatus(text)) return client.query(text, values);
        await client.query('BEGIN');
        const result = await client.query(text, values);
        await client.query(ending);
        return result;
      };
      const [key, change] = [newKey(), createChange()];
      const end: unknown = await open(fromQuery(query))
        .write(key, change)
        .catch((error: unknown) => error);
      if (ending === 'COMMIT') expect(end).toBe(true);
      else expect(end).toMatchObject(unproven('aborted'));
      expect(await readCommitted(key)).toBe(ending === 'COMMIT' ? change.version : null);
    },
  );

  // A pool can run each statement on another connection. `true`: it is the one that was left inside a transaction.
  test.each(
    [0, 1, 2, 3, 4, 5, 6, 7].map((bits) => ({ mark: bits > 3, write: bits % 4 > 1, status: bits % 2 > 0 })),
  )('writes only if the write is outside: $mark, $write, $status', async (route) => {
    const [healthy, forgotten] = [await openClient(server), await openClient(server)];
    await forgotten.query('BEGIN');
    const isOnForgotten = (text: string) => {
      if (isMark(text)) return route.mark;
      return isStatus(text) ? route.status : route.write;
    };
    const store = open(
      fromQuery((text, values) => (isOnForgotten(text) ? forgotten : healthy).query(text, values)),
    );
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
    const { rows } = await client.query('SELECT txid_current()::int AS txid');
    const wanted = Number(rows[0].txid) + 10;
    // There is a committed transaction of that number.
    await elsewhere.query(`DO $$ BEGIN WHILE txid_current() < ${wanted} LOOP COMMIT; END LOOP; END $$`);
    await elsewhere.query('SELECT txid_current()');
    const store = open(
      fromQuery((text, values) => (isStatus(text) ? elsewhere : client).query(text, values)),
    );
    expect(await catchError(store.write(newKey(), createChange()))).toMatchObject(unproven('not known'));
  });

  test('believes no mark that is the result of another query', async () => {
    const store = open(fromQuery((text, values) => run(text, isMark(text) ? ['another'] : values)));
    const key = newKey();
    expect(await catchError(store.write(key, createChange()))).toMatchObject(unproven('not known'));
    expect(await readCommitted(key)).toBeNull();
  });

  test.each([
    ['Prisma', { $connect: () => {} }, {}],
    ['postgres.js', { begin: () => {} }, { savepoint: () => {} }],
  ])('of a transaction is known by its methods: %s', async (driver, outside, inside) => {
    const ran: string[] = [];
    const query = (text: string, values: (string | null)[]) => {
      ran.push(text);
      return run(text, values);
    };
    const openWith = (more: object) => {
      const client = {
        unsafe: (text: string, values: (string | null)[] = []) => query(text, values),
        $queryRawUnsafe: (text: string, ...values: (string | null)[]) => query(text, values),
        $executeRawUnsafe: (text: string) => query(text, []),
        ...more,
      };
      return open(driver === 'Prisma' ? fromPrisma(client) : fromPostgresJs(client));
    };
    await writeNew(openWith(outside), newKey());
    ran.length = 0;
    const refused = { ...REFUSED, retryable: false };
    expect(await catchError(openWith(inside).write(newKey(), createChange()))).toMatchObject(refused);
    expect(ran).toEqual([]);
  });

  type Row = Record<string, unknown>;
  const rename = (change: (name: string) => string) => (row: Row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [change(name), value]));
  /** A store whose query returns other rows. */
  const openChanged = (change: (rows: Row[]) => unknown) =>
    open(
      fromQuery(async (text, values) => {
        expect(values.every((value) => value === null || typeof value === 'string')).toBe(true);
        return change(await run(text, values));
      }),
    );

  test.each<[string, (rows: Row[]) => unknown]>([
    ['undefined', () => undefined],
    ['no row', (rows) => (rows[0]?.mark ? rows : [])],
    ['rows as arrays', (rows) => rows.map((row) => Object.values(row))],
    ['numbers', (rows) => rows.map((row) => ({ ...row, txid: 7 }))],
    ['renamed columns', (rows) => rows.map(rename((name) => `the_${name}`))],
  ])('rejects each step if its query returns %s', async (what, change) => {
    const expected = await writeNew(getTable().store, newKey(), { index: { dueAt: 0 } });
    const store = openChanged(change);
    // An empty page has no row either, and a handle has no groups.
    const { group, attention, list, ...steps } = listSteps(store);
    const update = () => store.write('key 1', createChange({ expected, mustCommit: false }));
    const all = { ...steps, update, read: () => store.read('key 1'), ...(what === 'no row' ? {} : { list }) };
    for (const [name, step] of Object.entries(all))
      expect(await catchError(Promise.resolve(step())), name).toMatchObject({ name: 'JournalError' });
  });

  test('reads columns whose names a driver writes with a capital letter', async () => {
    await run(`DELETE FROM ${TABLE}`);
    const store = openChanged((rows) =>
      rows.map(rename((name) => `${name[0]?.toUpperCase()}${name.slice(1)}`)),
    );
    const version = await writeNew(store, 'key 1', { index: { createdAt: 17, attentionAt: 18, dueAt: 19 } });
    const { attention, count, countDue, claimDue } = listSteps(store);
    const listed = { key: 'key 1', version, text: '{}' };
    expect(await readVersion(store, 'key 1')).toBe(version);
    expect(await attention()).toEqual([{ ...listed, at: 18 }]);
    expect(await count()).toEqual({ records: 1, attention: 1 });
    expect(await countDue()).toEqual({ due: 1, nextIn: null });
    expect((await claimDue()).records).toEqual([{ ...listed, at: 19 }]);
    expect(await store.delete([{ key: 'key 1', version }])).toBe(1);
  });

  test.each([
    ['in code', (code: string) => ({ code })],
    ['in the cause', (code: string) => ({ cause: { code } })],
    [
      'of Prisma 7',
      (originalCode: string) => ({ meta: { driverAdapterError: { cause: { originalCode } } } }),
    ],
    ['of Prisma 6', (code: string) => ({ meta: { code } })],
  ])('names migrate if the table is missing, by the code %s', async (_where, toFields) => {
    const query: PostgresQuery = (text, values) =>
      run(text, values).catch((error: unknown) => {
        throw Object.assign(new Error('failed'), { code: 'P2010', ...toFields(Object(error).code) });
      });
    const store = createPostgresStore(fromQuery(query), 'missing');
    expect(String(await catchError(store.read('order 1')))).toContain('journal.migrate()');
  });
});
