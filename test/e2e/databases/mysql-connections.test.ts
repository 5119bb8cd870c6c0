import { once } from 'node:events';
import {
  createConnection as createCallbackConnection,
  createPool as createCallbackPool,
  createPoolCluster,
} from 'mysql2';
import { createPoolCluster as createPromisedPoolCluster, type Pool, type PoolOptions } from 'mysql2/promise';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import { type MysqlClient, mysqlJournal } from '../../../src/journal/mysql.ts';
import { journalConformance, type OpenJournal } from '../../../src/testing/index.ts';
import { chargeIntent, claimKey, completeKey, tryClaim } from '../../helpers/claims.ts';
import { claimDueKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import { database } from './kinds/mysql.ts';
import { hasMariaDb, startMariaDb } from './mariadb.ts';
import { type MysqlUnderTest, useMysql } from './use-mysql.ts';

const server = useMysql();

/** It outlives each test. */
const lease = 600_000;

/** Runs statements on each new connection of a pool, before any other. */
function prepareConnections(pool: Pool, ...statements: string[]): Pool {
  pool.on('connection', (connection) => {
    for (const statement of statements) connection.query(statement);
  });
  return pool;
}

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

describe.skipIf(database.missing)('a journal in MySQL conforms', () => {
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
        const openJournal: OpenJournal = async (options, table) => {
          await mysqlJournal(other, { table }).migrate();
          const handles = opened.get(table) ?? 0;
          opened.set(table, handles + 1);
          return mysqlJournal(handles % 2 === 0 ? first : second, { ...options, table });
        };
        return journalConformance(openJournal);
      });
      const results = await Promise.allSettled(cases.map(({ run }) => run()));
      const failed = results.flatMap((result, index) =>
        result.status === 'rejected' ? [`${cases[index]?.name}: ${result.reason}`] : [],
      );
      expect(failed).toEqual([]);
      expect(results.length).toBeGreaterThan(40);
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
      expect(() => Reflect.apply(mysqlJournal, undefined, [client])).toThrow(
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
    expect(
      await catchError(getJournalCore(mysqlJournal(foreign)).claim('order-1', chargeIntent)),
    ).toMatchObject({
      name: 'JournalError',
      outcome: 'not_sent',
      message: expect.stringContaining('Give mysqlJournal a pool of mysql2.'),
    });
    expect(statements.filter((sql) => !/^(?:SELECT|DO 0)/.test(sql))).toEqual([]);
  });

  test.each(['killed by the server', 'reset'])(
    'survives a connection that is %s, and only its call fails',
    async (how) => {
      const table = await server.createTable();
      const pool = server.openPool({ connectionLimit: 1 });
      const journal = mysqlJournal(pool, { table, lease });
      await claimKey(journal, 'order-1');
      const own = await pool.getConnection();
      const { connection: core } = own;
      own.release();
      const blocker = await server.connect();
      await blocker.beginTransaction();
      await blocker.query(`SELECT 1 FROM ${table} FOR UPDATE`);
      const failure = catchError(tryClaim(journal, 'order-1'));
      const id = await server.waitForLock(table);
      if (how === 'reset') Object(core).stream.destroy(new Error('reset'));
      else await server.run(`KILL ${id}`);
      expect(await failure).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: true });
      await blocker.rollback();
      expect(await journal.read('order-1')).toMatchObject({ state: 'begun' });
    },
  );

  test('takes another connection for one that broke while it was idle', async () => {
    const table = await server.createTable();
    const pool = server.openPool({ connectionLimit: 3 });
    const journal = mysqlJournal(pool, { table, lease });
    await claimKey(journal, 'order-1');
    const lent = await Promise.all([pool.getConnection(), pool.getConnection(), pool.getConnection()]);
    for (const { threadId } of lent) await server.run(`KILL ${threadId}`);
    // The pool cannot have noticed yet.
    for (const connection of lent) connection.release();
    expect(await journal.read('order-1')).toMatchObject({ state: 'begun' });
    expect(await claimKey(journal, 'order-2')).toMatchObject({ key: 'order-2' });
  });

  test('survives as a single connection that breaks while it is idle', async () => {
    const table = await server.createTable();
    const connection = createCallbackConnection(server.place);
    onTestFinished(() => connection.destroy());
    const journal = mysqlJournal(connection, { table });
    await claimKey(journal, 'order-1');
    const closed = once(Object(connection).stream, 'close');
    await server.run(`KILL ${connection.threadId}`);
    await closed;
    await vi.waitFor(async () =>
      expect(await catchError(journal.read('order-1'))).toMatchObject({
        name: 'JournalError',
        retryable: true,
      }),
    );
  });
});

