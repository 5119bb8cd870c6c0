/** Follow-ups on real databases, in real time. What each step of a store does is in the suite of all stores. */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { JournalError } from '../../../src/index.ts';
import type { Journal } from '../../../src/stores/index.ts';
import { postgresJournal } from '../../../src/stores/postgres/index.ts';
import { redisJournal } from '../../../src/stores/redis/index.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { openShop } from '../../helpers/follow-ups.ts';
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

/** Long enough for a charge on a busy machine, in milliseconds. */
const lease = 60_000;

const nothing = { checked: 0, final: 0, due: 0, nextAt: null };

function connect(max: number): Pool {
  const pool = new Pool({ connectionString: postgres.url, max });
  onTestFinished(() => pool.end());
  return pool;
}

/** Each opens what makes journals on the same records, as another process would have them. */
const stores: Readonly<Record<string, () => Promise<() => Journal>>> = {
  async SQLite() {
    const { journal } = sqliteFile();
    return () => journal({ lease });
  },
  async PostgreSQL() {
    const table = `follow_ups_${randomUUID().replaceAll('-', '')}`;
    const open = () => postgresJournal(connect(4), { lease, table });
    await open().migrate();
    return open;
  },
  async Redis() {
    const prefix = `${randomUUID()}:`;
    return () => {
      const client = new Redis(redis.port, '127.0.0.1');
      onTestFinished(() => client.disconnect());
      return redisJournal(client, { lease, prefix });
    };
  },
};

test.for(Object.entries(stores))('two processes share the payments in %s', async ([name, open], { skip }) => {
  skip(name === 'Redis' && !hasRedis);
  const bothCheck = Promise.withResolvers<void>();
  const shop = openShop({
    openJournal: await open(),
    // One process alone has five checks in flight at most.
    async intercept({ method }) {
      if (method !== 'GET') return undefined;
      if (shop.gets.length > 5) bothCheck.resolve();
      await bothCheck.promise;
      return undefined;
    },
  });
  const polling = {
    ...{ initialDelay: 200, minDelay: 100, maxDelay: 200, timeout: lease },
    ...{ maxRequestsPerSecond: 10_000, maxConcurrency: 5 },
  };
  const client = { timeout: lease, polling };
  const [first, second] = [shop.start({}, client), shop.start({}, client)];
  expect(await first.sweep()).toEqual(nothing);
  const keys = Array.from({ length: 40 }, (_, index) => `order-${index}`);
  for (const key of keys) shop.service.approve(await shop.charge(key, { polling }));
  await sleep(300);
  const results = await Promise.all([first.sweep(), second.sweep()]);
  expect(shop.gets).toHaveLength(40);
  expect(shop.finals.map(({ key }) => key).sort()).toEqual(keys.sort());
  for (const { checked } of results) expect(checked).toBeGreaterThan(0);
  expect(await second.sweep()).toEqual(nothing);
  const entry = { state: 'completed', status: 'success', nextCheckAt: undefined };
  expect(await first.journal.read('order-0')).toMatchObject(entry);
});

test('a sweep before the first charge makes no table in SQLite', async () => {
  const { journal, connect: open } = sqliteFile();
  const { sweep } = openShop({ openJournal: journal }).start();
  expect(await sweep()).toEqual(nothing);
  expect(open().prepare('SELECT name FROM sqlite_master').all()).toEqual([]);
});

test('a sweep before the migration is a JournalError in PostgreSQL', async () => {
  const pool = connect(1);
  const table = `follow_ups_${randomUUID().replaceAll('-', '')}`;
  const { sweep } = openShop({ openJournal: () => postgresJournal(pool, { table }) }).start();
  const error = await catchError(sweep());
  expect(error).toBeInstanceOf(JournalError);
  expect(error).toHaveProperty('message', expect.stringContaining('no journal'));
  const { rows } = await pool.query('SELECT to_regclass($1) AS found', [table]);
  expect(rows).toEqual([{ found: null }]);
});
