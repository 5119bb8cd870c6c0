import type { Client, Pool } from 'pg';
import { describe, expect, test, vi } from 'vitest';
import {
  fromQuery,
  type PostgresHandle,
  postgresJournal,
  postgresSchema,
} from '../../../src/stores/postgres/index.ts';
import { createPostgresStore } from '../../../src/stores/postgres/store.ts';
import {
  createTable,
  IMPATIENT,
  openClient,
  openPool,
  openQuery,
  type PostgresTable,
  STRICT,
  useTable,
  waitForLock,
} from '../../helpers/postgres-tables.ts';
import { catchError } from '../../helpers/service.ts';
import { asWhole, listSteps, type WholeStore } from '../../helpers/store-suite.ts';
import { createChange, createWrite, nameKeys, readVersion, writeNew } from '../../helpers/store-writes.ts';
import { startCuttingProxy } from '../../helpers/tcp-proxy.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const server = useDatabase();
const TABLE = 'payments_journal';
const getTable = useTable(server);
const run: PostgresTable['run'] = (text, values) => getTable().run(text, values);

const open = (client: Pool | Client | PostgresHandle, name = TABLE) =>
  asWhole(createPostgresStore(client, name));
const newKey = () => `order ${crypto.randomUUID()}`;

/** Locks a record in a transaction of its own. */
async function lockRecord(key: string): Promise<Client> {
  const other = await openClient(server);
  await other.query('BEGIN');
  await other.query(`SELECT 1 FROM ${TABLE} WHERE key = $1 FOR UPDATE`, [key]);
  return other;
}

