import { Client, Pool } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createOrderPayments } from '../../../src/orders/index.ts';
import type { Journal } from '../../../src/stores/index.ts';
import { mysqlJournal } from '../../../src/stores/mysql/index.ts';
import { postgresJournal } from '../../../src/stores/postgres/index.ts';
import { charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { useDatabase } from '../../helpers/use-database.ts';
import { database as mysql } from './kinds/mysql.ts';
import { useMysql } from './use-mysql.ts';

const postgres = useDatabase();
const mariaDb = useMysql();

function openPool(url: string): Pool {
  const pool = new Pool({ connectionString: url, max: 5 });
  pool.on('error', () => {});
  // A query on a dead connection ends with its proxy.
  onTestFinished(() => void pool.end());
  return pool;
}

/** Counts the charges. */
const startCounting = () =>
  startService((response) => {
    const reference = `TXN-${crypto.randomUUID()}`;
    sendJson(response, 200, successBodies.chargeMobileMoney({ reference }));
  });

function openShop(service: Awaited<ReturnType<typeof startCounting>>, journal: Journal) {
  const payments = service.client({ journal, maxRetries: 0 });
  return { payments, ...createOrderPayments({ payments, journal, onPaid: () => {}, onAttention: () => {} }) };
}

/** Returns the error of a call. A call that does not end within four times its limit has none. */
async function findError(call: Promise<unknown>): Promise<unknown> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, 60_000);
  });
  const ended = call.then(
    () => 'no error',
    (error: unknown) => error,
  );
  return await Promise.race([ended, tooLate]).finally(() => clearTimeout(timer));
}

describe('a table that is locked', () => {
  /** Makes two calls, each on a journal of its own: a JournalError ends each, and nothing is sent. */
  const expectErrors = async (open: () => Journal) => {
    const service = await startCounting();
    const calls = [
      openShop(service, open()).charge('17', charge),
      openShop(service, open()).payments.chargeMobileMoney(charge, { idempotencyKey: 'key' }),
      openShop(service, open()).sweep(),
      open().list().next(),
    ];
    for (const error of await Promise.all(calls.map(findError)))
      expect(error).toMatchObject({ name: 'JournalError', retryable: true });
    expect(service.requests).toEqual([]);
  };

  test('is a JournalError of each call on PostgreSQL', async () => {
    const pool = openPool(postgres.url);
    const journal = postgresJournal(pool, { table: 'locked' });
    await journal.migrate();
    const other = new Client(postgres.url);
    await other.connect();
    await other.query('BEGIN; LOCK TABLE locked IN ACCESS EXCLUSIVE MODE');
    await expectErrors(() => postgresJournal(openPool(postgres.url), { table: 'locked' }));
    await other.end();
    // The claim of the key was written once the lock was gone, and is released.
    await expect.poll(async () => (await journal.read('key'))?.state ?? 'not_sent').toBe('not_sent');
  });

  test.skipIf(mysql.missing)('is a JournalError of each call on MariaDB', async () => {
    const table = await mariaDb.createTable();
    const other = await mariaDb.connect();
    await other.query(`LOCK TABLES ${table} WRITE`);
    await expectErrors(() => mysqlJournal(mariaDb.openPool(), { table }));
    other.destroy();
  });
});
