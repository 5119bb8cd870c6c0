import { once } from 'node:events';
import {
  createConnection as createCallbackConnection,
  createPool as createCallbackPool,
  createPoolCluster,
} from 'mysql2';
import { createPoolCluster as createPromisedPoolCluster, type PoolOptions } from 'mysql2/promise';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { MysqlClient } from '../../../src/stores/mysql/connection.ts';
import { openMysqlStore } from '../../../src/stores/mysql/store.ts';
import { catchError } from '../../helpers/service.ts';
import { testConformance } from '../../helpers/store-suite.ts';
import {
  claimKeys,
  createChange,
  createWrite,
  nameKeys,
  readVersion,
  writeNew,
} from '../../helpers/store-writes.ts';
import { startCuttingProxy } from '../../helpers/tcp-proxy.ts';
import { database } from './kinds/mysql.ts';
import { hasMariaDb } from './mariadb.ts';
import {
  ISOLATION_LEVELS,
  type MysqlUnderTest,
  prepareConnections,
  recordStatements,
  useMysql,
} from './use-mysql.ts';

const server = useMysql();

const strange: PoolOptions = {
  rowsAsArray: true,
  supportBigNumbers: true,
  bigNumberStrings: true,
  dateStrings: true,
  typeCast: () => 'cast',
  charset: 'LATIN1_SWEDISH_CI',
  timezone: '-03:30',
  flags: ['-FOUND_ROWS'],
  compress: true,
};

const stranger: PoolOptions = {
  nestTables: '_',
  namedPlaceholders: true,
  disableEval: true,
  typeCast: false,
  decimalNumbers: true,
  stringifyObjects: true,
  jsonStrings: true,
  multipleStatements: true,
  queryFormat: (sql, values) => sql.replace(/:(\w+)/g, (_, name) => Object(values)[name]),
};

/** How the sessions of shops can differ. */
const sessions: [name: string, open: (server: MysqlUnderTest) => Promise<MysqlClient>][] = [
  [
    'READ UNCOMMITTED, no SQL mode and another time zone, through callbacks',
    async ({ place }) => {
      const pool = createCallbackPool(place);
      onTestFinished(() => new Promise<void>((resolve) => pool.end(() => resolve())));
      prepareConnections(
        pool.promise(),
        'SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED',
        "SET sql_mode = ''",
        "SET time_zone = '+13:00'",
      );
      return pool;
    },
  ],
  [
    'SERIALIZABLE and SQL modes of other databases, through connections',
    async (mysql) => {
      const connection = await mysql.connect();
      await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE');
      await connection.query(
        "SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE,NO_UNSIGNED_SUBTRACTION,TRADITIONAL'",
      );
      return connection;
    },
  ],
  [
    'READ COMMITTED, strange options and limits',
    async (mysql) =>
      prepareConnections(
        mysql.openPool(strange),
        'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
        'SET sql_select_limit = 1',
        "SET time_zone = '-11:00'",
      ),
  ],
  ['other strange options', async (mysql) => mysql.openPool(stranger)],
  [
    'updates without a key refused',
    async (mysql) => prepareConnections(mysql.openPool(), 'SET SESSION sql_safe_updates = 1'),
  ],
];

if (hasMariaDb && !process.env.MYSQL_URL)
  sessions.push([
    'the SQL modes of Oracle and Microsoft',
    async (mysql) =>
      prepareConnections(
        mysql.openPool(),
        "SET sql_mode = 'ORACLE,MSSQL,EMPTY_STRING_IS_NULL,SIMULTANEOUS_ASSIGNMENT'",
        'SET innodb_snapshot_isolation = ON',
        'SET SESSION sql_safe_updates = 1',
      ),
  ]);

describe.skipIf(database.missing).each(sessions)('a store in MySQL with %s', (_name, open) => {
  // Each case writes with one handle and reads with another: each session does both, beside one that is usual.
  for (const isFirst of [true, false]) {
    const opened = new Map<string, number>();
    let handles: Promise<MysqlClient[]> | undefined;
    testConformance(
      async (table) => {
        handles ??= Promise.all([open(server), server.openPool()]);
        const [strange, usual] = await handles;
        if (!strange || !usual) throw new Error('There are two handles.');
        await openMysqlStore(usual, table).migrate();
        const count = opened.get(table) ?? 0;
        opened.set(table, count + 1);
        return openMysqlStore((count % 2 === 0) === isFirst ? strange : usual, table).store;
      },
      isFirst ? 'conforms as the first handle' : 'conforms as the second handle',
    );
  }
});

