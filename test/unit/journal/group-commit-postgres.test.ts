import type { Client } from 'pg';
import { expect, test, vi } from 'vitest';
import { createPostgresStore } from '../../../src/journal/postgres-store.ts';
import type { JournalStore, RecordWrite } from '../../../src/journal/store.ts';
import { startCuttingProxy } from '../../helpers/cutting-proxy.ts';
import {
  createTable,
  createWrite,
  IMPATIENT,
  openClient,
  openPool,
  type PostgresTable,
  REFUSED,
  readVersion,
  requireMethod,
  STRICT,
  writeNew,
} from '../../helpers/postgres-tables.ts';
import { catchError } from '../../helpers/service.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const server = useDatabase();

const nameKeys = (count: number) => Array.from({ length: count }, (_, index) => `order ${index}`);

const writeAll = async (store: JournalStore, writes: readonly RecordWrite[]) =>
  await requireMethod(store, 'writeAll')(writes);

const readVersions = ({ store }: PostgresTable, writes: readonly RecordWrite[]) =>
  Promise.all(writes.map(({ key }) => readVersion(store, key)));

const versionsOf = (writes: readonly RecordWrite[]) => writes.map(({ change }) => change.version);

test('writes records in one transaction, each by its own comparison', async () => {
  const table = await createTable(server);
  const { store } = table;
  const kept = await writeNew(store, 'order 20');
  const first = nameKeys(21).map((key) => createWrite(key));
  // The last one is there already.
  expect(await writeAll(store, first)).toEqual([...Array(20).fill(true), false]);
  expect(await readVersions(table, first)).toEqual([...versionsOf(first).slice(0, 20), kept]);
  const countCommits = async (keys: readonly string[]) =>
    await table.run(
      `SELECT count(DISTINCT xmin::text)::int AS commits FROM ${table.name} WHERE key = ANY ($1)`,
      [keys],
    );
  expect(await countCommits(nameKeys(20))).toEqual([{ commits: 1 }]);

  const second = first.map(({ key, change: { version } }) => createWrite(key, { expected: version }));
  const others = [createWrite('order new'), createWrite('order missing', { expected: 'gone' })];
  expect(await writeAll(store, [...second, ...others])).toEqual([
    ...Array(20).fill(true),
    undefined,
    true,
    undefined,
  ]);
  expect(await readVersions(table, [...second, ...others])).toEqual([
    ...versionsOf(second).slice(0, 20),
    kept,
    others[0]?.change.version,
    null,
  ]);
  expect(await countCommits([...nameKeys(20), 'order new'])).toEqual([{ commits: 1 }]);
});

test.each(['read\\ committed', 'repeatable\\ read', 'serializable'])(
  'writes each key once for two groups at the same time under %s',
  async (isolation) => {
    const table = await createTable(server);
    const open = () =>
      createPostgresStore(
        openPool(server, { options: `-c default_transaction_isolation=${isolation}` }),
        table.name,
      );
    /** As a journal does: what was not tried together is written alone. */
    const writeEach = async (store: JournalStore, writes: readonly RecordWrite[]) => {
      const results = await writeAll(store, writes);
      return Promise.all(writes.map(({ key, change }, index) => results[index] ?? store.write(key, change)));
    };
    const groups = [open(), open()].map((store) => ({
      store,
      writes: nameKeys(20).map((key) => createWrite(key)),
    }));
    const results = await Promise.all(groups.map(({ store, writes }) => writeEach(store, writes)));
    const winners = nameKeys(20).map((_, index) =>
      groups.flatMap(({ writes }, group) => (results[group]?.[index] ? [writes[index]?.change.version] : [])),
    );
    expect(winners).toEqual((await readVersions(table, groups[0]?.writes ?? [])).map((version) => [version]));
  },
);

test('does not let a locked record hold up the others', async () => {
  const table = await createTable(server);
  const store = createPostgresStore(openPool(server, IMPATIENT), table.name);
  const first = nameKeys(4).map((key) => createWrite(key));
  await writeAll(store, first);
  const other = await openClient(server);
  await other.query('BEGIN');
  await other.query(`SELECT 1 FROM ${table.name} WHERE key = 'order 2' FOR UPDATE`);
  const second = first.map(({ key, change: { version } }) => createWrite(key, { expected: version }));
  expect(await writeAll(store, second)).toEqual([true, true, undefined, true]);
  await other.query('COMMIT');
  expect(await writeAll(store, second)).toEqual([undefined, undefined, true, undefined]);
  expect(await readVersions(table, second)).toEqual(versionsOf(second));
});

