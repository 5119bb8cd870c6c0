import { type Client, Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { postgresSchema } from '../../../src/journal/postgres.ts';
import { createPostgresStore } from '../../../src/journal/postgres-store.ts';
import {
  createChange,
  createIndex,
  openClient,
  openPool,
  REFUSED,
  readVersion,
  requireMethod,
  waitForLock,
  writeNew,
} from '../../helpers/postgres-tables.ts';
import { catchError } from '../../helpers/service.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const TABLE = 'payments_journal';

const server = useDatabase();
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: server.url });
  // The server can stop before the last connection is closed.
  pool.on('error', () => {});
  await pool.query(postgresSchema());
});

afterAll(() => pool?.end());

const newKey = () => `order ${crypto.randomUUID()}`;

const open = (client: Pool | Client) => createPostgresStore(client, TABLE);

/** Reads through a connection of its own: what is committed. */
const readCommitted = (key: string) => readVersion(open(pool), key);

describe('through the Pool', () => {
  test('writes what survives the rollback of an open transaction', async () => {
    const store = open(pool);
    const own = await pool.connect();
    onTestFinished(() => own.release());
    const key = newKey();
    await own.query('BEGIN');
    const version = await writeNew(store, key);
    await own.query('ROLLBACK');
    expect(await readCommitted(key)).toBe(version);
  });

  test('fails on a connection released in a transaction, then recovers', async () => {
    const own = openPool(server, { max: 1 });
    const store = open(own);
    const key = newKey();
    const forgotten: PoolClient = await own.connect();
    await forgotten.query('BEGIN');
    forgotten.release();
    expect(await catchError(store.write(key, createChange()))).toMatchObject(REFUSED);
    expect(await readCommitted(key)).toBeNull();
    const version = await writeNew(store, key);
    expect(await readCommitted(key)).toBe(version);
  });

  test('refuses pg before 8.21 for what must be committed', async () => {
    const own = openPool(server, { max: 1 });
    own.on('connect', (client) => {
      Object.defineProperty(client, 'getTransactionStatus', { value: undefined });
    });
    const store = open(own);
    const key = newKey();
    for (const statement of ['SELECT 1', 'BEGIN']) {
      const forgotten = await own.connect();
      await forgotten.query(statement);
      forgotten.release();
      expect(await catchError(store.write(key, createChange()))).toMatchObject({
        name: 'JournalError',
        outcome: 'not_sent',
        retryable: false,
        message: expect.stringContaining('Upgrade pg to 8.21 or later.'),
      });
      expect(await readCommitted(key)).toBeNull();
    }
    const version = await writeNew(store, key, { mustCommit: false });
    expect(await readCommitted(key)).toBe(version);
  });

  test('detects an unawaited BEGIN on a released connection', async () => {
    const own = openPool(server, { max: 1 });
    const store = open(own);
    const key = newKey();
    const forgotten = await own.connect();
    const begun = forgotten.query('BEGIN');
    forgotten.release();
    expect(await catchError(store.write(key, createChange()))).toMatchObject(REFUSED);
    await begun;
    expect(await readCommitted(key)).toBeNull();
    const version = await writeNew(store, key);
    expect(await readCommitted(key)).toBe(version);
  });

  test.each(['ended by the server', 'reset'])(
    'survives a broken connection, and only its call fails: %s',
    async (how) => {
      const own = openPool(server, { max: 1 });
      const connections: object[] = [];
      own.on('connect', (client) => connections.push(client));
      const store = open(own);
      const blocker = await openClient(server);
      const key = newKey();
      const expected = await writeNew(store, key);
      await blocker.query('BEGIN');
      await blocker.query(`SELECT 1 FROM ${TABLE} WHERE key = $1 FOR UPDATE`, [key]);
      const change = createChange({ expected });
      const failure = catchError(store.write(key, change));
      const pid = await waitForLock(pool);
      if (how === 'reset') Object(connections[0]).connection.stream.destroy(new Error('reset'));
      else await blocker.query('SELECT pg_terminate_backend($1)', [pid]);
      expect(await failure).toBeInstanceOf(Error);
      await blocker.query('ROLLBACK');
      // The server might not notice the reset before it has the lock.
      expect([expected, change.version]).toContain(await readVersion(store, key));
      await writeNew(store, newKey());
    },
  );

  test('leaves no listener and no connection behind', async () => {
    const own = openPool(server, { max: 1 });
    const store = open(own);
    await writeNew(store, newKey());
    const client = await own.connect();
    const before = client.listenerCount('error');
    client.release();
    for (let count = 0; count < 20; count++) await writeNew(store, newKey());
    const same = await own.connect();
    expect(same).toBe(client);
    expect(same.listenerCount('error')).toBe(before);
    same.release();
    expect(own.waitingCount + own.totalCount - own.idleCount).toBe(0);
  });
});

