import { createPool as createCallbackPool } from 'mysql2';
import type { Connection } from 'mysql2/promise';
import { describe, expect, onTestFinished, test } from 'vitest';
import { getJournalCore, type JournalCore } from '../../../src/journal/core.ts';
import { mysqlJournal } from '../../../src/journal/mysql.ts';
import { chargeIntent, claimKey, completeKey, countDue, tryClaim } from '../../helpers/claims.ts';
import { changed } from '../../helpers/journals.ts';
import { claimDueKeys, listKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { database } from './kinds/mysql.ts';
import { useMysql } from './use-mysql.ts';

const server = useMysql();

const refused = (what = 'inside a transaction') => ({
  name: 'JournalError',
  outcome: 'not_sent',
  message: expect.stringContaining(what),
});

/** Counts the requests. */
const countRequests = () =>
  startService((response) => {
    const reference = `TXN-${crypto.randomUUID()}`;
    sendJson(response, 200, successBodies.chargeMobileMoney({ reference }));
  });

/** A journal in a table of its own, through another connection. */
const openWitness = (table: string) =>
  mysqlJournal(server.openPool({ connectionLimit: 1 }), { table, lease: 600_000 });

function openCallbackPool() {
  const pool = createCallbackPool({ uri: server.place, connectionLimit: 1 });
  onTestFinished(() => new Promise<void>((resolve) => pool.end(() => resolve())));
  return pool;
}

describe.skipIf(database.missing)('a pool of mysql2', () => {
  test('records a charge that survives the rollback of an open transaction', async () => {
    const table = await server.createTable();
    const pool = server.openPool();
    const service = await countRequests();
    const payments = service.client({ journal: mysqlJournal(pool, { table }) });
    const own = await pool.getConnection();
    await own.beginTransaction();
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' });
    await own.rollback();
    own.release();
    expect(await openWitness(table).read('order-1')).toMatchObject({ state: 'completed' });
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' });
    expect(service.requests).toHaveLength(1);
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
  ])('closes a connection released in a transaction, and charges on another (%s)', async (_kind, open) => {
    const table = await server.createTable();
    await server.run(`CREATE TABLE ${table}_orders (id INT) ENGINE = InnoDB`);
    const { given, pool } = open();
    const service = await countRequests();
    const payments = service.client({ journal: mysqlJournal(given, { table }) });
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-0' });
    const forgotten = await pool.getConnection();
    const { threadId } = forgotten;
    await forgotten.query('BEGIN');
    await forgotten.query(`INSERT INTO ${table}_orders VALUES (1)`);
    forgotten.release();
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' });
    expect(service.requests).toHaveLength(2);
    expect(await openWitness(table).read('order-1')).toMatchObject({ state: 'completed' });
    expect(await server.run(`SELECT * FROM ${table}_orders`)).toEqual([]);
    const next = await pool.getConnection();
    expect(next.threadId).not.toBe(threadId);
    next.release();
  });

  test('reads outside a transaction that a released connection is in', async () => {
    const table = await server.createTable();
    const pool = server.openPool({ connectionLimit: 1 });
    const journal = mysqlJournal(pool, { table });
    const claim = await claimKey(journal, 'order-1');
    const forgotten = await pool.getConnection();
    await forgotten.query('BEGIN');
    await forgotten.query(`SELECT COUNT(*) FROM ${table}`);
    forgotten.release();
    await getJournalCore(openWitness(table)).complete(claim, { state: 'unknown' });
    expect(await journal.read('order-1')).toMatchObject({ state: 'unknown' });
    expect(await listKeys(journal, { state: 'unknown' })).toEqual(['order-1']);
  });

  test('waits for an unawaited BEGIN on a released connection', async () => {
    const table = await server.createTable();
    const pool = server.openPool({ connectionLimit: 1 });
    const service = await countRequests();
    const payments = service.client({ journal: mysqlJournal(pool, { table }) });
    const forgotten = await pool.getConnection();
    const begun = forgotten.query('BEGIN');
    forgotten.release();
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' });
    await begun;
    expect(service.requests).toHaveLength(1);
    expect(await openWitness(table).read('order-1')).toMatchObject({ state: 'completed' });
  });

  test('is refused with autocommit = 0', async () => {
    const table = await server.createTable();
    const pool = server.openPool({ connectionLimit: 1 });
    pool.on('connection', (connection) => void connection.query('SET autocommit = 0'));
    const service = await countRequests();
    const journal = mysqlJournal(pool, { table });
    const payments = service.client({ journal });
    expect(await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' }))).toMatchObject(
      refused('autocommit = 0'),
    );
    expect(service.requests).toEqual([]);
    expect(await openWitness(table).read('order-1')).toBeNull();
    for (const step of [journal.read('order-1'), claimDueKeys(journal), journal.migrate()])
      expect(await catchError(step)).toMatchObject(refused('autocommit = 0'));
  });

  test('leaves no listener and no connection behind', async () => {
    const table = await server.createTable();
    const pool = server.openPool({ connectionLimit: 1 });
    const journal = mysqlJournal(pool, { table });
    await claimKey(journal, 'order-0');
    const count = async () => {
      const connection = await pool.getConnection();
      const { connection: core } = connection;
      const listeners = core.listenerCount('error');
      connection.release();
      return { listeners, threadId: connection.threadId };
    };
    const before = await count();
    for (let index = 1; index <= 20; index++) await claimKey(journal, `order-${index}`);
    expect(await tryClaim(journal, 'order-1')).toMatchObject({
      state: 'in_progress',
    });
    expect(await count()).toEqual(before);
  });

  test('migrates outside a transaction', async () => {
    const pool = server.openPool({ connectionLimit: 2 });
    const own = await pool.getConnection();
    await own.beginTransaction();
    await mysqlJournal(pool, { table: 'migrated_beside' }).migrate();
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
    const service = await countRequests();
    const journal = mysqlJournal(connection, { table });
    const payments = service.client({ journal });
    await connection.beginTransaction();
    await connection.query(`INSERT INTO ${table}_orders VALUES (1)`);
    expect(await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' }))).toMatchObject(
      { ...refused(), retryable: true },
    );
    expect(await catchError(journal.migrate())).toMatchObject(refused());
    expect(await server.run(`SELECT * FROM ${table}_orders`)).toEqual([]);
    await connection.query(`INSERT INTO ${table}_orders VALUES (2)`);
    await connection.commit();
    expect(await server.run(`SELECT * FROM ${table}_orders`)).toHaveLength(2);
    expect(await journal.read('order-1')).toBeNull();
    expect(service.requests).toEqual([]);
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' });
    expect(service.requests).toHaveLength(1);
  });

  test.each([
    ['START TRANSACTION READ ONLY', 'ROLLBACK', 'inside a transaction'],
    ["XA START 'order'", "XA END 'order'; XA ROLLBACK 'order'", 'inside a transaction'],
    ['SET autocommit = 0', 'SET autocommit = 1', 'autocommit = 0'],
  ])('is refused after %s', async (begin, end, reason) => {
    const table = await server.createTable();
    const connection = await server.connect({ multipleStatements: true });
    const journal = mysqlJournal(connection, { table });
    await connection.query(begin);
    expect(await catchError(tryClaim(journal, 'order-1'))).toMatchObject(refused(reason));
    await connection.query(end);
    expect(await journal.read('order-1')).toBeNull();
    expect(await claimKey(journal, 'order-1')).toMatchObject({ key: 'order-1' });
  });

  test.each(['rollback', 'commit'] as const)(
    'sends nothing behind an unawaited BEGIN that ends in %s',
    async (ending) => {
      const table = await server.createTable();
      const connection = await server.connect();
      const service = await countRequests();
      const journal = mysqlJournal(connection, { table });
      await claimKey(journal, 'order-0');
      const begun: Promise<unknown>[] = [];
      let statements = 0;
      const beginBeforeWrite = Object.assign(Object.create(connection), {
        query: (query: { sql: string }) => {
          if (query.sql.startsWith('INSERT') && statements++ === 0) begun.push(connection.query('BEGIN'));
          return connection.query(query);
        },
      });
      const claim: JournalCore['claim'] = (key, { service: _, ...others }) =>
        getJournalCore(mysqlJournal(beginBeforeWrite, { table })).claim(key, {
          ...others,
          service: chargeIntent.service,
        });
      const payments = service.client({ journal: changed(journal, { claim }) });
      expect(
        await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' })),
      ).toMatchObject(refused());
      expect(begun).toHaveLength(1);
      await Promise.all(begun);
      await connection[ending]();
      expect(service.requests).toEqual([]);
      const entry = await openWitness(table).read('order-1');
      expect(entry?.state).toBe(ending === 'rollback' ? undefined : 'begun');
    },
  );

  test('reads and resolves inside the transaction', async () => {
    const table = await server.createTable();
    const connection: Connection = await server.connect();
    const journal = mysqlJournal(connection, { table });
    const witness = openWitness(table);
    await completeKey(journal, 'order-1', { state: 'unknown' });

    await connection.beginTransaction();
    await journal.resolve('order-1', 'not_charged', note);
    expect(await journal.read('order-1')).toMatchObject({ state: 'not_charged' });
    expect(await listKeys(journal, { state: 'not_charged' })).toEqual(['order-1']);
    expect(await listKeys(witness, { state: 'unknown' })).toEqual(['order-1']);
    await connection.rollback();
    expect(await witness.read('order-1')).toMatchObject({ state: 'unknown' });

    await connection.beginTransaction();
    await journal.resolve('order-1', { reference: 'TXN-found' }, note);
    await connection.commit();
    expect(await witness.read('order-1')).toMatchObject({ state: 'completed' });
  });

  test('makes others wait for a key that its transaction resolves', async () => {
    const table = await server.createTable();
    const connection = await server.connect();
    const resolving = mysqlJournal(connection, { table });
    const journal = openWitness(table);
    await completeKey(journal, 'order-1', { state: 'unknown' });
    await connection.beginTransaction();
    await resolving.resolve('order-1', 'not_charged', note);
    const claiming = tryClaim(journal, 'order-1');
    await server.waitForLock(table);
    await connection.commit();
    expect(await claiming).toMatchObject({ state: 'claimed' });
  });

  test('is refused what is due inside a transaction', async () => {
    const table = await server.createTable();
    const connection = await server.connect();
    const journal = mysqlJournal(connection, { table });
    const result = { reference: 'TXN-1' };
    await completeKey(journal, 'order-1', {
      state: 'completed',
      result,
    });
    await connection.beginTransaction();
    expect(await catchError(claimDueKeys(journal))).toMatchObject(refused());
    expect(await countDue(journal)).toMatchObject({ due: 1 });
    await connection.commit();
    expect(await claimDueKeys(journal)).toEqual(['order-1']);
  });
});

/** A journal with READ UNCOMMITTED must not take for recorded what is rolled back. */
test.skipIf(database.missing)('reads no record that a transaction rolls back', async () => {
  const table = await server.createTable();
  const pool = server.openPool();
  pool.on('connection', (connection) => {
    connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED');
  });
  const journal = mysqlJournal(pool, { table });
  await completeKey(journal, 'order-1', { state: 'unknown' });
  const other = await server.connect();
  await other.beginTransaction();
  await other.query(`UPDATE ${table} SET record = JSON_SET(record, '$.state', 'not_charged')`);
  const [levels] = await pool.query("SHOW SESSION VARIABLES LIKE '%_isolation'");
  expect(JSON.stringify(levels)).toContain('READ-UNCOMMITTED');
  expect(await journal.read('order-1')).toMatchObject({ state: 'unknown' });
  await other.rollback();
  expect(await journal.read('order-1')).toMatchObject({ state: 'unknown' });
});