describe.skipIf(database.missing)('concurrent writes in MySQL', () => {
  test('write again after a deadlock, which has written nothing', async () => {
    const table = await server.createTable();
    const journal = mysqlJournal(server.openPool(), { table });
    for (const key of ['order-1', 'order-2']) await completeKey(journal, key, { state: 'rejected' });
    const other = await server.connect();
    // The server ends the transaction that has changed less: that of the journal.
    await other.query(`CREATE TABLE ${table}_weight (id INT PRIMARY KEY) ENGINE = InnoDB`);
    await other.beginTransaction();
    await other.query(`INSERT INTO ${table}_weight VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)`);
    await other.query(`SELECT 1 FROM ${table} WHERE due_at IS NULL FOR UPDATE`);
    const claiming = tryClaim(journal, 'order-1');
    await server.waitForLock(table);
    await other.query(`INSERT INTO ${table} SELECT 'order-3', version, record, written_at, kind, state, created_at,
      reference, due_at, due_before, due_claim FROM ${table} WHERE \`key\` = 'order-2'`);
    await other.commit();
    expect(await claiming).toMatchObject({ state: 'claimed' });
  });

  test('write again after a lock was not released in time', async () => {
    const table = await server.createTable();
    const pool = prepareConnections(server.openPool(), 'SET innodb_lock_wait_timeout = 1');
    const journal = mysqlJournal(pool, { table });
    await completeKey(journal, 'order-1', { state: 'rejected' });
    const other = await server.connect();
    await other.beginTransaction();
    await other.query(`UPDATE ${table} SET written_at = written_at + 0 WHERE \`key\` = 'order-1'`);
    const claiming = tryClaim(journal, 'order-1');
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await other.rollback();
    expect(await claiming).toMatchObject({ state: 'claimed' });
  });

  test('share 60 due keys among ten callers with each isolation level', async () => {
    for (const level of ['READ UNCOMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE']) {
      const table = await server.createTable();
      const pool = prepareConnections(
        server.openPool({ connectionLimit: 10 }),
        `SET SESSION TRANSACTION ISOLATION LEVEL ${level}`,
      );
      const journal = mysqlJournal(pool, { table });
      await claimKey(journal, 'order-0');
      const keys = Array.from({ length: 60 }, (_, index) => index + 1);
      for (const key of keys)
        await completeKey(journal, `order-${key}`, {
          state: 'completed',
          result: { reference: `TXN-${key}` },
        });
      const claimed = await Promise.all(
        Array.from({ length: 10 }, () => claimDueKeys(journal, { limit: 6, lease: 60_000 })),
      );
      const rest = await claimDueKeys(journal);
      expect(new Set([...claimed.flat(), ...rest]).size, level).toBe(60);
      expect([...claimed.flat(), ...rest]).toHaveLength(60);
      // A record that another caller has locked is skipped, not waited for.
      expect(claimed.filter((each) => each.length > 0).length).toBeGreaterThan(1);
    }
  });
});

describe.skipIf(!hasMariaDb)('a server that is restarted', () => {
  test('keeps what it has confirmed when it is killed, and the pool works on', async () => {
    const own = await startMariaDb();
    onTestFinished(() => own.stop());
    const exits = vi.fn();
    process.on('uncaughtException', exits);
    onTestFinished(() => void process.off('uncaughtException', exits));
    const pool = createCallbackPool({ uri: own.place, connectionLimit: 3 });
    onTestFinished(() => new Promise<void>((resolve) => pool.end(() => resolve())));
    const journal = mysqlJournal(pool, { lease });
    await journal.migrate();
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, index) => claimKey(journal, `order-${index}`)),
    );
    for (const claim of claims.slice(0, 5))
      await getJournalCore(journal).complete(claim, { state: 'unknown' });
    await journal.resolve('order-0', 'not_charged', note);
    await own.takeAway('SIGKILL');
    expect(await catchError(tryClaim(journal, 'order-new'))).toMatchObject({
      name: 'JournalError',
      outcome: 'not_sent',
    });
    await own.bringBack();
    const states = await Promise.all(claims.map(async ({ key }) => (await journal.read(key))?.state));
    expect(states).toEqual(['not_charged', ...Array(4).fill('unknown'), ...Array(5).fill('begun')]);
    expect(await claimKey(journal, 'order-new')).toMatchObject({ key: 'order-new' });
    expect(exits).not.toHaveBeenCalled();
  });
});