const findWaiting = `SELECT pid FROM pg_stat_activity
  WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE '%json_to_recordset%'`;

/** Inserts a record in an open transaction. A group that inserts the same one waits for it. */
async function insertOpenly(other: Client, table: PostgresTable, key: string): Promise<void> {
  await other.query('BEGIN');
  await other.query(`INSERT INTO ${table.name} (key, version, record) VALUES ($1, 'of another', '{}')`, [
    key,
  ]);
}

test('writes none of a group whose connection was ended', async () => {
  const table = await createTable(server);
  const other = await openClient(server);
  await insertOpenly(other, table, 'order 2');
  const writes = nameKeys(5).map((key) => createWrite(key));
  const failure = catchError(writeAll(table.store, writes));
  await vi.waitFor(async () => expect(await table.run(findWaiting)).toHaveLength(1));
  await table.run(`SELECT pg_terminate_backend(pid) FROM (${findWaiting}) AS waiting`);
  expect(await failure).toBeInstanceOf(Error);
  await other.query('ROLLBACK');
  expect(await readVersions(table, writes)).toEqual(Array(5).fill(null));
  expect(await writeAll(table.store, writes)).toEqual(Array(5).fill(true));
});

test('rejects if the result of a group was lost, which is written', async () => {
  const table = await createTable(server);
  const proxy = await startCuttingProxy(server.url, (data) => data.includes('json_to_recordset'));
  const store = createPostgresStore(openPool(server, { connectionString: proxy.url }), table.name);
  const writes = nameKeys(10).map((key) => createWrite(key));
  expect(await catchError(writeAll(store, writes))).toBeInstanceOf(Error);
  expect(proxy.cuts()).toBe(1);
  expect(await readVersions(table, writes)).toEqual(versionsOf(writes));
});

test('refuses a group inside a transaction of its Client, or joins that', async () => {
  const table = await createTable(server);
  const client = await openClient(server);
  const store = createPostgresStore(client, table.name);
  await client.query('BEGIN');
  const refused = nameKeys(4).map((key) => createWrite(key));
  expect(await catchError(writeAll(store, refused))).toMatchObject(REFUSED);
  const joined = nameKeys(4).map((key) => createWrite(key, { mustCommit: false }));
  expect(await writeAll(store, joined)).toEqual(Array(4).fill(true));
  expect(await readVersion(store, 'order 3')).toBe(joined[3]?.change.version);
  await client.query('ROLLBACK');
  expect(await readVersions(table, joined)).toEqual(Array(4).fill(null));
});

test('leaves the error of a strict transaction that a group is part of', async () => {
  const table = await createTable(server);
  const [client, other] = [await openClient(server), await openClient(server)];
  const store = createPostgresStore(client, table.name);
  const first = nameKeys(3).map((key) => createWrite(key));
  await writeAll(store, first);
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await store.read('order 1');
  await other.query(`UPDATE ${table.name} SET version = version WHERE key = 'order 1'`);
  const second = first.map(({ key, change: { version } }) =>
    createWrite(key, { expected: version, mustCommit: false }),
  );
  expect(await catchError(writeAll(store, second))).toMatchObject({ code: '40001' });
  await client.query('ROLLBACK');
  expect(await readVersions(table, second)).toEqual(versionsOf(first));
});

test('tries no write of a group that a strict database refused', async () => {
  const table = await createTable(server);
  const store = createPostgresStore(openPool(server, STRICT), table.name);
  const other = await openClient(server);
  await insertOpenly(other, table, 'order 2');
  const writes = nameKeys(3).map((key) => createWrite(key));
  const writing = writeAll(store, writes);
  await vi.waitFor(async () => expect(await table.run(findWaiting)).toHaveLength(1));
  await other.query('COMMIT');
  expect(await writing).toEqual(Array(3).fill(undefined));
  const alone = await Promise.all(writes.map(({ key, change }) => store.write(key, change)));
  expect(alone).toEqual([true, true, false]);
});
