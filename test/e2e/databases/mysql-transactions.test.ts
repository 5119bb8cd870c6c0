import { createPool as createCallbackPool } from 'mysql2';
import { describe, expect, onTestFinished, test } from 'vitest';
import { mysqlJournal } from '../../../src/journal/mysql.ts';
import { openMysqlStore } from '../../../src/journal/mysql-store.ts';
import { catchError, charge, startService } from '../../helpers/service.ts';
import { database } from './kinds/mysql.ts';
import { claimDueKeys, createChange, insertDue, insertRecord, readVersion } from './mysql-records.ts';
import { prepareConnections, useMysql } from './use-mysql.ts';

const server = useMysql();

const refused = (what = 'inside a transaction') => ({
  name: 'JournalError',
  outcome: 'not_sent',
  message: expect.stringContaining(what),
});

/** A store on the table of another one, through another connection. */
const openWitness = (table: string) => openMysqlStore(server.openPool({ connectionLimit: 1 }), table).store;

function openCallbackPool() {
  const pool = createCallbackPool({ uri: server.place, connectionLimit: 1 });
  onTestFinished(() => new Promise<void>((resolve) => pool.end(() => resolve())));
  return pool;
}

describe.skipIf(database.missing)('a pool of mysql2', () => {
  test('writes what survives the rollback of an open transaction', async () => {
    const table = await server.createTable();
    const pool = server.openPool();
    const { store } = openMysqlStore(pool, table);
    const own = await pool.getConnection();
    await own.beginTransaction();
    const version = await insertRecord(store, 'order 1');
    await own.rollback();
    own.release();
    expect(await readVersion(openWitness(table), 'order 1')).toBe(version);
  });

  test.each([
    [
      'promises',
      () => {
        const pool = server.openPool({ connectionLimit: 1 });
        return { given: pool, pool };
      },
    ],
    [
      'callbacks',
      () => {
        const given = openCallbackPool();
        return { given, pool: given.promise() };
      },
    ],
  ])('closes a connection released in a transaction, and writes on another (%s)', async (_kind, open) => {
    const table = await server.createTable();
    await server.run(`CREATE TABLE ${table}_orders (id INT) ENGINE = InnoDB`);
    const { given, pool } = open();
    const { store } = openMysqlStore(given, table);
    await insertRecord(store, 'order 0');
    const forgotten = await pool.getConnection();
    const { threadId } = forgotten;
    await forgotten.query('BEGIN');
    await forgotten.query(`INSERT INTO ${table}_orders VALUES (1)`);
    forgotten.release();
    const version = await insertRecord(store, 'order 1');
    expect(await readVersion(openWitness(table), 'order 1')).toBe(version);
    expect(await server.run(`SELECT * FROM ${table}_orders`)).toEqual([]);
    const next = await pool.getConnection();
    expect(next.threadId).not.toBe(threadId);
    next.release();
  });

  test('reads outside a transaction that a released connection is in', async () => {
    const table = await server.createTable();
    const pool = server.openPool({ connectionLimit: 1 });
    const { store } = openMysqlStore(pool, table);
    const expected = await insertRecord(store, 'order 1');
    const forgotten = await pool.getConnection();
    await forgotten.query('BEGIN');
    await forgotten.query(`SELECT COUNT(*) FROM ${table}`);
    forgotten.release();
    const next = createChange({ expected });
    await openWitness(table).write('order 1', next);
    expect(await readVersion(store, 'order 1')).toBe(next.version);
    expect(await store.list({ by: 'createdAt', after: null, limit: 10 })).toMatchObject([
      { key: 'order 1', version: next.version },
    ]);
  });

  test('waits for an unawaited BEGIN on a released connection', async () => {
    const table = await server.createTable();
    const pool = server.openPool({ connectionLimit: 1 });
    const { store } = openMysqlStore(pool, table);
    const forgotten = await pool.getConnection();
    const begun = forgotten.query('BEGIN');
    forgotten.release();
    const version = await insertRecord(store, 'order 1');
    await begun;
    expect(await readVersion(openWitness(table), 'order 1')).toBe(version);
  });

  test('is refused with autocommit = 0', async () => {
    const table = await server.createTable();
    const pool = prepareConnections(server.openPool({ connectionLimit: 1 }), 'SET autocommit = 0');
    const { store, migrate } = openMysqlStore(pool, table);
    for (const step of [
      () => store.write('order 1', createChange()),
      () => store.write('order 1', createChange({ mustCommit: false })),
      () => store.read('order 1'),
      () => claimDueKeys(store),
      () => migrate(),
    ])
      expect(await catchError(step())).toMatchObject(refused('autocommit = 0'));
    expect(await readVersion(openWitness(table), 'order 1')).toBeNull();
  });

  test('leaves no listener and no connection behind', async () => {
    const table = await server.createTable();
    const pool = server.openPool({ connectionLimit: 1 });
    const { store } = openMysqlStore(pool, table);
    await insertRecord(store, 'order 0');
    const count = async () => {
      const connection = await pool.getConnection();
      const { connection: core } = connection;
      const listeners = core.listenerCount('error');
      connection.release();
      return { listeners, threadId: connection.threadId };
    };
    const before = await count();
    for (let index = 1; index <= 20; index++) await insertRecord(store, `order ${index}`);
    expect(await store.write('order 1', createChange())).toBe(false);
    expect(await count()).toEqual(before);
  });

  test('migrates outside a transaction', async () => {
    const pool = server.openPool({ connectionLimit: 2 });
    const own = await pool.getConnection();
    await own.beginTransaction();
    await openMysqlStore(pool, 'migrated_beside').migrate();
    const [{ serverStatus = 0 }] = Object(await own.query('DO 0'));
    expect(serverStatus & 1).toBe(1);
    await own.rollback();
    own.release();
  });
});