describe.skipIf(database.missing)('the handle of a journal in MySQL', () => {
  test('is a pool or a connection of mysql2, and no cluster', () => {
    const cluster = createPoolCluster();
    const promised = createPromisedPoolCluster();
    const older = { query: () => {}, getConnection: () => {} };
    const clients = [undefined, null, {}, 'mysql://localhost', older, cluster, promised];
    cluster.add('one', server.place);
    for (const client of [...clients, cluster.of('*'), promised.of('*')]) {
      expect(() => Reflect.apply(openMysqlStore, undefined, [client, 'payments'])).toThrow(
        'mysqlJournal takes a pool or a connection of mysql2, and no PoolCluster.',
      );
    }
    cluster.end();
  });

  test('is refused if it shows no transaction status, as that of mariadb', async () => {
    const statements: string[] = [];
    const foreign = {
      query: async ({ sql }: { sql: string }) => {
        statements.push(sql);
        return { affectedRows: 0, insertId: 0, warningStatus: 0 };
      },
      execute: () => {},
    };
    const { store } = openMysqlStore(foreign, 'payments');
    expect(await catchError(store.write('order 1', createChange()))).toMatchObject({
      name: 'JournalError',
      outcome: 'not_sent',
      message: expect.stringContaining('Give mysqlJournal a pool of mysql2.'),
    });
    expect(statements).toEqual(['DO 0']);
  });

  test.each(['killed by the server', 'reset'])(
    'survives a connection that is %s, and only its call fails',
    async (how) => {
      const table = await server.createTable();
      const pool = server.openPool({ connectionLimit: 1 });
      const { store } = openMysqlStore(pool, table);
      const version = await writeNew(store, 'order 1');
      const own = await pool.getConnection();
      const { connection: core } = own;
      own.release();
      const blocker = await server.connect();
      await blocker.beginTransaction();
      await blocker.query(`SELECT 1 FROM ${table} FOR UPDATE`);
      const change = createChange({ expected: version });
      const failure = catchError(store.write('order 1', change));
      const id = await server.waitForLock(table);
      if (how === 'reset') Object(core).stream.destroy(new Error('reset'));
      else await server.run(`KILL ${id}`);
      expect(await failure).toMatchObject(
        how === 'reset' ? { message: 'reset' } : { code: 'PROTOCOL_CONNECTION_LOST' },
      );
      await blocker.rollback();
      // The server does not notice a reset before it has written.
      const written = how === 'reset' ? [version, change.version] : [version];
      expect(written).toContain(await readVersion(store, 'order 1'));
    },
  );

  test('survives connections that break while they are idle', async () => {
    const table = await server.createTable();
    const pool = server.openPool({ connectionLimit: 3 });
    const { store } = openMysqlStore(pool, table);
    const version = await writeNew(store, 'order 1');
    const lent = await Promise.all([pool.getConnection(), pool.getConnection(), pool.getConnection()]);
    for (const { threadId } of lent) await server.run(`KILL ${threadId}`);
    // The pool cannot have noticed yet.
    for (const connection of lent) connection.release();
    expect(await readVersion(store, 'order 1')).toBe(version);
    const single = createCallbackConnection(server.place);
    onTestFinished(() => single.destroy());
    const { store: other } = openMysqlStore(single, table);
    expect(await readVersion(other, 'order 1')).toBe(version);
    const closed = once(Object(single).stream, 'close');
    await server.run(`KILL ${single.threadId}`);
    await closed;
    await vi.waitFor(async () =>
      expect(String(await catchError(other.read('order 1')))).toContain('closed state'),
    );
  });
});

