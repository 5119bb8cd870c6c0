import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { JournalError } from '../../../src/index.ts';
import { getRecords } from '../../../src/journal/core.ts';
import { type Journal, type JournalOptions, memoryJournal, memoryStore } from '../../../src/stores/index.ts';
import { postgresJournal } from '../../../src/stores/postgres/index.ts';
import { redisJournal } from '../../../src/stores/redis/index.ts';
import { claimKey, completeClaim, made } from '../../helpers/claims.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { type FollowedShop, getService, openShop } from '../../helpers/follow-ups.ts';
import { sqliteFile } from '../../helpers/journals.ts';
import { catchError } from '../../helpers/service.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const postgres = useDatabase();
let redis: DatabaseServer;
beforeAll(async () => {
  if (hasRedis) redis = await startRedis();
});
afterAll(async () => {
  await redis?.stop();
});

/** Opens what makes journals over one set of records, each as another process would have it. */
type OpenStore = () => Promise<(options?: JournalOptions) => Journal>;

/** Long enough for a charge on a busy machine, in milliseconds. */
const LEASE = 60_000;

const stores: [string, OpenStore][] = [
  [
    'memory',
    async () => {
      const store = memoryStore();
      return (options) => memoryJournal({ lease: LEASE, ...options, store });
    },
  ],
  [
    'SQLite',
    async () => {
      const { journal } = sqliteFile();
      return (options) => journal({ lease: LEASE, ...options });
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const table = `follow_ups_${randomUUID().replaceAll('-', '')}`;
      const open = (options: JournalOptions = {}) => {
        const pool = new Pool({ connectionString: postgres.url, max: 4 });
        onTestFinished(() => pool.end());
        return postgresJournal(pool, { lease: LEASE, ...options, table });
      };
      await open().migrate();
      return open;
    },
  ],
  [
    'Redis',
    async () => {
      const prefix = `${randomUUID()}:`;
      return (options) => {
        const client = new Redis(redis.port, '127.0.0.1');
        onTestFinished(() => client.disconnect());
        return redisJournal(client, { lease: LEASE, ...options, prefix });
      };
    },
  ],
];

/** A schedule that a test can wait for. */
const polling = {
  initialDelay: 200,
  minDelay: 100,
  maxDelay: 200,
  timeout: 60_000,
  maxRequestsPerSecond: 10_000,
};

