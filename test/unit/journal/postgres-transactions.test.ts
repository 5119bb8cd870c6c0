import { Client, Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { getJournalCore, type JournalCore } from '../../../src/journal/core.ts';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { chargeIntent, claimKey, completeKey, tryClaim } from '../../helpers/claims.ts';
import { changed, LONG_LEASE } from '../../helpers/journals.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const server = useDatabase();
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: server.url });
  // The server can stop before the last connection is closed.
  pool.on('error', () => {});
  await postgresJournal(pool).migrate();
});

// A journal belongs to one service, and each test has a service of its own.
beforeEach(async () => {
  await pool.query('DELETE FROM payments_journal');
});

afterAll(async () => {
  await pool?.end();
});

async function connected(options: object = {}): Promise<Client> {
  const client = new Client({ connectionString: server.url, ...options });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

function poolOf1(): Pool {
  const own = new Pool({ connectionString: server.url, max: 1 });
  own.on('error', () => {});
  onTestFinished(() => own.end());
  return own;
}

let keys = 0;
const newKey = () => `order-${++keys}`;

const refused = {
  name: 'JournalError',
  outcome: 'not_sent',
  retryable: true,
  message: expect.stringContaining('inside a transaction'),
};

/** Counts the requests. */
const counting = () => startService((response) => sendJson(response, 200, successBodies.chargeMobileMoney()));

describe('through the Pool', () => {
  test('records a charge that survives the rollback of an open transaction', async () => {
    const service = await counting();
    const payments = service.client({ journal: postgresJournal(pool, { lease: LONG_LEASE }) });
    const own = await pool.connect();
    const key = newKey();
    await own.query('BEGIN');
    await payments.chargeMobileMoney(charge, { idempotencyKey: key });
    await own.query('ROLLBACK');
    own.release();
    expect(await postgresJournal(pool).read(key)).toMatchObject({ state: 'completed' });
    await payments.chargeMobileMoney(charge, { idempotencyKey: key });
    expect(service.requests).toHaveLength(1);
  });

  test('fails on a connection released in a transaction, then recovers', async () => {
    const own = new Pool({ connectionString: server.url, max: 1 });
    own.on('error', () => {});
    onTestFinished(() => own.end());
    const service = await counting();
    const journal = postgresJournal(own);
    const payments = service.client({ journal });
    const key = newKey();
    const forgotten: PoolClient = await own.connect();
    await forgotten.query('BEGIN');
    forgotten.release();

    expect(await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: key }))).toMatchObject(
      refused,
    );
    expect(service.requests).toEqual([]);
    expect(await journal.read(key)).toBeNull();
    await payments.chargeMobileMoney(charge, { idempotencyKey: key });
    expect(service.requests).toHaveLength(1);
    expect(await postgresJournal(pool).read(key)).toMatchObject({ state: 'completed' });
  });

  test('refuses to charge with pg before 8.21, but resolves', async () => {
    const own = poolOf1();
    own.on('connect', (client) => {
      Object.defineProperty(client, 'getTransactionStatus', { value: undefined });
    });
    const service = await counting();
    const journal = postgresJournal(own);
    const payments = service.client({ journal });
    for (const statement of ['SELECT 1', 'BEGIN']) {
      const forgotten = await own.connect();
      await forgotten.query(statement);
      forgotten.release();
      expect(
        await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: newKey() })),
      ).toMatchObject({
        name: 'JournalError',
        outcome: 'not_sent',
        retryable: false,
        message: expect.stringContaining('Upgrade pg to 8.21 or later.'),
      });
    }
    expect(service.requests).toEqual([]);
    const key = newKey();
    const current = postgresJournal(pool);
    await completeKey(current, key, { state: 'unknown' });
    await journal.resolve(key, { reference: 'TXN-found' }, note);
    expect(await current.read(key)).toMatchObject({ state: 'completed' });
  });

  test('detects an unawaited BEGIN on a released connection', async () => {
    const own = poolOf1();
    const service = await counting();
    const payments = service.client({ journal: postgresJournal(own, { lease: LONG_LEASE }) });
    const key = newKey();
    const forgotten = await own.connect();
    const begun = forgotten.query('BEGIN');
    forgotten.release();
    expect(await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: key }))).toMatchObject(
      refused,
    );
    await begun;
    expect(service.requests).toEqual([]);
    expect(await postgresJournal(pool).read(key)).toBeNull();
    await payments.chargeMobileMoney(charge, { idempotencyKey: key });
    expect(service.requests).toHaveLength(1);
  });

  test.each(['ended by the server', 'reset'])(
    'survives a broken connection, and only its call fails: %s',
    async (how) => {
      const own = new Pool({ connectionString: server.url, max: 1 });
      own.on('error', () => {});
      const connections: object[] = [];
      own.on('connect', (client) => connections.push(client));
      onTestFinished(() => own.end());
      const journal = postgresJournal(own);
      const blocker = await connected();
      const key = newKey();
      const claim = await claimKey(journal, key);
      await blocker.query('BEGIN');
      await blocker.query('SELECT 1 FROM payments_journal WHERE key = $1 FOR UPDATE', [key]);
      const failure = catchError(getJournalCore(journal).renew(claim));
      const pid = await waitingForLock(blocker);
      if (how === 'reset') Object(connections[0]).connection.stream.destroy(new Error('reset'));
      else await blocker.query('SELECT pg_terminate_backend($1)', [pid]);
      expect(await failure).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: true });
      await blocker.query('ROLLBACK');
      expect(await journal.read(key)).toMatchObject({ state: 'begun' });
    },
  );

  test('leaves no listener and no connection behind', async () => {
    const own = new Pool({ connectionString: server.url, max: 1 });
    own.on('error', () => {});
    onTestFinished(() => own.end());
    const journal = postgresJournal(own);
    await claimKey(journal, newKey());
    const client = await own.connect();
    const before = client.listenerCount('error');
    client.release();
    for (let count = 0; count < 20; count++) await claimKey(journal, newKey());
    const same = await own.connect();
    expect(same).toBe(client);
    expect(same.listenerCount('error')).toBe(before);
    same.release();
    expect(own.waitingCount + own.totalCount - own.idleCount).toBe(0);
  });
});

