import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { DbosExample } from './dbos-example.ts';
import { newOrder, quickLooks, Shop, slowLooks, until } from './shop.ts';

const dbos = new DbosExample();

beforeAll(() => dbos.startServer());

afterAll(() => dbos.stopServer());

describe('what DBOS by itself would do otherwise', () => {
  let shop: Shop;
  const open = async (looks?: object) => {
    shop = await Shop.open(dbos, looks);
    await shop.startWorker();
  };
  afterEach(() => shop.close());

  test('an order outlives more restarts of the worker than DBOS allows a workflow by itself', async () => {
    await open();
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    await shop.killWorker();
    await dbos.query('UPDATE dbos.workflow_status SET recovery_attempts = 5000');
    shop.sandbox.approve(reference);
    await shop.startWorker();
    await shop.reaches(id, 'fulfilled');
    expect(shop.orders.parcels(id)).toBe(1);
  });

  test('a charge that DBOS did not get to record is not made again, and looked at before anything is released', async () => {
    await open();
    const id = await shop.place();
    const { reference, charged_at } = await shop.reaches(id, 'waiting');
    await shop.killWorker();
    await dbos.query('DELETE FROM dbos.operation_outputs');
    shop.sandbox.approve(reference);
    const deadline = (charged_at ?? 0) + quickLooks.soon.timeout;
    await until(() => Date.now() > deadline, 'the deadline');
    await shop.startWorker();
    await shop.reaches(id, 'fulfilled', 'released', 'paid_late');
    expect(shop.order(id).state).toBe('fulfilled');
    expect(shop.sandbox.charges).toHaveLength(1);
  });

  test('an order in flight is carried on by a release whose workflow is written otherwise', async () => {
    await open();
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    await shop.killWorker();
    shop.sandbox.approve(reference);
    await shop.startWorker(nextRelease());
    await shop.reaches(id, 'fulfilled');
    expect(shop.sandbox.charges).toHaveLength(1);
  });

  test('an order outlives connections to PostgreSQL that break', async () => {
    await open();
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    await dbos.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`);
    const looks = shop.verifies();
    await until(() => shop.verifies() > looks, 'a look after that');
    shop.sandbox.approve(reference);
    await shop.reaches(id, 'fulfilled', 'parked');
    expect(shop.order(id).state).toBe('fulfilled');
    expect(shop.sandbox.charges).toHaveLength(1);
  });

  test('many hints at once are a look a second, not a look each', async () => {
    await open(slowLooks);
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    const began = Date.now();
    await dbos.run(`for (let n = 0; n < 50; n++) await import('./payment-hint.ts?' + n);`, reference);
    const seconds = Math.ceil((Date.now() - began) / 1_000) + 1;
    await until(async () => (await unread()) === 0, 'the hints to be read');
    expect(shop.verifies()).toBeGreaterThan(0);
    expect(shop.verifies()).toBeLessThanOrEqual(seconds);
  });

  test('DBOS keeps no phone number, no email address and no key, also not in its errors', async () => {
    await open();
    const order = newOrder();
    shop.sandbox.fault('chargeMobileMoney', { kind: 'status', status: 429 }, { times: 4 });
    shop.sandbox.fault('verify', { kind: 'status', status: 503 });
    await shop.place(order);
    await until(() => shop.verifies() >= 2, 'two looks');
    shop.sandbox.fault('verify', { kind: 'status', status: 401 });
    await shop.reaches(order.id, 'parked');
    const kept = await dbos.everything();
    expect(kept).toContain(order.id);
    for (const secret of [order.phone, order.customer_email, shop.sandbox.liveKey])
      expect(kept).not.toContain(secret);
  });
});

async function unread(): Promise<number> {
  return (await dbos.query('SELECT 1 FROM dbos.notifications WHERE NOT consumed')).length;
}

/** The example with its workflow written a little otherwise. */
function nextRelease(): string {
  const folder = mkdtempSync(join(tmpdir(), 'payments-release-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const examples = resolve('examples/workflows');
  const isCode = (path: string) => !path.includes('node_modules');
  for (const name of ['dbos', 'shop'])
    cpSync(join(examples, name), join(folder, name), { recursive: true, filter: isCode });
  symlinkSync(join(examples, 'dbos', 'node_modules'), join(folder, 'node_modules'));
  const file = join(folder, 'dbos', 'order-workflow.ts');
  const source = readFileSync(file, 'utf8');
  const changed = source
    .replace('let pause = ', 'let pause: number | null = ')
    .replace('while (', 'while  (');
  if (changed === source) throw new Error('The workflow is written as before.');
  writeFileSync(file, changed);
  return join(folder, 'dbos');
}