describe.skipIf(database.missing)('concurrent writes in MySQL', () => {
  test('write again after a deadlock, which has written nothing', async () => {
    const table = await server.createTable();
    const pool = server.openPool();
    const statements = recordStatements(pool);
    const { store } = openMysqlStore(pool, table);
    const other = await server.connect();
    // The server ends the transaction that has changed less: that of the journal.
    await other.query(`CREATE TABLE ${table}_weight (id INT PRIMARY KEY) ENGINE = InnoDB`);
    await other.beginTransaction();
    await other.query(`INSERT INTO ${table}_weight VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)`);
    await other.query(`INSERT INTO ${table} (\`key\`, version, record) VALUES ('order 1', 'other', '{}')`);
    const writing = store.writeAll(nameKeys(2).map((key) => ({ key, change: createChange() })));
    await server.waitForLock(table);
    await other.query(`SELECT 1 FROM ${table} WHERE \`key\` = 'order 0' FOR UPDATE`);
    await other.rollback();
    expect(await writing).toEqual([true, true]);
    expect(statements.filter((sql) => sql.startsWith('INSERT'))).toHaveLength(2);
  });

  // A lock that was not released in time, and a row that has changed since it was read.
  test.each([1205, 1020])('write again on a connection after the error %i', async (errno) => {
    const table = await server.createTable();
    const connection = await server.connect();
    let refusals = 0;
    const refusing = Object.assign(Object.create(connection), {
      async query(query: { sql: string }) {
        if (query.sql.startsWith('UPDATE') && refusals++ < 2)
          throw Object.assign(new Error('busy'), { errno });
        return await connection.query(query);
      },
    });
    const { store } = openMysqlStore(refusing, table);
    let expected = await writeNew(store, 'order 1');
    for (const mustCommit of [true, false]) {
      refusals = 0;
      expected = await writeNew(store, 'order 1', { expected, mustCommit });
      expect(refusals).toBe(3);
    }
  });

  test.each(ISOLATION_LEVELS)('share what is due, and groups of writes, with %s', async (level) => {
    const table = await server.createTable();
    const openOne = () => {
      const pool = server.openPool({ connectionLimit: 10 });
      prepareConnections(pool, `SET SESSION TRANSACTION ISOLATION LEVEL ${level}`);
      return openMysqlStore(pool, table).store;
    };
    const keys = nameKeys(60);
    const writeEach = async (keys: readonly string[]) => {
      const store = openOne();
      const writes = keys.map((key) => createWrite(key, { index: { dueAt: 0 } }));
      const results = await store.writeAll(writes);
      const alone = writes.map(({ key, change }, place) => results[place] ?? store.write(key, change));
      return (await Promise.all(alone)).flatMap((isWritten, place) => (isWritten ? [keys[place]] : []));
    };
    const written = await Promise.all([writeEach(keys), writeEach(keys.toReversed())]);
    expect(written.flat().sort()).toEqual(keys.toSorted());
    const store = openOne();
    const claim = async (limit: number) =>
      (await store.claimDue({ ...claimKeys, limit })).records.map(({ key }) => key);
    const claimed = await Promise.all(Array.from({ length: 10 }, () => claim(6)));
    expect([...claimed.flat(), ...(await claim(60))].sort()).toEqual(keys.toSorted());
    // A record that another caller has locked is skipped, not waited for.
    expect(claimed.filter((each) => each.length > 0).length).toBeGreaterThan(1);
  });

  test('wait for no record that is locked, when they claim or write a group', async () => {
    const table = await server.createTable();
    const { store } = openMysqlStore(server.openPool(), table);
    const keys = nameKeys(4);
    const index = { dueAt: 0 };
    await store.writeAll(keys.map((key) => createWrite(key, { version: 'first', index })));
    const other = await server.connect();
    await other.beginTransaction();
    await other.query(`SELECT 1 FROM ${table} WHERE \`key\` = 'order 2' FOR UPDATE`);
    const claim = async () => (await store.claimDue(claimKeys)).records.map(({ key }) => key);
    expect(await claim()).toEqual(['order 0', 'order 1', 'order 3']);
    const next = keys.map((key) => createWrite(key, { expected: 'first' }));
    expect(await store.writeAll(next)).toEqual([true, true, undefined, true]);
    await other.rollback();
    expect(await claim()).toEqual(['order 2']);
    const versions = await Promise.all(keys.map((key) => readVersion(store, key)));
    expect(versions).toEqual(next.map(({ change }, place) => (place === 2 ? 'first' : change.version)));
  });

  test('share statements in a group, each with its own result', async () => {
    const table = await server.createTable();
    const pool = prepareConnections(server.openPool(), 'SET SESSION sql_safe_updates = 1');
    const statements = recordStatements(pool);
    const count = (kind: RegExp) => statements.splice(0).filter((sql) => kind.test(sql)).length;
    const { store } = openMysqlStore(pool, table);
    const before = nameKeys(20).map((key) => createWrite(key));
    expect(await store.writeAll(before)).toEqual(Array(20).fill(true));
    expect(count(/^INSERT/)).toBe(1);
    await server.run(`UPDATE ${table} SET version = 'of another' WHERE \`key\` = 'order 5'`);
    const updates = before.map(({ key, change }) => createWrite(key, { expected: change.version }));
    // One record is new, and one that should be new is there.
    const writes = [...updates, createWrite('order new'), createWrite('order 7')];
    const results = [...Array(5).fill(true), undefined, ...Array(15).fill(true), undefined];
    expect(await store.writeAll(writes)).toEqual(results);
    expect(count(/^INSERT|UPDATE/)).toBe(3);
    expect(await readVersion(store, 'order 5')).toBe('of another');
    expect(await readVersion(store, 'order 7')).toBe(updates[7]?.change.version);
  });

  test('are made although the result of a group was lost', async () => {
    const table = await server.createTable();
    const { store: witness } = openMysqlStore(server.openPool(), table);
    const inserts = nameKeys(10).map((key) => createWrite(key));
    const updates = inserts.map(({ key, change }) => createWrite(key, { expected: change.version }));
    for (const [writes, part] of [
      [inserts, '), (x'],
      [updates, 'UNION ALL'],
    ] as const) {
      const proxy = await startCuttingProxy(server.place, (data) => data.includes(part));
      const { store } = openMysqlStore(server.openPool({ uri: proxy.url }), table);
      expect(await catchError(store.writeAll(writes))).toMatchObject({ code: 'PROTOCOL_CONNECTION_LOST' });
      expect(proxy.cuts()).toBe(1);
      const versions = await Promise.all(writes.map(({ key }) => readVersion(witness, key)));
      expect(versions).toEqual(writes.map(({ change }) => change.version));
    }
  });
});
