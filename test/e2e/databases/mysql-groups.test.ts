import { createPool } from 'mysql2/promise';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openMysqlStore } from '../../../src/journal/mysql-store.ts';
import type { JournalStore, RecordWrite } from '../../../src/journal/store.ts';
import { startCuttingProxy } from '../../helpers/cutting-proxy.ts';
import { catchError } from '../../helpers/service.ts';
import { database } from './kinds/mysql.ts';
import { type ChangeFields, createChange, insertRecord, nameKeys, readVersion } from './mysql-records.ts';
import { ISOLATION_LEVELS, prepareConnections, recordStatements, useMysql } from './use-mysql.ts';

const server = useMysql();

const createWrites = (keys: readonly string[], fields?: ChangeFields): RecordWrite[] =>
  keys.map((key) => ({ key, change: createChange(fields) }));

/** Returns the next writes of records that these have written. */
const createNext = (writes: readonly RecordWrite[]): RecordWrite[] =>
  writes.map(({ key, change }) => ({ key, change: createChange({ expected: change.version }) }));

const readVersions = (store: JournalStore, writes: readonly RecordWrite[]) =>
  Promise.all(writes.map(({ key }) => readVersion(store, key)));

const versionsOf = (writes: readonly RecordWrite[]) => writes.map(({ change }) => change.version);

