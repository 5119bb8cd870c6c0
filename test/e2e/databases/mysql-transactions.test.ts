import { createPool as createCallbackPool } from 'mysql2';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openMysqlStore } from '../../../src/stores/mysql/store.ts';
import { catchError } from '../../helpers/service.ts';
import { describeTransactions } from '../../helpers/store-suite.ts';
import { claimKeys, createChange, listAll, readVersion, writeNew } from '../../helpers/store-writes.ts';
import { database } from './kinds/mysql.ts';
import { prepareConnections, useMysql } from './use-mysql.ts';

const server = useMysql();

const refused = (what = 'inside a transaction') => ({
  name: 'JournalError',
  outcome: 'not_sent',
  message: expect.stringContaining(what),
});

/** A store on the table of another one, through another connection. */
const openWitness = (table: string) => openMysqlStore(server.openPool({ connectionLimit: 1 }), table).store;

/** A pool of one connection, as it is given to the journal, and with promises. */
function openPool(isCallback = false) {
  if (!isCallback) {
    const pool = server.openPool({ connectionLimit: 1 });
    return { given: pool, pool };
  }
  const given = createCallbackPool({ uri: server.place, connectionLimit: 1 });
  onTestFinished(() => new Promise<void>((resolve) => given.end(() => resolve())));
  return { given, pool: given.promise() };
}

describe.skipIf(database.missing)('a pool of mysql2', () => {
  test.each([
    ['promises', false, true],
    ['callbacks', true, true],
    ['promises, whose BEGIN nobody waited for', false, false],
  ])(
    'closes a connection released in a transaction, and writes on another (%s)',
    async (_kind, isCallback, isAwaited) => {
      const table = await server.createTable();
      await server.run(`CREATE TABLE ${table}_orders (id INT) ENGINE = InnoDB`);
      const { given, pool } = openPool(isCallback);
      const { store } = openMysqlStore(given, table);
      await writeNew(store, 'order 0');
      const forgotten = await pool.getConnection();
      const { threadId } = forgotten;
      const begun = [forgotten.query('BEGIN'), forgotten.query(`INSERT INTO ${table}_orders VALUES (1)`)];
      if (isAwaited) await Promise.all(begun);
      forgotten.release();
      const version = await writeNew(store, 'order 1');
      await Promise.all(begun);
      expect(await readVersion(openWitness(table), 'order 1')).toBe(version);
      expect(await server.run(`SELECT * FROM ${table}_orders`)).toEqual([]);
      const next = await pool.getConnection();
      expect(next.threadId).not.toBe(threadId);
      next.release();
    },
  );

  test('reads outside a transaction that a released connection is in', async () => {
    const table = await server.createTable();
    const { pool } = openPool();
    const { store } = openMysqlStore(pool, table);
    const expected = await writeNew(store, 'order 1');
    const forgotten = await pool.getConnection();
    await forgotten.query('BEGIN');
    await forgotten.query(`SELECT COUNT(*) FROM ${table}`);
    forgotten.release();
    const version = await writeNew(openWitness(table), 'order 1', { expected });
    expect(await readVersion(store, 'order 1')).toBe(version);
    expect(await store.list(listAll)).toMatchObject([{ key: 'order 1', version }]);
  });

  test('is refused with autocommit = 0', async () => {
    const table = await server.createTable();
    const pool = prepareConnections(server.openPool({ connectionLimit: 1 }), 'SET autocommit = 0');
    const { store, migrate } = openMysqlStore(pool, table);
    for (const step of [
      () => store.write('order 1', createChange()),
      () => store.write('order 1', createChange({ mustCommit: false })),
      () => store.read('order 1'),
      () => store.claimDue(claimKeys),
      () => migrate(),
    ])
      expect(await catchError(step())).toMatchObject(refused('autocommit = 0'));
    expect(await readVersion(openWitness(table), 'order 1')).toBeNull();
  });

  test('leaves no listener and no connection behind', async () => {
    const { pool } = openPool();
    const { store } = openMysqlStore(pool, await server.createTable());
    await writeNew(store, 'order 0');
    const count = async () => {
      const connection = await pool.getConnection();
      const { connection: core } = connection;
      const listeners = core.listenerCount('error');
      connection.release();
      return { listeners, threadId: connection.threadId };
    };
    const before = await count();
    for (let index = 1; index <= 20; index++) await writeNew(store, `order ${index}`);
    expect(await store.write('order 1', createChange())).toBe(false);
    expect(await count()).toEqual(before);
  });

  test('reads no record that a transaction rolls back', async () => {
    const table = await server.createTable();
    const pool = prepareConnections(
      server.openPool(),
      'SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED',
    );
    const { store } = openMysqlStore(pool, table);
    const version = await writeNew(store, 'order 1');
    const other = await server.connect();
    await other.beginTransaction();
    await other.query(`UPDATE ${table} SET version = 'rolled back'`);
    const [seen] = await pool.query(`SELECT CONVERT(version USING utf8mb4) AS version FROM ${table}`);
    expect(seen).toEqual([{ version: 'rolled back' }]);
    expect(await readVersion(store, 'order 1')).toBe(version);
    await other.rollback();
  });
});