describe.each(stores)('follow-ups in %s', (name, openStore) => {
  const testable = test.skipIf(name === 'Redis' && !hasRedis);
  const open = async (): Promise<FollowedShop> => openShop({ openJournal: await openStore() });
  const chargePaid = async (shop: FollowedShop, key: string) => {
    const reference = await shop.charge(key, { polling });
    shop.service.approve(reference);
    return reference;
  };

  testable('deliver each payment once, and two processes share the work', async () => {
    const maxConcurrency = 5;
    const bothCheck = Promise.withResolvers<void>();
    let gets = 0;
    const shop = openShop({
      openJournal: await openStore(),
      // One process alone has five checks in flight at most.
      async intercept({ method }) {
        if (method !== 'GET') return undefined;
        if (++gets > maxConcurrency) bothCheck.resolve();
        await bothCheck.promise;
        return undefined;
      },
    });
    const keys = Array.from({ length: 40 }, (_, index) => `order-${index}`);
    for (const key of keys) await chargePaid(shop, key);
    await sleep(300);
    const client = { timeout: 60_000, polling: { ...polling, maxConcurrency } };
    const results = await Promise.all([shop.start({}, client).sweep(), shop.start({}, client).sweep()]);
    expect(shop.gets).toHaveLength(40);
    expect(shop.finals.map(({ key }) => key).sort()).toEqual([...keys].sort());
    for (const { checked } of results) expect(checked).toBeGreaterThan(0);
    const { sweep, journal } = shop.start();
    expect(await sweep()).toEqual({ checked: 0, final: 0, due: 0, nextAt: null });
    expect(await journal.read('order-0')).toMatchObject({
      state: 'completed',
      status: 'success',
      nextCheckAt: undefined,
    });
  });

  testable('leave what a killed process holds until its lease has expired', async () => {
    const shop = await open();
    await chargePaid(shop, 'order-1');
    await chargePaid(shop, 'order-2');
    await sleep(250);
    const records = getRecords(shop.openJournal());
    const [held] = await records.claimDue({ kind: 'key', limit: 1, lease: 60_000 });
    const [expired] = await records.claimDue({ kind: 'key', limit: 1, lease: 100 });
    expect([held?.key, expired?.key].sort()).toEqual(['key order-1', 'key order-2']);
    await sleep(200);
    const { sweep } = shop.start({}, { polling });
    expect(await sweep()).toMatchObject({ checked: 1, final: 1, due: 0 });
    expect(shop.finals).toMatchObject([{ key: expired?.found?.name.id }]);
  });

  testable('make a payment due by its notification', async () => {
    const shop = await open();
    const slow = { ...polling, initialDelay: 60_000 };
    const reference = await shop.charge('order-1', { polling: slow });
    shop.service.approve(reference);
    const followUps = shop.start({}, { polling: slow });
    expect(await followUps.sweep()).toMatchObject({ checked: 0 });
    await Promise.all(Array.from({ length: 20 }, () => shop.start({}, { polling: slow }).notify(reference)));
    // Times are rounded up to whole milliseconds.
    await sleep(20);
    expect(await followUps.sweep()).toMatchObject({ checked: 1, final: 1 });
    await followUps.notify(reference.toLowerCase().replace('txn', 'TXN'));
    await followUps.notify(reference);
    expect(await followUps.sweep()).toMatchObject({ checked: 0, due: 0, nextAt: null });
  });

  testable('report a claim whose lease has expired, which is no heartbeat', async () => {
    const openJournal = await openStore();
    const journal = openJournal();
    const expired = openJournal({ lease: 100 });
    const shop = openShop({ openJournal: () => expired });
    const service = await getService();
    await claimKey(journal, 'order-2', { service });
    const claim = await claimKey(expired, 'order-1', { service });
    await sleep(200);
    await shop.start({}, { polling }).sweep();
    expect(shop.attentions).toMatchObject([{ key: 'order-1', reason: 'unresolved' }]);
    expect(await journal.read('order-2')).toMatchObject({ state: 'begun', inProgress: true });
    expect(await journal.read('order-1')).toMatchObject({ state: 'unknown', inProgress: false });
    // Its process was slow, and alive.
    await completeClaim(expired, claim, made('TXN-000009'));
    expect(await journal.read('order-1')).toMatchObject({ state: 'completed', reference: 'TXN-000009' });
  });

  testable('find nothing to do before the first charge', async () => {
    const shop = await open();
    const { sweep, notify } = shop.start({}, { polling });
    await notify('TXN-000001');
    expect(await sweep()).toEqual({ checked: 0, final: 0, due: 0, nextAt: null });
    expect(shop.events).toEqual([]);
  });
});

test('a sweep before the first charge makes no table in SQLite', async () => {
  const { journal, connect } = sqliteFile();
  const { sweep } = openShop({ openJournal: journal }).start();
  expect(await sweep()).toEqual({ checked: 0, final: 0, due: 0, nextAt: null });
  expect(connect().prepare('SELECT name FROM sqlite_master').all()).toEqual([]);
});

test('a sweep before the migration is a JournalError in PostgreSQL', async () => {
  const pool = new Pool({ connectionString: postgres.url, max: 1 });
  onTestFinished(() => pool.end());
  const table = `follow_ups_${randomUUID().replaceAll('-', '')}`;
  const { sweep } = openShop({ openJournal: () => postgresJournal(pool, { table }) }).start();
  const error = await catchError(sweep());
  expect(error).toBeInstanceOf(JournalError);
  expect(error).toHaveProperty('message', expect.stringContaining('no journal'));
  const { rows } = await pool.query('SELECT to_regclass($1) AS found', [table]);
  expect(rows).toEqual([{ found: null }]);
});
