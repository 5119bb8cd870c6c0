import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import { PgBossExample } from './pg-boss-example.ts';
import { newOrder, Shop, until } from './shop.ts';

const pgBoss = new PgBossExample();

beforeAll(() => pgBoss.startServer());

afterAll(() => pgBoss.stopServer());

describe('pg-boss alone', () => {
  let shop: Shop;
  const open = async () => {
    shop = await Shop.open(pgBoss);
    await shop.startWorker();
  };
  afterEach(() => shop.close());

  const fulfil = async (id: string) => {
    const { reference } = await shop.reaches(id, 'waiting');
    shop.sandbox.approve(reference);
    await shop.reaches(id, 'fulfilled');
    expect(shop.orders.countParcels(id)).toBe(1);
    expect(shop.sandbox.charges).toHaveLength(1);
  };

  test('continues at another process after one is killed', async () => {
    await open();
    await shop.startAnotherWorker({ SHOP_URL: `http://127.0.0.1:${await findFreePort()}` });
    const id = await shop.place();
    await shop.reaches(id, 'waiting');
    await shop.killWorker();
    await fulfil(id);
  });

  test('goes on after a sweep that failed, which its job shows', async () => {
    await open();
    shop.sandbox.fault('verify', { kind: 'status', status: 401 }, { times: 1 });
    const id = await shop.place();
    await until(
      async () => (await countJobs('output::text LIKE $$%AuthenticationError%$$')) > 0,
      'the error',
    );
    await fulfil(id);
  });

  test('continues an order whose jobs were lost', async () => {
    await open();
    const id = await shop.place();
    await shop.reaches(id, 'waiting');
    await shop.killWorker();
    await pgBoss.query('DELETE FROM pgboss.job');
    await shop.startWorker();
    await fulfil(id);
  });

  test('continues an order after its connections to PostgreSQL break', async () => {
    await open();
    const id = await shop.place();
    await shop.reaches(id, 'waiting');
    await pgBoss.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`);
    const checks = shop.verifies();
    await until(() => shop.verifies() > checks, 'a check after that');
    await fulfil(id);
  });

  test('keeps phone, email and API key out of the database', async () => {
    await open();
    const order = newOrder();
    shop.sandbox.fault('verify', { kind: 'status', status: 503 }, { times: 1 });
    shop.sandbox.fault('verify', { kind: 'status', status: 401 }, { times: 1 });
    await shop.place(order);
    await until(() => shop.verifies() >= 3, 'a check after two that fail');
    const dump = await pgBoss.dump();
    expect(dump).toContain(order.id);
    for (const secret of [order.phone, order.phone.slice(1), order.customer_email, shop.sandbox.liveKey])
      expect(dump).not.toContain(secret);
  });
});

async function countJobs(condition: string): Promise<number> {
  return (await pgBoss.query(`SELECT 1 FROM pgboss.job WHERE ${condition}`)).length;
}
