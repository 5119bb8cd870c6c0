import { afterAll, beforeAll, describe, test } from 'vitest';
import { PgBossExample } from './pg-boss-example.ts';
import { describeQueue, useQueueShop } from './queue-scenarios.ts';
import { until } from './shop.ts';

const pgBoss = new PgBossExample();

beforeAll(() => pgBoss.startServer());

afterAll(() => pgBoss.stopServer());

describeQueue(pgBoss, {
  removeJobs: () => pgBoss.query('DELETE FROM pgboss.job'),
  dump: () => pgBoss.dump(),
});

describe('pg-boss, disconnected', () => {
  const { open, fulfil } = useQueueShop(pgBoss);

  test('continues an order after its connections to PostgreSQL break', async () => {
    const shop = await open();
    const id = await shop.place();
    await shop.reaches(id, 'waiting');
    await pgBoss.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`);
    const checks = shop.verifies();
    await until(() => shop.verifies() > checks, 'a check after that');
    await fulfil(id);
  });
});