describe.skipIf(database.missing)('a connection of mysql2', () => {
  test('is refused inside a transaction, which goes on unharmed', async () => {
    const table = await server.createTable();
    await server.run(`CREATE TABLE ${table}_orders (id INT) ENGINE = InnoDB`);
    const connection = await server.connect();
    const { store, migrate } = openMysqlStore(connection, table);
    await connection.beginTransaction();
    await connection.query(`INSERT INTO ${table}_orders VALUES (1)`);
    expect(await catchError(store.write('order 1', createChange()))).toMatchObject({
      ...refused(),
      retryable: true,
    });
    expect(await catchError(migrate())).toMatchObject(refused());
    expect(await catchError(store.delete([{ key: 'order 1', version: 'first' }]))).toMatchObject(refused());
    expect(await server.run(`SELECT * FROM ${table}_orders`)).toEqual([]);
    await connection.query(`INSERT INTO ${table}_orders VALUES (2)`);
    await connection.commit();
    expect(await server.run(`SELECT * FROM ${table}_orders`)).toHaveLength(2);
    expect(await readVersion(store, 'order 1')).toBeNull();
    expect(await store.write('order 1', createChange())).toBe(true);
  });

  test.each([
    ['START TRANSACTION READ ONLY', 'ROLLBACK', 'inside a transaction'],
    ["XA START 'order'", "XA END 'order'; XA ROLLBACK 'order'", 'inside a transaction'],
    ['SET autocommit = 0', 'SET autocommit = 1', 'autocommit = 0'],
  ])('is refused after %s', async (begin, end, reason) => {
    const table = await server.createTable();
    const connection = await server.connect({ multipleStatements: true });
    const { store } = openMysqlStore(connection, table);
    await connection.query(begin);
    expect(await catchError(store.write('order 1', createChange()))).toMatchObject(refused(reason));
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
      expect(await readVersion(openWitness(table), 'order 1')).toBe(
        ending === 'rollback' ? null : change.version,
      );
    },
  );

  test('reads and writes inside the transaction what need not commit', async () => {
    const table = await server.createTable();
    const connection = await server.connect();
    const { store } = openMysqlStore(connection, table);
    const witness = openWitness(table);
    const expected = await insertRecord(store, 'order 1');
    const attention = { mustCommit: false, index: { attentionAt: 1 } };
    const listInReview = (of = store) => of.list({ by: 'attentionAt', after: null, limit: 10 });

    await connection.beginTransaction();
    const lost = createChange({ expected, ...attention });
    expect(await store.write('order 1', lost)).toBe(true);
    expect(await readVersion(store, 'order 1')).toBe(lost.version);
    expect(await listInReview()).toMatchObject([{ key: 'order 1' }]);
    expect(await store.count()).toEqual({ records: 1, attention: 1 });
    expect(await listInReview(witness)).toEqual([]);
    await connection.rollback();
    expect(await readVersion(witness, 'order 1')).toBe(expected);

    await connection.beginTransaction();
    const kept = createChange({ expected, ...attention });
    expect(await store.write('order 1', kept)).toBe(true);
    await connection.commit();
    expect(await readVersion(witness, 'order 1')).toBe(kept.version);
  });

  test('makes others wait for a record that its transaction has written', async () => {
    const table = await server.createTable();
    const connection = await server.connect();
    const { store } = openMysqlStore(connection, table);
    const other = openWitness(table);
    const expected = await insertRecord(store, 'order 1');
    await connection.beginTransaction();
    expect(await store.write('order 1', createChange({ expected, mustCommit: false }))).toBe(true);
    const writing = other.write('order 1', createChange({ expected }));
    await server.waitForLock(table);
    await connection.commit();
    expect(await writing).toBe(false);
  });

  test('lets no charge be sent inside a transaction', async () => {
    const table = await server.createTable();
    const connection = await server.connect();
    const service = await startService();
    const payments = service.client({ journal: mysqlJournal(connection, { table }) });
    const send = () => payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' });
    await connection.beginTransaction();
    expect(await catchError(send())).toMatchObject({ ...refused(), retryable: true });
    expect(service.requests).toEqual([]);
    await connection.commit();
    await send();
    expect(service.requests).toHaveLength(1);
  });

  test('is refused what is due inside a transaction', async () => {
    const table = await server.createTable();
    const connection = await server.connect();
    const { store } = openMysqlStore(connection, table);
    await insertDue(store, 'order 1');
    await connection.beginTransaction();
    expect(await catchError(claimDueKeys(store))).toMatchObject(refused());
    expect(await store.countDue({ kind: 'key' })).toMatchObject({ due: 1 });
    await connection.commit();
    expect(await claimDueKeys(store)).toEqual(['order 1']);
  });
});

/** A store with READ UNCOMMITTED must not take for recorded what is rolled back. */
test.skipIf(database.missing)('reads no record that a transaction rolls back', async () => {
  const table = await server.createTable();
  const pool = prepareConnections(
    server.openPool(),
    'SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED',
  );
  const { store } = openMysqlStore(pool, table);
  const version = await insertRecord(store, 'order 1');
  const other = await server.connect();
  await other.beginTransaction();
  await other.query(`UPDATE ${table} SET version = 'rolled back'`);
  const [levels] = await pool.query("SHOW SESSION VARIABLES LIKE '%_isolation'");
  expect(JSON.stringify(levels)).toContain('READ-UNCOMMITTED');
  const [seen] = await pool.query(`SELECT CONVERT(version USING utf8mb4) AS version FROM ${table}`);
  expect(seen).toEqual([{ version: 'rolled back' }]);
  expect(await readVersion(store, 'order 1')).toBe(version);
  await other.rollback();
  expect(await readVersion(store, 'order 1')).toBe(version);
});