describe('through a Client', () => {
  test('refuses to charge inside a transaction, and records nothing', async () => {
    const client = await connected();
    const service = await counting();
    const journal = postgresJournal(client);
    const payments = service.client({ journal });
    const key = newKey();
    await client.query('BEGIN');
    expect(await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: key }))).toMatchObject(
      refused,
    );
    await client.query('COMMIT');
    expect(await journal.read(key)).toBeNull();
    expect(service.requests).toEqual([]);
    await payments.chargeMobileMoney(charge, { idempotencyKey: key });
    expect(service.requests).toHaveLength(1);
  });

  test('refuses to charge inside a failed transaction', async () => {
    const client = await connected();
    const journal = postgresJournal(client);
    await claimKey(journal, newKey());
    await client.query('BEGIN');
    await catchError(client.query('SELECT 1 / 0'));
    expect(await catchError(getJournalCore(journal).claim(newKey(), chargeIntent))).toMatchObject(refused);
    await client.query('ROLLBACK');
  });

  test.each(['ROLLBACK', 'COMMIT'])(
    'sends nothing behind an unawaited BEGIN that ends in %s',
    async (ending) => {
      const client = await connected();
      const service = await counting();
      const journal = postgresJournal(client);
      await claimKey(journal, newKey());
      const transactions: Promise<unknown>[] = [];
      const claim: JournalCore['claim'] = (key, { service: _, ...others }) => {
        transactions.push(client.query('BEGIN'));
        return getJournalCore(journal).claim(key, { ...others, service: chargeIntent.service });
      };
      const payments = service.client({ journal: changed(journal, { claim }) });
      const key = newKey();
      expect(await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: key }))).toMatchObject(
        refused,
      );
      await Promise.all(transactions);
      await client.query(ending);
      expect(service.requests).toEqual([]);
      const entry = await postgresJournal(pool).read(key);
      expect(entry?.state).toBe(ending === 'ROLLBACK' ? undefined : 'begun');
    },
  );

  test('reads and resolves inside the transaction', async () => {
    const client = await connected();
    const journal = postgresJournal(client);
    const key = newKey();
    await completeKey(journal, key, { state: 'unknown' });

    await client.query('BEGIN');
    await journal.resolve(key, 'not_charged', note);
    expect(await journal.read(key)).toMatchObject({ state: 'not_charged' });
    expect(await postgresJournal(pool).read(key)).toMatchObject({ state: 'unknown' });
    await client.query('ROLLBACK');
    expect(await journal.read(key)).toMatchObject({ state: 'unknown' });

    await client.query('BEGIN');
    await journal.resolve(key, { reference: 'TXN-found' }, note);
    await client.query('COMMIT');
    expect(await postgresJournal(pool).read(key)).toMatchObject({ state: 'completed' });
  });

  test('waits to claim a key that an open transaction resolves', async () => {
    const client = await connected();
    const resolving = postgresJournal(client);
    const journal = postgresJournal(pool);
    const key = newKey();
    await completeKey(journal, key, { state: 'unknown' });
    await client.query('BEGIN');
    await resolving.resolve(key, 'not_charged', note);
    const claiming = tryClaim(journal, key);
    await waitingForLock(client);
    await client.query('COMMIT');
    expect(await claiming).toMatchObject({ state: 'claimed' });
  });

  test.each([
    ['older than 8.21', {}, 'Upgrade pg to 8.21 or later.'],
    ['in pipeline mode', { getTransactionStatus: () => 'I', pipeline: true }, 'Give the journal the Pool.'],
  ])('refuses to charge on a Client that is %s', async (_which, more, instead) => {
    const client = await connected();
    const queries: string[] = [];
    const query = (text: string, values?: unknown[]) => {
      queries.push(text);
      return client.query(text, values);
    };
    const journal = postgresJournal({ query, ...more });
    expect(await catchError(getJournalCore(journal).claim(newKey(), chargeIntent))).toMatchObject({
      name: 'JournalError',
      retryable: false,
      message: expect.stringContaining(instead),
    });
    expect(queries.filter((text) => !text.startsWith('SELECT'))).toEqual([]);
  });
});

/** The process of the one connection that waits for a lock. */
async function waitingForLock(client: Client): Promise<number> {
  for (;;) {
    const { rows } = await client.query(
      "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    );
    const [row] = rows;
    if (row) return Number(row.pid);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
