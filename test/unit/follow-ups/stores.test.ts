import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import { type Journal, type JournalOptions, memoryJournal, memoryStore } from '../../../src/journal/index.ts';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { redisJournal } from '../../../src/journal/redis.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { createIntent, type FollowedShop, openShop } from '../../helpers/follow-ups.ts';
import { sqliteFile } from '../../helpers/journals.ts';
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
      followUp: { checks: 1, ended: 'delivered', final: { status: 'success' } },
    });
  });

  testable('leave what a killed process holds until its lease has expired', async () => {
    const shop = await open();
    await chargePaid(shop, 'order-1');
    await chargePaid(shop, 'order-2');
    await sleep(250);
    const { followUps } = getJournalCore(shop.openJournal());
    const [held] = await followUps.claimDue({ kind: 'key', limit: 1, lease: 60_000 });
    const [expired] = await followUps.claimDue({ kind: 'key', limit: 1, lease: 100 });
    expect([held?.key, expired?.key].sort()).toEqual(['order-1', 'order-2']);
    await sleep(200);
    const { sweep } = shop.start({}, { polling });
    expect(await sweep()).toMatchObject({ checked: 1, final: 1, due: 0 });
    expect(shop.finals).toMatchObject([{ key: expired?.key }]);
  });

  testable('keep a step if only a notification came meanwhile', async () => {
    const shop = await open();
    const reference = await shop.charge('order-1', { polling });
    await sleep(250);
    const journal = shop.openJournal();
    const [held] = await getJournalCore(journal).followUps.claimDue({ kind: 'key', limit: 10, lease: 5_000 });
    if (!held) throw new Error('nothing was due');
    await shop.start({}, { polling }).notify(reference);
    const updated = await getJournalCore(journal).followUps.update(held, { checks: 7, reported: [] }, 5_000);
    expect(updated?.record.followUp).toMatchObject({ checks: 7, notified: 1 });
    expect(await journal.read('order-1')).toMatchObject({ followUp: { checks: 7, notified: 1 } });
  });

  testable('make a payment due by its notification', async () => {
    const shop = await open();
    const slow = { ...polling, initialDelay: 60_000 };
    const reference = await shop.charge('order-1', { polling: slow });
    shop.service.approve(reference);
    const followUps = shop.start({}, { polling: slow });
    expect(await followUps.sweep()).toMatchObject({ checked: 0 });
    await Promise.all(Array.from({ length: 20 }, () => shop.start({}, { polling: slow }).notify(reference)));
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
    await getJournalCore(journal).claim('order-2', await createIntent());
    const result = await getJournalCore(expired).claim('order-1', await createIntent());
    if (result.state !== 'claimed') throw new Error(result.state);
    await sleep(200);
    await shop.start({}, { polling }).sweep();
    expect(shop.attentions).toMatchObject([{ key: 'order-1', reason: 'unresolved' }]);
    expect(await journal.read('order-2')).toMatchObject({ state: 'begun', inProgress: true });
    expect(await journal.read('order-1')).toMatchObject({ state: 'unknown', inProgress: false });
    // Its process was slow, and alive.
    const renewed = await getJournalCore(journal).renew(result.claim);
    expect(await journal.read('order-1')).toMatchObject({ state: 'begun', inProgress: true });
    const completion = { state: 'completed', result: { reference: 'TXN-000009' } } as const;
    expect(renewed && (await getJournalCore(journal).complete(renewed, completion))).toBe(true);
    expect(await journal.read('order-1')).toMatchObject({
      state: 'completed',
      reference: 'TXN-000009',
    });
  });
});
