import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { DbosExample } from './dbos-example.ts';
import { fastChecks, newOrder, Shop, slowChecks, until } from './shop.ts';

const dbos = new DbosExample();

beforeAll(() => dbos.startServer());

afterAll(() => dbos.stopServer());

describe('DBOS alone', () => {
  let shop: Shop;
  const open = async (schedule?: object) => {
    shop = await Shop.open(dbos, schedule);
    await shop.startWorker();
  };
  afterEach(() => shop.close());

  test('continues an order after more restarts than the default allows', async () => {
    await open();
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    await shop.killWorker();
    await dbos.query('UPDATE dbos.workflow_status SET recovery_attempts = 5000');
    shop.sandbox.approve(reference);
    await shop.startWorker();
    await shop.reaches(id, 'fulfilled');
    expect(shop.orders.countParcels(id)).toBe(1);
  });

  test('never charges again after a crash before DBOS stored the step', async () => {
    await open();
    const id = await shop.place();
    const { reference, charged_at } = await shop.reaches(id, 'waiting');
    await shop.killWorker();
    await dbos.query('DELETE FROM dbos.operation_outputs');
    shop.sandbox.approve(reference);
    const deadline = (charged_at ?? 0) + fastChecks.beforeDeadline.timeout;
    await until(() => Date.now() > deadline, 'the deadline');
    await shop.startWorker();
    await shop.reaches(id, 'fulfilled', 'released', 'paid_late');
    expect(shop.order(id).state).toBe('fulfilled');
    expect(shop.sandbox.charges).toHaveLength(1);
  });

  test('continues an order in a release with other workflow code', async () => {
    await open();
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    await shop.killWorker();
    shop.sandbox.approve(reference);
    await shop.startWorker(createNextRelease());
    await shop.reaches(id, 'fulfilled');
    expect(shop.sandbox.charges).toHaveLength(1);
  });

  test('continues an order after its connections to PostgreSQL break', async () => {
    await open();
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    await dbos.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`);
    const checks = shop.verifies();
    await until(() => shop.verifies() > checks, 'a check after that');
    shop.sandbox.approve(reference);
    await shop.reaches(id, 'fulfilled', 'in_review');
    expect(shop.order(id).state).toBe('fulfilled');
    expect(shop.sandbox.charges).toHaveLength(1);
  });

  test('checks at most once a second, however often it is notified', async () => {
    await open(slowChecks);
    const id = await shop.place();
    const { reference } = await shop.reaches(id, 'waiting');
    const startedAt = Date.now();
    await dbos.run(`for (let n = 0; n < 50; n++) await import('./payment-webhook.ts?' + n);`, reference);
    const seconds = Math.ceil((Date.now() - startedAt) / 1_000) + 1;
    await until(async () => (await countUnread()) === 0, 'the notifications to be read');
    expect(shop.verifies()).toBeGreaterThan(0);
    expect(shop.verifies()).toBeLessThanOrEqual(seconds);
  });

  test('keeps phone, email and API key out of DBOS and its errors', async () => {
    await open();
    const order = newOrder();
    shop.sandbox.fault('chargeMobileMoney', { kind: 'status', status: 429 }, { times: 4 });
    shop.sandbox.fault('verify', { kind: 'status', status: 503 });
    await shop.place(order);
    await until(() => shop.verifies() >= 2, 'two checks');
    shop.sandbox.fault('verify', { kind: 'status', status: 401 });
    await shop.reaches(order.id, 'in_review');
    const dump = await dbos.dump();
    expect(dump).toContain(order.id);
    for (const secret of [order.phone, order.customer_email, shop.sandbox.liveKey])
      expect(dump).not.toContain(secret);
  });
});

async function countUnread(): Promise<number> {
  return (await dbos.query('SELECT 1 FROM dbos.notifications WHERE NOT consumed')).length;
}

/** Copies the example with another source of its workflow. Returns the folder of the copy. */
function createNextRelease(): string {
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
    .replace('let delay = ', 'let delay: number | null = ')
    .replace('while (', 'while  (');
  if (changed === source) throw new Error('The source of the workflow is unchanged.');
  writeFileSync(file, changed);
  return join(folder, 'dbos');
}