describe.skipIf(database.missing)('a connection of mysql2', () => {
  describeTransactions('it', async () => {
    const table = await server.createTable();
    const connection = await server.connect();
    const { store } = openMysqlStore(connection, table);
    return { store, run: (sql) => connection.query(sql), witness: openWitness(table) };
  });

  test.each([
    ['START TRANSACTION READ ONLY', 'ROLLBACK', 'inside a transaction'],
    ["XA START 'order'", "XA END 'order'; XA ROLLBACK 'order'", 'inside a transaction'],
    ['SET autocommit = 0', 'SET autocommit = 1', 'autocommit = 0'],
  ])('is refused after %s', async (begin, end, reason) => {
    const table = await server.createTable();
    const connection = await server.connect({ multipleStatements: true });
    const { store, migrate } = openMysqlStore(connection, table);
    await connection.query(begin);
    expect(await catchError(store.write('order 1', createChange()))).toMatchObject(refused(reason));
    // It would commit the transaction.
    expect(await catchError(migrate())).toMatchObject(refused(reason));
    await connection.query(end);
    expect(await readVersion(store, 'order 1')).toBeNull();
    expect(await store.write('order 1', createChange())).toBe(true);
  });

  test.each(['rollback', 'commit'] as const)(
    'is refused behind an unawaited BEGIN that ends in %s',
    async (ending) => {
      const table = await server.createTable();
      const connection = await server.connect();
      const begun: Promise<unknown>[] = [];
      const beginBeforeWrite = Object.assign(Object.create(connection), {
        query: (query: { sql: string }) => {
          if (query.sql.startsWith('INSERT') && begun.length === 0) begun.push(connection.query('BEGIN'));
          return connection.query(query);
        },
      });
      const { store } = openMysqlStore(beginBeforeWrite, table);
      const change = createChange();
      expect(await catchError(store.write('order 1', change))).toMatchObject(refused());
      expect(begun).toHaveLength(1);
      await Promise.all(begun);
      await connection[ending]();
      const written = ending === 'rollback' ? null : change.version;
      expect(await readVersion(openWitness(table), 'order 1')).toBe(written);
    },
  );

  test('leaves the error of a transaction that a deadlock has rolled back', async () => {
    const table = await server.createTable();
    const connection = await server.connect();
    const { store } = openMysqlStore(connection, table);
    await writeNew(openWitness(table), 'order 1');
    const other = await server.connect();
    await other.query(`CREATE TABLE ${table}_weight (id INT PRIMARY KEY) ENGINE = InnoDB`);
    await other.beginTransaction();
    // The server ends the transaction that has changed less.
    await other.query(`INSERT INTO ${table}_weight VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)`);
    await other.query(`SELECT 1 FROM ${table} WHERE \`key\` = 'order 1' FOR UPDATE`);
    await connection.beginTransaction();
    await connection.query(`INSERT INTO ${table} (\`key\`, version, record) VALUES ('order 2', 'own', '{}')`);
    const expected = await readVersion(openWitness(table), 'order 1');
    const failure = catchError(store.write('order 1', createChange({ expected, mustCommit: false })));
    await server.waitForLock(table);
    await other.query(`SELECT 1 FROM ${table} WHERE \`key\` = 'order 2' FOR UPDATE`);
    expect(await failure).toMatchObject({ errno: 1213 });
    await other.rollback();
    expect(await readVersion(openWitness(table), 'order 1')).toBe(expected);
  });
});