describe.skipIf(database.missing)('a group of writes in MySQL', () => {
  test('shares statements, each write with its own result', async () => {
    const table = await server.createTable();
    const pool = prepareConnections(server.openPool(), 'SET SESSION sql_safe_updates = 1');
    const statements = recordStatements(pool);
    const count = (kind: RegExp) => statements.splice(0).filter((sql) => kind.test(sql)).length;
    const { store } = openMysqlStore(pool, table);
    const before = createWrites(nameKeys(20));
    expect(await store.writeAll(before)).toEqual(Array(20).fill(true));
    expect(count(/^INSERT/)).toBe(1);

    await server.run(`UPDATE ${table} SET version = 'of another' WHERE \`key\` = 'order 5'`);
    const updates = createNext(before);
    // One record is new, and one that should be new is there.
    const inserts = createWrites(['order new', 'order 7']);
    const isWritten = updates.map(({ key }) => (key === 'order 5' ? undefined : true));
    expect(await store.writeAll([...updates, ...inserts])).toEqual([...isWritten, true, undefined]);
    expect(count(/^INSERT|UPDATE/)).toBe(3);
    expect(await readVersions(store, updates)).toEqual(
      updates.map(({ key, change }) => (key === 'order 5' ? 'of another' : change.version)),
    );
    expect(await readVersions(store, inserts)).toEqual([
      inserts[0]?.change.version,
      updates[7]?.change.version,
    ]);
  });

  test('keeps what each record is found by', async () => {
    const { store } = openMysqlStore(server.openPool(), await server.createTable());
    const { now } = await store.read('order 0');
    const indexes: ChangeFields[] = [
      { index: null },
      { index: { kind: 'order', createdAt: 3, dueAt: now } },
      { index: { kind: 'key', createdAt: 1, attentionAt: 5 } },
      { index: { kind: 'key', createdAt: 2, attentionAt: now + 600_000, dueAt: now - 1 } },
    ];
    const expected = await Promise.all(nameKeys(4).map((key) => insertRecord(store, key)));
    const text = '{"name":"Ordrë \u{1f4b3} \\ \' \0 \ud83d"}';
    const updates = nameKeys(4).map((key, place) => ({
      key,
      change: createChange({ ...indexes[place], text, expected: expected[place] ?? null }),
    }));
    const inserts = updates.map(({ key, change }) => ({
      key: `${key} new`,
      change: { ...change, expected: null, version: crypto.randomUUID() },
    }));
    expect(await store.writeAll([...updates, ...inserts])).toEqual(Array(8).fill(true));
    const listed = async (by: 'createdAt' | 'attentionAt') =>
      (await store.list({ by, after: null, limit: 10 })).map(({ key, at }) => [key, at]);
    const both = (key: string, at: number) => [
      [key, at],
      [`${key} new`, at],
    ];
    expect(await listed('createdAt')).toEqual([
      ...both('order 2', 1),
      ...both('order 3', 2),
      ...both('order 1', 3),
    ]);
    expect(await listed('attentionAt')).toEqual(both('order 2', 5));
    expect(await store.countDue({ kind: 'key' })).toMatchObject({ due: 2 });
    expect(await store.countDue({ kind: 'order' })).toMatchObject({ due: 2 });
    for (const { key } of [...updates, ...inserts])
      expect((await store.read(key)).record?.text).toBe(text.toWellFormed());
  });

  test.each(ISOLATION_LEVELS)('of two processes writes each record once with %s', async (level) => {
    const table = await server.createTable();
    const writeAll = async (keys: readonly string[]) => {
      const pool = prepareConnections(server.openPool(), `SET SESSION TRANSACTION ISOLATION LEVEL ${level}`);
      const { store } = openMysqlStore(pool, table);
      const writes = createWrites(keys);
      const results = await store.writeAll(writes);
      return await Promise.all(
        writes.map(async ({ key, change }, place) => ({
          key,
          isWritten: results[place] ?? (await store.write(key, change)),
        })),
      );
    };
    const results = (await Promise.all([writeAll(nameKeys(20)), writeAll(nameKeys(20).reverse())])).flat();
    const written = results.filter(({ isWritten }) => isWritten).map(({ key }) => key);
    expect(written.sort()).toEqual(nameKeys(20).sort());
  });

  test('does not wait for a record that is locked', async () => {
    const table = await server.createTable();
    const { store } = openMysqlStore(server.openPool(), table);
    const before = createWrites(nameKeys(4));
    await store.writeAll(before);
    const other = await server.connect();
    await other.beginTransaction();
    await other.query(`SELECT 1 FROM ${table} WHERE \`key\` = 'order 2' FOR UPDATE`);
    const next = createNext(before);
    expect(await store.writeAll(next)).toEqual([true, true, undefined, true]);
    await other.rollback();
    expect(await readVersions(store, next)).toEqual(
      versionsOf(next).map((version, place) => (place === 2 ? before[2]?.change.version : version)),
    );
  });

  test('is written although the result of its statement was lost', async () => {
    const table = await server.createTable();
    const { store: witness } = openMysqlStore(server.openPool(), table);
    const inserts = createWrites(nameKeys(10));
    for (const [writes, part] of [
      [inserts, '), (x'],
      [createNext(inserts), 'UNION ALL'],
    ] as const) {
      const proxy = await startCuttingProxy(server.place, (data) => data.includes(part));
      const pool = createPool({ uri: proxy.url });
      onTestFinished(() => pool.end());
      const { store } = openMysqlStore(pool, table);
      expect(await catchError(store.writeAll(writes))).toMatchObject({ code: 'PROTOCOL_CONNECTION_LOST' });
      expect(proxy.cuts()).toBe(1);
      expect(await readVersions(witness, writes)).toEqual(versionsOf(writes));
    }
  });

  test('is refused inside a transaction of a connection if it must commit', async () => {
    const table = await server.createTable();
    const connection = await server.connect();
    const { store } = openMysqlStore(connection, table);
    await connection.beginTransaction();
    expect(await catchError(store.writeAll(createWrites(nameKeys(4))))).toMatchObject({
      name: 'JournalError',
      outcome: 'not_sent',
      retryable: true,
    });
    const writes = createWrites(nameKeys(4), { mustCommit: false });
    expect(await store.writeAll(writes)).toEqual(Array(4).fill(true));
    expect(await readVersions(store, writes)).toEqual(versionsOf(writes));
    await connection.rollback();
    expect(await readVersions(store, writes)).toEqual(Array(4).fill(null));
  });
});
