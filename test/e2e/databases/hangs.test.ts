import { Client, Pool } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { JournalError } from '../../../src/index.ts';
import type { Journal } from '../../../src/journal/index.ts';
import { mysqlJournal } from '../../../src/journal/mysql.ts';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';
import { charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { startSilentProxy } from '../../helpers/silent-proxy.ts';
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

/** Makes each call on a journal of its own, while the table is locked. */
async function callAll(openJournal: () => Journal): Promise<Record<string, unknown>> {
  const service = await startCounting();
  const calls: Record<string, (journal: Journal) => Promise<unknown>> = {
    charge: (journal) => openShop(service, journal).charge('17', charge),
    'charge under a key': (journal) =>
      openShop(service, journal).payments.chargeMobileMoney(charge, { idempotencyKey: 'key' }),
    read: (journal) => openShop(service, journal).read('17'),
    wait: (journal) => openShop(service, journal).wait('17'),
    sweep: (journal) => openShop(service, journal).sweep(),
    list: (journal) => journal.list().next(),
  };
  const errors = await Promise.all(
    Object.entries(calls).map(async ([name, call]) => [name, await findError(call(openJournal()))] as const),
  );
  expect(service.requests).toEqual([]);
  return Object.fromEntries(errors);
}

const JOURNAL_ERROR = expect.objectContaining({ name: 'JournalError', retryable: true });
const ALL_FAILED = {
  charge: JOURNAL_ERROR,
  'charge under a key': JOURNAL_ERROR,
  read: JOURNAL_ERROR,
  wait: JOURNAL_ERROR,
  sweep: JOURNAL_ERROR,
  list: JOURNAL_ERROR,
};

describe('a table that is locked', () => {
  test('is a JournalError of each call on PostgreSQL', async () => {
    const pool = openPool(postgres.url);
    await postgresJournal(pool, { table: 'locked' }).migrate();
    const other = new Client(postgres.url);
    await other.connect();
    await other.query('BEGIN; LOCK TABLE locked IN ACCESS EXCLUSIVE MODE');
    const errors = await callAll(() => postgresJournal(openPool(postgres.url), { table: 'locked' }));
    await other.end();
    expect(errors).toEqual(ALL_FAILED);
    // The claim of the key was written once the lock was gone, and is released.
    const journal = postgresJournal(pool, { table: 'locked' });
    await expect.poll(async () => (await journal.read('key'))?.state ?? 'not_sent').toBe('not_sent');
  });

  test.skipIf(mysql.missing)('is a JournalError of each call on MariaDB', async () => {
    const table = await mariaDb.createTable();
    const other = await mariaDb.connect();
    await other.query(`LOCK TABLES ${table} WRITE`);
    const errors = await callAll(() => mysqlJournal(mariaDb.openPool(), { table }));
    other.destroy();
    expect(errors).toEqual(ALL_FAILED);
  });
});

test('dead connections to PostgreSQL end no call later, and charge nothing twice', async () => {
  const witness = postgresJournal(openPool(postgres.url), { table: 'dead' });
  await witness.migrate();
  const service = await startCounting();
  const start = async () => {
    const proxy = await startSilentProxy(postgres.url);
    const journal = postgresJournal(openPool(proxy.url), { table: 'dead' });
    return { proxy, journal, shop: openShop(service, journal) };
  };
  const healthy = await start();
  await healthy.shop.read('warm');
  healthy.proxy.silence(Number.POSITIVE_INFINITY, false);
  expect(await healthy.shop.charge('healthy', charge)).toMatchObject({ state: 'processing' });
  const points = Array.from({ length: healthy.proxy.countChunks() }, (_, chunks) => chunks);
  expect(points.length).toBeGreaterThan(3);

  const ends = await Promise.all(
    points.flatMap((chunks) =>
      [false, true].map(async (isResponseLost) => {
        const { proxy, shop } = await start();
        const order = `${chunks}-${isResponseLost}`;
        await shop.read(order);
        proxy.silence(chunks, isResponseLost);
        const options = { extraBody: { order } };
        const error = await findError(shop.charge(order, charge, options));
        await openShop(service, witness).charge(order, charge, options);
        return { order, isEnded: error === 'no error' || error instanceof JournalError };
      }),
    ),
  );
  expect(ends.filter(({ isEnded }) => !isEnded)).toEqual([]);
  const posts = service.requests.filter(({ method }) => method === 'POST');
  const orders = posts.map(({ body }) => JSON.parse(body).order);
  expect(orders).toHaveLength(new Set(orders).size);
  expect(orders.length).toBeGreaterThan(ends.length / 2);
}, 300_000);
