import { resolve } from 'node:path';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/developers/sandbox/index.ts';
import { PaymentsClient } from '../../../src/index.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';
import { type PostgresJournal, postgresJournal } from '../../../src/stores/postgres/index.ts';
import { closePool } from '../../helpers/close-pool.ts';
import { type DatabaseServer, startPostgres } from '../../helpers/databases.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import { ExampleProcess } from './child-process.ts';
import { newOrder, until } from './shop.ts';

const cwd = resolve('examples/workflows/node-cron');
const fastChecks = { initialDelay: 200, minDelay: 200, maxDelay: 200, timeout: 600_000 };
/** How long a claim of a charge lasts, in milliseconds. */
const LEASE = 1_500;

// Each kill at each step is tried by `npm run crashproof`. Here the processes of the example are.
describe('a web process and a cron job on PostgreSQL', () => {
  let server: DatabaseServer;
  let databases = 0;
  let sandbox: Sandbox;
  let url: string;
  let pool: Pool;
  let journal: PostgresJournal;
  let env: NodeJS.ProcessEnv;
  let web: ExampleProcess | undefined;

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  beforeEach(async () => {
    const database = `shop_${++databases}`;
    const admin = new Pool({ connectionString: server.url, max: 1 });
    await admin.query(`CREATE DATABASE ${database}`);
    await closePool(admin);
    const databaseUrl = server.url.replace(/postgres$/, database);
    sandbox = await startSandbox();
    pool = new Pool({ connectionString: databaseUrl });
    journal = postgresJournal(pool, { lease: LEASE });
    url = `http://127.0.0.1:${await findFreePort()}`;
    env = {
      ...process.env,
      SHOP_URL: url,
      DATABASE_URL: databaseUrl,
      PAYMENTS_BASE_URL: sandbox.baseUrl,
      PAYMENTS_API_KEY: sandbox.liveKey,
      PAYMENTS_TIMEOUT: '5000',
      JOURNAL_LEASE: String(LEASE),
    };
  });
  afterEach(async () => {
    await web?.kill();
    await closePool(pool);
    await sandbox.close();
  });

  const start = (script: string) => {
    const child = new ExampleProcess(process.execPath, [script], { cwd, env });
    onTestFinished(() => void child.kill());
    return child;
  };
  const startWeb = async () => {
    web = start('server.ts');
    await web.waitForLine((line) => line === 'ready');
  };
  const open = async () => {
    env.CHECK_SCHEDULE = JSON.stringify({ beforeDeadline: fastChecks });
    expect(await start('migrate.ts').ended).toBe(0);
    await startWeb();
  };
  const place = async () => {
    const { id, amount, currency, customer_email, phone, network } = newOrder();
    await pool.query(
      `INSERT INTO orders (id, amount, currency, customer_email, phone, network) VALUES ($1, $2, $3, $4, $5, $6)`,
      [id, amount, currency, customer_email, phone, network],
    );
    return id;
  };
  const pay = async (id: string) => {
    const response = await fetch(`${url}/orders/${id}/payment`, { method: 'POST' });
    return { status: response.status, text: await response.text() };
  };
  /** How far the payment is stands in the journal, until the shop has shipped or released the order. */
  const readState = async (id: string): Promise<unknown> => {
    const { rows } = await pool.query('SELECT state FROM orders WHERE id = $1', [id]);
    if (rows[0]?.state !== 'placed') return rows[0]?.state;
    using reader = new PaymentsClient({ baseUrl: sandbox.baseUrl, apiKey: sandbox.liveKey, journal });
    const orders = createOrderPayments({ payments: reader, journal, onPaid() {}, onAttention() {} });
    return (await orders.read(id)).state;
  };
  const approve = (charge = 0) => sandbox.approve(sandbox.charges[charge]?.reference ?? '');
  const placeAndPay = async () => {
    const id = await place();
    expect((await pay(id)).status).toBeLessThan(400);
    expect(await readState(id)).toBe('processing');
    return id;
  };

  test('sweeps by its schedule, also after a kill, and ends when asked to', async () => {
    env.CRON_PATTERN = '* * * * * *';
    await open();
    const startCron = async () => {
      const cron = start('cron.ts');
      await cron.waitForLine((line) => line === 'ready');
      return cron;
    };
    const [first, second] = [await placeAndPay(), await placeAndPay()];
    approve();
    const killed = await startCron();
    await until(async () => (await readState(first)) === 'fulfilled', 'the first order');
    await killed.kill();
    approve(1);
    const cron = await startCron();
    await until(async () => (await readState(second)) === 'fulfilled', 'the second order');
    expect(await cron.kill('SIGTERM')).toBe(0);
  });
});
