import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { PgBossExample } from './pg-boss-example.ts';
import { fastChecks, newOrder, patient, Shop, slowChecks, until } from './shop.ts';

const pgBoss = new PgBossExample();

beforeAll(() => pgBoss.startServer());

afterAll(() => pgBoss.stopServer());

describe('pg-boss alone', () => {
  let shop: Shop;
  const open = async (schedule: object = fastChecks, env?: NodeJS.ProcessEnv) => {
    shop = await Shop.open(pgBoss, schedule, env);
    await shop.startWorker();
  };
  afterEach(() => shop.close());

  const expectOneParcel = (id: string) => {
    expect(shop.orders.countParcels(id)).toBe(1);
    expect(shop.sandbox.charges).toHaveLength(1);
  };

  test('continues at a running worker after another is killed in a check', async () => {
    await open();
    const other = await shop.startAnotherWorker();
    other.kill('SIGSTOP');
    shop.sandbox.fault('verify', { kind: 'hang' });
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    await until(() => shop.verifies() === 1, 'the check that hangs');
    await shop.killWorker();
    shop.sandbox.approve(reference);
    other.kill('SIGCONT');
    await shop.reaches(id, 'fulfilled');
    expectOneParcel(id);
  });

  test('never charges again for a worker that is frozen during the charge', async () => {
    shop = await Shop.open(pgBoss);
    const frozen = await shop.startAnotherWorker();
    shop.sandbox.fault('chargeMobileMoney', { kind: 'slowBody', interval: 50 });
    const id = await shop.place();
    await until(() => shop.sandbox.charges.length === 1, 'the charge');
    frozen.kill('SIGSTOP');
    await shop.startWorker();
    await shop.reaches(id, 'in_review');
    await thawAndStop(frozen);
    expect((await shop.order(id)).state).toBe('in_review');
    expect(shop.sandbox.requests).toHaveLength(1);
    expect(await countOpenJobs('check')).toBe(0);
  });

  test('adds no check for a worker that was frozen until its job expired', async () => {
    shop = await Shop.open(pgBoss);
    const frozen = await shop.startAnotherWorker({ PAYMENTS_TIMEOUT: '60000' });
    // The response is `pending`, and comes slowly. The worker reads the rest of it once it runs again.
    shop.sandbox.fault('verify', { kind: 'slowBody', interval: 50 });
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    await until(() => shop.verifies() === 1, 'the check');
    frozen.kill('SIGSTOP');
    shop.sandbox.approve(reference);
    await shop.startWorker();
    await shop.reaches(id, 'fulfilled');
    await untilRetried('check');
    const checks = await countJobs('check');
    await thawAndStop(frozen);
    expect(await countJobs('check')).toBe(checks);
    expectOneParcel(id);
  });

  test('charges and ships once if both jobs take longer than their expiry', async () => {
    shop = await Shop.open(pgBoss);
    shop.sandbox.fault('chargeMobileMoney', { kind: 'slowBody', interval: 9 });
    shop.sandbox.fault('verify', { kind: 'slowBody', interval: 9 });
    const order = newOrder();
    shop.orders.place(order);
    await shop.startAnotherWorker({ JOB_EXPIRY: '1' });
    const { reference } = await shop.reaches(order.id, 'waiting');
    await untilRetried('charge');
    shop.sandbox.approve(reference);
    await shop.reaches(order.id, 'fulfilled', 'in_review');
    await untilRetried('check');
    expectOneParcel(order.id);
  });

  test('follows a charge that another run of its job took for rejected', async () => {
    await open(fastChecks, patient);
    shop.sandbox.fault('chargeMobileMoney', { kind: 'slowBody', interval: 5 });
    const id = await shop.place();
    await until(() => shop.sandbox.charges.length === 1, 'the charge');
    shop.orders.reject(id, 'rejected in another run');
    const { reference } = await shop.reaches(id, 'waiting');
    shop.sandbox.approve(reference);
    await shop.reaches(id, 'fulfilled');
    expectOneParcel(id);
  });

  test('charges twice without a journal if its worker is killed', async () => {
    shop = await Shop.open(pgBoss);
    shop.sandbox.fault('chargeMobileMoney', { kind: 'hang', accepted: true });
    const env = { PAYMENTS_BASE_URL: shop.sandbox.baseUrl, PAYMENTS_API_KEY: shop.sandbox.liveKey };
    const startCareless = () => {
      const worker = pgBoss.run(CARELESS_WORKER, env);
      onTestFinished(() => void worker.kill());
      return worker;
    };
    const worker = startCareless();
    await shop.place();
    await until(() => shop.sandbox.charges.length === 1, 'the charge');
    await worker.kill();
    startCareless();
    await until(() => shop.sandbox.charges.length === 2, 'the second charge');
  });

  test('ends the job of an order in review without a retry', async () => {
    await open();
    shop.sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
    const id = await shop.place();
    await until(async () => (await countOpenJobs('charge')) === 0, 'the end of the job');
    expect((await shop.order(id)).state).toBe('in_review');
    const [job] = await pgBoss.query('SELECT state, retry_count, output FROM pgboss.job');
    expect(job).toEqual({ state: 'completed', retry_count: 0, output: { value: 'in_review' } });
  });

  test('checks each payment in one job after its worker was killed', async () => {
    await open();
    shop.sandbox.fault('verify', { kind: 'hang' });
    const id = await shop.place();
    await shop.reaches(id, 'waiting');
    await until(() => shop.verifies() === 1, 'the check that hangs');
    await shop.killWorker();
    await shop.startWorker();
    await untilRetried('check');
    await until(async () => (await countOpenJobs('check')) === 1, 'one job');
    const checks = shop.verifies();
    await until(() => shop.verifies() > checks, 'the next check');
    expect(await countOpenJobs('check')).toBe(1);
  });

  test('continues an order whose job was lost', async () => {
    await open(slowChecks);
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    await shop.killWorker();
    await pgBoss.query('DELETE FROM pgboss.job');
    shop.sandbox.approve(reference);
    await shop.startWorker();
    await shop.notify(reference);
    await shop.reaches(id, 'fulfilled');
    expectOneParcel(id);
  });

  test('continues an order after its connections to PostgreSQL break', async () => {
    await open();
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    await pgBoss.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`);
    const checks = shop.verifies();
    await until(() => shop.verifies() > checks, 'a check after that');
    shop.sandbox.approve(reference);
    await shop.reaches(id, 'fulfilled');
    expectOneParcel(id);
  });

  test('checks again after a notification during a check', async () => {
    await open(slowChecks, patient);
    // The response is `pending`, and comes slowly.
    shop.sandbox.fault('verify', { kind: 'slowBody', interval: 7 });
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    await shop.notify(reference);
    await until(() => shop.verifies() === 1, 'a check');
    shop.sandbox.approve(reference);
    await shop.notify(reference);
    await shop.reaches(id, 'fulfilled');
    expect(shop.verifies()).toBe(2);
  });

  test('checks at most once a second, however often it is notified', async () => {
    await open(slowChecks);
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    await shop.notify(reference);
    await until(() => shop.verifies() >= 1, 'a check');
    const startedAt = Date.now();
    const sender = pgBoss.run(MANY_NOTIFICATIONS, { REFERENCE: reference });
    expect(await sender.ended).toBe(0);
    expect(shop.verifies()).toBeLessThanOrEqual(3 + (Date.now() - startedAt) / 1_000);
  });

  test('charges after the Retry-After of a 429', async () => {
    await open(slowChecks);
    shop.sandbox.fault('chargeMobileMoney', { kind: 'rateLimited', retryAfter: 4_000 }, { times: 1 });
    const placedAt = Date.now();
    const id = await shop.place();
    const { charged_at } = await shop.reaches(id, 'waiting');
    expect((charged_at ?? 0) - placedAt).toBeGreaterThan(2_000);
    expect(shop.sandbox.requests).toHaveLength(2);
    expect(shop.sandbox.charges).toHaveLength(1);
  });

  test('keeps phone, email and API key out of the database', async () => {
    await open();
    const order = newOrder();
    shop.sandbox.fault('chargeMobileMoney', { kind: 'status', status: 429 }, { times: 1 });
    shop.sandbox.fault('verify', { kind: 'status', status: 503 }, { times: 1 });
    await shop.place(order);
    await until(() => shop.verifies() >= 1, 'a check that fails');
    shop.sandbox.fault('verify', { kind: 'status', status: 403 });
    await shop.reaches(order.id, 'in_review');
    const dump = await pgBoss.dump();
    expect(dump).toContain(order.id);
    for (const secret of [order.phone, order.phone.slice(1), order.customer_email, shop.sandbox.liveKey])
      expect(dump).not.toContain(secret);
  });
});

/** Counts the jobs of a queue that are waiting or running. */
function countOpenJobs(queue: string): Promise<number> {
  return countJobs(queue, "state < 'completed'");
}

async function countJobs(queue: string, condition = 'true'): Promise<number> {
  const jobs = await pgBoss.query(`SELECT 1 FROM pgboss.job WHERE name = '${queue}' AND ${condition}`);
  return jobs.length;
}

/** Waits until a job has run again, and completed. */
async function untilRetried(queue: string): Promise<void> {
  const condition = "retry_count > 0 AND state = 'completed'";
  await until(async () => (await countJobs(queue, condition)) > 0, `a ${queue} that is retried`);
}

/** Lets a frozen worker run again, and asks it to end: it first finishes what it was doing. */
async function thawAndStop(worker: ChildProcess): Promise<void> {
  const ended = once(worker, 'exit');
  worker.kill('SIGCONT');
  worker.kill('SIGTERM');
  await ended;
}

/** A worker that charges as pg-boss's own guide would: without a key, and without a journal. */
const CARELESS_WORKER = `
  import { PaymentsClient } from 'payment-collection-client';
  import { Orders } from '../shop/orders.ts';
  import { chargeQueue, startBoss } from './queues.ts';
  const orders = new Orders(process.env.ORDERS_FILE);
  const payments = new PaymentsClient({ maxRetries: 0 });
  const boss = await startBoss({ isWorker: true });
  await boss.work(chargeQueue, { pollingIntervalSeconds: 0.5 }, async ([job]) => {
    const { amount, currency, customer_email, phone, network } = orders.get(job.data.orderId);
    await payments.chargeMobileMoney({ amount, currency, customer_email, phone, network });
  });`;

/** Sends 30 notifications from one process. A process for each would take too long for the test. */
const MANY_NOTIFICATIONS = `
  import { setTimeout as sleep } from 'node:timers/promises';
  import { startBoss } from './queues.ts';
  import { notify } from './notifications.ts';
  const boss = await startBoss({ isWorker: false });
  const chargedAt = Date.now();
  for (let notifications = 0; notifications < 30; notifications++) {
    await notify(boss, { reference: process.env.REFERENCE, chargedAt });
    await sleep(50);
  }
  await boss.stop();`;
