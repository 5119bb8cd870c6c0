import { once } from 'node:events';
import {
  createConnection as createCallbackConnection,
  createPool as createCallbackPool,
  createPoolCluster,
} from 'mysql2';
import { createPoolCluster as createPromisedPoolCluster, type PoolOptions } from 'mysql2/promise';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { MysqlClient } from '../../../src/journal/mysql-connection.ts';
import { openMysqlStore } from '../../../src/journal/mysql-store.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { catchError } from '../../helpers/service.ts';
import { database } from './kinds/mysql.ts';
import { hasMariaDb, startMariaDb } from './mariadb.ts';
import {
  claimDueKeys,
  createChange,
  insertDue,
  insertRecord,
  nameKeys,
  readVersion,
} from './mysql-records.ts';
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

const mariaDbSessions: typeof sessions = [
  [
    'the SQL modes of Oracle and Microsoft',
    async (mysql) =>
      prepareConnections(
        mysql.openPool(),
        "SET sql_mode = 'ORACLE,MSSQL,EMPTY_STRING_IS_NULL,SIMULTANEOUS_ASSIGNMENT'",
        'SET innodb_snapshot_isolation = ON',
        'SET SESSION sql_safe_updates = 1',
      ),
  ],
];

describe.skipIf(database.missing)('a store in MySQL conforms', () => {
  test.each([...sessions, ...(hasMariaDb && !process.env.MYSQL_URL ? mariaDbSessions : [])])(
    'with %s',
    async (_name, open) => {
      const handle = await open(server);
      // Another process of the shop, with the sessions that are usual.
      const other = server.openPool();
      // Each case writes with one handle and reads with another: each of the two sessions does both.
      const pairs = [[handle, other] as const, [other, handle] as const];
      const cases = pairs.flatMap(([first, second]) => {
        const opened = new Map<string, number>();
        return journalConformance(async (table) => {
          await openMysqlStore(other, table).migrate();
          const handles = opened.get(table) ?? 0;
          opened.set(table, handles + 1);
          return openMysqlStore(handles % 2 === 0 ? first : second, table).store;
        });
      });
      const results = await Promise.allSettled(cases.map(({ run }) => run()));
      const failed = results.flatMap((result, index) =>
        result.status === 'rejected' ? [`${cases[index]?.name}: ${result.reason}`] : [],
      );
      expect(failed).toEqual([]);
      expect(results.length).toBeGreaterThan(30);
    },
  );
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
      const version = await insertRecord(store, 'order 1');
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

  test('takes another connection for one that broke while it was idle', async () => {
    const table = await server.createTable();
    const pool = server.openPool({ connectionLimit: 3 });
    const { store } = openMysqlStore(pool, table);
    const version = await insertRecord(store, 'order 1');
    const lent = await Promise.all([pool.getConnection(), pool.getConnection(), pool.getConnection()]);
    for (const { threadId } of lent) await server.run(`KILL ${threadId}`);
    // The pool cannot have noticed yet.
    for (const connection of lent) connection.release();
    expect(await readVersion(store, 'order 1')).toBe(version);
    expect(await store.write('order 2', createChange())).toBe(true);
  });

  test('survives as a single connection that breaks while it is idle', async () => {
    const table = await server.createTable();
    const connection = createCallbackConnection(server.place);
    onTestFinished(() => connection.destroy());
    const { store } = openMysqlStore(connection, table);
    await insertRecord(store, 'order 1');
    const closed = once(Object(connection).stream, 'close');
    await server.run(`KILL ${connection.threadId}`);
    await closed;
    await vi.waitFor(async () =>
      expect(await catchError(store.read('order 1'))).toMatchObject({
        message: expect.stringContaining('closed state'),
      }),
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

  test('write again after a lock was not released in time', async () => {
    const table = await server.createTable();
    const pool = prepareConnections(server.openPool(), 'SET innodb_lock_wait_timeout = 1');
    const statements = recordStatements(pool);
    const { store } = openMysqlStore(pool, table);
    const expected = await insertRecord(store, 'order 1');
    const other = await server.connect();
    await other.beginTransaction();
    await other.query(`SELECT 1 FROM ${table} WHERE \`key\` = 'order 1' FOR UPDATE`);
    const writing = store.write('order 1', createChange({ expected }));
    await expect.poll(() => statements.filter((sql) => sql.startsWith('UPDATE')).length).toBe(3);
    await other.rollback();
    expect(await writing).toBe(true);
  });

  test.each(ISOLATION_LEVELS)('share 60 due keys among ten callers with %s', async (level) => {
    const table = await server.createTable();
    const pool = prepareConnections(
      server.openPool({ connectionLimit: 10 }),
      `SET SESSION TRANSACTION ISOLATION LEVEL ${level}`,
    );
    const { store } = openMysqlStore(pool, table);
    for (const key of nameKeys(60)) await insertDue(store, key);
    const claimed = await Promise.all(Array.from({ length: 10 }, () => claimDueKeys(store, { limit: 6 })));
    const all = [...claimed.flat(), ...(await claimDueKeys(store))];
    expect(all.sort()).toEqual(nameKeys(60).sort());
    // A record that another caller has locked is skipped, not waited for.
    expect(claimed.filter((each) => each.length > 0).length).toBeGreaterThan(1);
  });
});

describe.skipIf(!hasMariaDb)('a server that is restarted', () => {
  test('keeps what it has confirmed when it is killed, and the pool works on', async () => {
    const own = await startMariaDb();
    onTestFinished(() => own.stop());
    const exits = vi.fn();
    process.on('uncaughtException', exits);
    onTestFinished(() => void process.off('uncaughtException', exits));
    const pool = server.openPool({ uri: own.place });
    const { store, migrate } = openMysqlStore(pool, 'payments_journal');
    await migrate();
    const keys = nameKeys(10);
    const versions = await Promise.all(keys.map((key) => insertRecord(store, key)));
    const replaced = createChange({ expected: versions[0] ?? null });
    expect(await store.write('order 0', replaced)).toBe(true);
    await own.takeAway('SIGKILL');
    expect(await catchError(store.write('order new', createChange()))).toMatchObject({
      code: 'ECONNREFUSED',
    });
    await own.bringBack();
    expect(await Promise.all(keys.map((key) => readVersion(store, key)))).toEqual([
      replaced.version,
      ...versions.slice(1),
    ]);
    expect(await store.write('order new', createChange())).toBe(true);
    expect(exits).not.toHaveBeenCalled();
  });
});