describe('migrate', () => {
  test('can run many times, also concurrently, and keeps the records', async () => {
    const own = openPool(server, { max: 20 });
    const handle = openQuery(own);
    const journals = Array.from({ length: 20 }, (_, index) =>
      postgresJournal(index % 2 ? own : handle, { table: 'made_at_once' }),
    );
    await Promise.all(journals.map((journal) => journal.migrate()));
    const version = await writeNew(open(own, 'made_at_once'), 'order 1');
    await Promise.all(journals.map((journal) => journal.migrate()));
    expect(await readVersion(open(handle, 'made_at_once'), 'order 1')).toBe(version);
    const elsewhere = postgresJournal(own, { table: 'missing.journal' });
    expect(String(await catchError(elsewhere.migrate()))).toContain('schema "missing" does not exist');
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

  test('does not wait for an open transaction if nothing is to be changed', async () => {
    await writeNew(getTable().store, 'order 1');
    const other = await lockRecord('order 1');
    await other.query(`UPDATE ${TABLE} SET version = version`);
    await openPool(server, IMPATIENT).query(postgresSchema(TABLE));
    expect((await other.query('SELECT 1 AS still_open')).rows).toHaveLength(1);
  });

  test.each(['order.user', 'other.payments_journal', 'a'.repeat(51)])('makes the table %s', async (name) => {
    const [, schema = 'public'] = /^(.*)\./.exec(name) ?? [];
    await run(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
    for (const _ of [1, 2]) await run(postgresSchema(name));
    await writeNew(open(openPool(server), name), 'order 1');
    const plain = name.replace(/^.*\./, '');
    const indexes = await run(
      'SELECT indexname FROM pg_indexes WHERE schemaname = $1 AND tablename = $2 ORDER BY 1',
      [schema, plain],
    );
    expect(indexes).toEqual(
      ['attention', 'created', 'due', 'pkey'].map((index) => ({ indexname: `${plain}_${index}` })),
    );
  });
});

/** The steps of a store, with the statements of each through pg, and through a handle, which cannot show its transactions. */
const steps: Record<string, readonly [pg: number, handle: number]> = {
  read: [1, 1],
  insert: [1, 3],
  // Nothing is written, so nothing has to be committed.
  update: [1, 2],
  group: [1, 0],
  list: [1, 1],
  attention: [1, 1],
  count: [1, 1],
  countDue: [1, 1],
  claimDue: [1, 2],
  delete: [1, 2],
};

test.each(['pg', 'a handle'])('runs few statements for each step: %s', async (driver) => {
  const { name } = await createTable(server);
  const client = await openClient(server);
  const run = vi.fn((text: string, values?: unknown[]) => client.query(text, values));
  const counting = { query: run, getTransactionStatus: () => client.getTransactionStatus() };
  const store = asWhole(
    createPostgresStore(driver === 'pg' ? counting : fromQuery((text, values) => run(text, values)), name),
  );
  const counts: Record<string, number> = {};
  for (const [step, start] of Object.entries({ read: () => store.read('key 1'), ...listSteps(store) })) {
    run.mockClear();
    await start();
    counts[step] = run.mock.calls.length;
  }
  expect(counts).toEqual(
    Object.fromEntries(Object.entries(steps).map(([step, both]) => [step, both[driver === 'pg' ? 0 : 1]])),
  );
  // A group might belong to one request of a Worker.
  expect('writeAll' in store && store.writeAll !== undefined).toBe(driver === 'pg');
});

test('runs one query of a Client at a time', async () => {
  const client = await openClient(server);
  let [running, most] = [0, 0];
  const query = async (text: string, values?: unknown[]) => {
    most = Math.max(most, ++running);
    return await client.query(text, values).finally(() => running--);
  };
  const store = asWhole(
    createPostgresStore({ query, getTransactionStatus: () => client.getTransactionStatus() }, TABLE),
  );
  const [key, other] = [newKey(), newKey()];
  const failing = store.write('\0', createChange());
  const ends = [
    store.write(key, createChange()),
    store.write(other, createChange({ mustCommit: false })),
    store.read(key).then(({ record }) => record !== null),
  ];
  expect(await catchError(failing)).toBeInstanceOf(Error);
  expect([await Promise.all(ends), most]).toEqual([[true, true, true], 1]);
});

describe('prepared statements', () => {
  const writeTwice = async (client: Pool | Client) => {
    for (let count = 0; count < 2; count++) await writeNew(open(client), newKey());
    const { rows } = await client.query(`SELECT generic_plans + custom_plans > 1 AS reused
      FROM pg_prepared_statements WHERE statement LIKE 'WITH written AS (%INSERT%'`);
    return rows;
  };

  test('are kept by a connection, and not needed once the server has dropped them', async () => {
    const own = openPool(server, { max: 1 });
    expect(await writeTwice(own)).toEqual([{ reused: true }]);
    await own.query('DISCARD ALL');
    expect(await writeTwice(own)).toEqual([]);
  });

  test('are not needed once the table was altered', async () => {
    const own = openPool(server, { max: 1 });
    await own.query(postgresSchema('altered'));
    const store = open(own, 'altered');
    const version = await writeNew(store, 'order 1');
    expect(await readVersion(store, 'order 1')).toBe(version);
    await own.query('ALTER TABLE altered ALTER version TYPE varchar(100)');
    expect(await readVersion(store, 'order 1')).toBe(version);
  });

  test('are not made through a pooler', async () => {
    // As with PgBouncer, which gives each of its clients a number that no process of the server has.
    expect(await writeTwice(Object.assign(await openClient(server), { processID: -1 }))).toEqual([]);
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
  const store = open(own, 'watched');
  let expected: string | null = null;
  for (const mustCommit of [true, true, false])
    expected = await writeNew(store, 'order 17', { expected, mustCommit });
  const together = [createWrite('order 17', { expected }), createWrite('order 18')];
  expect(await store.writeAll?.(together)).toEqual([true, true]);
  expect((await own.query('SELECT how FROM committed')).rows).toEqual(Array(5).fill({ how: 'on' }));
  expect((await own.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: 'off' }]);
  await own.query('SET synchronous_commit = local');
  await writeNew(store, 'order 19');
  expect((await own.query('SELECT how FROM committed')).rows.at(-1)).toEqual({ how: 'local' });
});

describe('a connection that breaks', () => {
  test.each(['ended by the server', 'reset'])('fails its own call only: %s', async (how) => {
    const own = openPool(server, { max: 1 });
    const connections: object[] = [];
    own.on('connect', (client) => connections.push(client));
    const key = newKey();
    const expected = await writeNew(open(own), key);
    const blocker = await lockRecord(key);
    const change = createChange({ expected });
    const failure = catchError(open(own).write(key, change));
    const pid = await waitForLock(blocker);
    if (how === 'reset') Object(connections[0]).connection.stream.destroy(new Error('reset'));
    else await blocker.query('SELECT pg_terminate_backend($1)', [pid]);
    expect(await failure).toBeInstanceOf(Error);
    await blocker.query('ROLLBACK');
    // The server might not notice the reset before it has the lock.
    expect([expected, change.version]).toContain(await readVersion(open(own), key));
    await writeNew(open(own), newKey());
  });

  test('leaves no listener and no connection behind if it does not', async () => {
    const own = openPool(server, { max: 1 });
    await writeNew(open(own), newKey());
    const count = async () => {
      const client = await own.connect();
      const listeners = client.listenerCount('error');
      client.release();
      return { listeners, client };
    };
    const before = await count();
    for (let written = 0; written < 20; written++) await writeNew(open(own), newKey());
    const after = await count();
    expect([after.listeners, after.client === before.client]).toEqual([before.listeners, true]);
    expect(own.waitingCount + own.totalCount - own.idleCount).toBe(0);
  });
});

describe('beside other transactions', () => {
  const writeAll = (store: WholeStore, keys: readonly string[], expected: string | null = null) =>
    store.writeAll?.(keys.map((key) => createWrite(key, { version: `of ${key}`, expected })));

  test.each<[string, () => Promise<Pool | Client | PostgresHandle>]>([
    ['a Pool', async () => openPool(server, STRICT)],
    ['a Client', () => openClient(server, STRICT)],
    ['a handle', async () => openQuery(await openClient(server, STRICT))],
  ])('writes through %s after a strict database refused an overtaken write', async (_what, connect) => {
    const store = open(await connect());
    for (const mustCommit of [true, false]) {
      const key = newKey();
      const expected = await writeNew(store, key);
      const overtake = async (version: string) => {
        const other = await lockRecord(key);
        await other.query(`UPDATE ${TABLE} SET version = $1 WHERE key = $2`, [version, key]);
        const change = createChange({ expected, mustCommit });
        const writing = store.write(key, change);
        await waitForLock(other);
        await other.query('COMMIT');
        return [await writing, (await readVersion(store, key)) === change.version];
      };
      expect(await overtake(expected)).toEqual([true, true]);
      await run(`UPDATE ${TABLE} SET version = $1 WHERE key = $2`, [expected, key]);
      expect(await overtake('of another process')).toEqual([false, false]);
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
    const version = await writeNew(store, 'order 1', { index: { dueAt: 0 } });
    const { claimDue } = listSteps(store);
    for (const [step, result] of [
      [claimDue, { records: [{ key: 'order 1', version }] }],
      [() => store.write('order 1', createChange({ expected: version, version: 'next' })), true],
      [() => store.delete([{ key: 'order 1', version: 'next' }]), 1],
    ] as const) {
      refusals = 0;
      const done: unknown = await step();
      expect({ done, refusals }).toMatchObject({ done: result, refusals: 3 });
    }
  });

  test('waits for no record that is locked, when it claims or writes a group', async () => {
    const { store, name, run } = await createTable(server, IMPATIENT);
    for (const key of nameKeys(4)) await writeNew(store, key, { version: 'first', index: { dueAt: 0 } });
    const other = await openClient(server);
    await other.query(`BEGIN; SELECT 1 FROM ${name} WHERE key = 'order 2' FOR UPDATE`);
    const claim = async () => (await listSteps(store).claimDue()).records.map(({ key }) => key);
    expect(await claim()).toEqual(['order 0', 'order 1', 'order 3']);
    expect(await writeAll(store, nameKeys(4), 'first')).toEqual([true, true, undefined, true]);
    await other.query('COMMIT');
    expect(await claim()).toEqual(['order 2']);
    expect(await writeAll(store, nameKeys(4), 'first')).toEqual([undefined, undefined, true, undefined]);
    expect(await run(`SELECT 1 FROM ${name}`)).toHaveLength(4);
  });

  test.each(['read\\ committed', 'repeatable\\ read', 'serializable'])(
    'shares what is due, and groups of writes, under %s',
    async (level) => {
      const { name } = await createTable(server);
      const keys = nameKeys(30);
      const connect = () =>
        open(openPool(server, { options: `-c default_transaction_isolation=${level}` }), name);
      /** As a journal does: what was not tried together is written alone. */
      const writeEach = async (store: WholeStore) => {
        const writes = keys.map((key) => createWrite(key, { index: { dueAt: 0 } }));
        const results = (await store.writeAll?.(writes)) ?? [];
        const alone = writes.map(({ key, change }, place) => results[place] ?? store.write(key, change));
        return (await Promise.all(alone)).flatMap((isWritten, place) => (isWritten ? [keys[place]] : []));
      };
      const written = await Promise.all([writeEach(connect()), writeEach(connect())]);
      expect(written.flat().toSorted()).toEqual(keys.toSorted());
      const store = connect();
      const claim = () => store.claimDue({ kind: 'key', limit: 3, lease: 60_000 });
      const claimed = await Promise.all(keys.slice(0, 10).map(claim));
      const found = claimed.flatMap(({ records }) => records.map(({ key }) => key));
      expect(found.toSorted()).toEqual(keys.toSorted());
    },
  );

  /** Inserts a record in an open transaction. A group that inserts the same one waits for it. */
  const openWaiting = async (options = {}) => {
    const own = await createTable(server, options);
    const other = await openClient(server);
    await other.query(`BEGIN; INSERT INTO ${own.name} VALUES ('order 2', 'of another', '{}')`);
    const ending = Promise.allSettled([writeAll(own.store, nameKeys(3))]);
    return { ...own, other, ending, pid: await waitForLock(other) };
  };

  test('writes none of a group whose connection was ended', async () => {
    const { store, other, ending, pid, name } = await openWaiting();
    await other.query('SELECT pg_terminate_backend($1)', [pid]);
    expect(await ending).toMatchObject([{ status: 'rejected' }]);
    await other.query('ROLLBACK');
    expect(await run(`SELECT 1 FROM ${name}`)).toEqual([]);
    expect(await writeAll(store, nameKeys(3))).toEqual([true, true, true]);
  });

  test('tries no write of a group that a strict database refused', async () => {
    const { store, other, ending } = await openWaiting(STRICT);
    await other.query('COMMIT');
    expect(await ending).toMatchObject([{ value: [undefined, undefined, undefined] }]);
    const alone = nameKeys(3).map((key) => store.write(key, createChange()));
    expect(await Promise.all(alone)).toEqual([true, true, false]);
  });

  test('rejects if the result of a group was lost, which is written', async () => {
    const { name, store: witness } = await createTable(server);
    const proxy = await startCuttingProxy(server.url, (data) => data.includes('json_to_recordset'));
    const store = open(openPool(server, { connectionString: proxy.url }), name);
    expect(await catchError(Promise.resolve(writeAll(store, nameKeys(3))))).toBeInstanceOf(Error);
    expect(proxy.cuts()).toBe(1);
    expect(await witness.count()).toEqual({ records: 3, attention: 0 });
  });
});