describe('through a Client', () => {
  test('refuses what must be committed inside a transaction', async () => {
    const client = await openClient(server);
    const store = open(client);
    const kept = newKey();
    const index = createIndex({ dueAt: 0 });
    const version = await writeNew(store, kept, { index });
    const key = newKey();
    await client.query('BEGIN');
    for (const step of [
      () => store.write(key, createChange()),
      () => store.write(kept, createChange({ expected: version })),
      () => requireMethod(store, 'claimDue')({ kind: 'key', limit: 10, lease: 60_000 }),
      () => requireMethod(store, 'delete')([{ key: kept, version }]),
    ])
      expect(await catchError(step())).toMatchObject(REFUSED);
    const { rows } = await client.query('SELECT txid_current_if_assigned() AS txid');
    expect(rows).toEqual([{ txid: null }]);
    await client.query('COMMIT');
    expect([await readCommitted(key), await readCommitted(kept)]).toEqual([null, version]);
    await writeNew(store, key);
    const claimed = await requireMethod(store, 'claimDue')({ kind: 'key', limit: 10, lease: 60_000 });
    expect(claimed.records).toMatchObject([{ key: kept, version }]);
  });

  test('refuses what must be committed inside a failed transaction', async () => {
    const client = await openClient(server);
    const store = open(client);
    await writeNew(store, newKey());
    await client.query('BEGIN');
    await catchError(client.query('SELECT 1 / 0'));
    expect(await catchError(store.write(newKey(), createChange()))).toMatchObject(REFUSED);
    await client.query('ROLLBACK');
  });

  test.each(['ROLLBACK', 'COMMIT'])('refuses a write behind a BEGIN that ends in %s', async (ending) => {
    const client = await openClient(server);
    const store = open(client);
    await writeNew(store, newKey());
    const key = newKey();
    const change = createChange();
    const begun = client.query('BEGIN');
    expect(await catchError(store.write(key, change))).toMatchObject(REFUSED);
    await begun;
    await client.query(ending);
    expect(await readCommitted(key)).toBe(ending === 'ROLLBACK' ? null : change.version);
  });

  test('reads, lists and writes as a part of the transaction', async () => {
    const client = await openClient(server);
    const store = open(client);
    const key = newKey();
    const index = createIndex({ createdAt: 17 });
    const expected = await writeNew(store, key);

    await client.query('BEGIN');
    const version = await writeNew(store, key, { expected, index, mustCommit: false });
    expect(await readVersion(store, key)).toBe(version);
    const listed = await requireMethod(store, 'list')({ by: 'createdAt', after: null, limit: 1 });
    expect(listed).toMatchObject([{ key, version, at: 17 }]);
    expect(await readCommitted(key)).toBe(expected);
    await client.query('ROLLBACK');
    expect(await readVersion(store, key)).toBe(expected);

    await client.query('BEGIN');
    const again = await writeNew(store, key, { expected, mustCommit: false });
    await client.query('COMMIT');
    expect(await readCommitted(key)).toBe(again);
  });

  test('waits for an open transaction that writes the same record', async () => {
    const client = await openClient(server);
    const key = newKey();
    const expected = await writeNew(open(pool), key);
    await client.query('BEGIN');
    const version = await writeNew(open(client), key, { expected, mustCommit: false });
    const change = createChange({ expected });
    const writing = open(pool).write(key, change);
    await waitForLock(pool);
    await client.query('COMMIT');
    expect(await writing).toBe(false);
    expect(await readCommitted(key)).toBe(version);
  });

  test.each([
    ['older than 8.21', {}, 'Upgrade pg to 8.21 or later.'],
    ['in pipeline mode', { getTransactionStatus: () => 'I', pipeline: true }, 'Give the journal the Pool.'],
  ])('refuses to write on a Client that is %s', async (_which, more, instead) => {
    const client = await openClient(server);
    const queries: string[] = [];
    const query = (text: string, values?: unknown[]) => {
      queries.push(text);
      return client.query(text, values);
    };
    const store = createPostgresStore({ query, ...more }, TABLE);
    expect(await catchError(store.write(newKey(), createChange()))).toMatchObject({
      name: 'JournalError',
      retryable: false,
      message: expect.stringContaining(instead),
    });
    expect(queries).toEqual([]);
  });
});
