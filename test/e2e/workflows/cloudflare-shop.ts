import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { build } from 'esbuild';
import { z } from 'zod';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.ts';
import { CloudflareHost } from './cloudflare-host.ts';
import { newOrder, until } from './shop.ts';

const example = resolve('examples/workflows/cloudflare');

/** A schedule in milliseconds. The workflow waits for at least a second. */
export const checksEverySecond = {
  beforeDeadline: { initialDelay: 1_000, minDelay: 1_000, maxDelay: 1_000, timeout: 60_000 },
  afterDeadline: { minDelay: 1_000, maxDelay: 1_000, timeout: 120_000 },
};

/** The shop of the example on Miniflare, with the service. A test can kill it at any time. */
export class CloudflareShop {
  readonly sandbox: Sandbox;
  readonly #folder: string;
  readonly #vars: Readonly<Record<string, string>>;
  #host: CloudflareHost | undefined;

  private constructor(sandbox: Sandbox, folder: string, schedule: object) {
    this.sandbox = sandbox;
    this.#folder = folder;
    this.#vars = {
      PAYMENTS_BASE_URL: sandbox.baseUrl,
      PAYMENTS_API_KEY: sandbox.liveKey,
      PAYMENTS_TIMEOUT: '3000',
      JOURNAL_LEASE: '1500',
      CHECK_SCHEDULE: JSON.stringify(schedule),
    };
  }

  static async open(schedule: object = checksEverySecond): Promise<CloudflareShop> {
    const folder = mkdtempSync(join(tmpdir(), 'payments-cloudflare-'));
    const shop = new CloudflareShop(await startSandbox(), folder, schedule);
    try {
      await shop.#bundle();
      await shop.start();
      await shop.#migrate();
    } catch (error) {
      await shop.close();
      throw error;
    }
    return shop;
  }

  async start(): Promise<void> {
    this.#host = await CloudflareHost.start({ folder: this.#folder, script: this.#script, vars: this.#vars });
  }

  async kill(): Promise<void> {
    await this.#host?.kill();
    this.#host = undefined;
  }

  /** Places an order in a request to the worker. Returns its id. */
  async place(): Promise<string> {
    const order = newOrder();
    await this.#request('/orders', { method: 'POST', body: JSON.stringify(order) });
    return order.id;
  }

  /** Stores an order as a request does that is interrupted before it submits the order. */
  async store(): Promise<string> {
    const { id, amount, currency, customer_email, phone, network } = newOrder();
    await this.query(
      `INSERT INTO orders (id, amount, currency, customer_email, phone, network)
       VALUES ('${id}', '${amount}', '${currency}', '${customer_email}', '${phone}', '${network}')`,
    );
    return id;
  }

  /** The service's webhook comes. */
  async notify(reference: string): Promise<void> {
    await this.#request('/webhooks/payments', { method: 'POST', body: JSON.stringify({ reference }) });
  }

  /** Cloudflare calls the worker each minute. */
  async runCron(): Promise<void> {
    await this.#running.run('cron');
  }

  /** Submits an order once more. */
  async submit(id: string): Promise<void> {
    await this.#running.run('create', id);
  }

  /** Wakes the workflow of an order, which Miniflare does not do by itself after a restart. */
  async wake(id: string): Promise<void> {
    await this.pause(id);
    await this.resume(id);
  }

  async pause(id: string): Promise<void> {
    await this.#running.run('pause', id);
    await until(async () => (await this.readStatus(id)) === 'paused', `${id} to be paused`);
  }

  async resume(id: string): Promise<void> {
    await this.#running.run('resume', id);
  }

  /** Returns the status of the order's workflow. */
  readStatus(id: string): Promise<unknown> {
    return this.#running.run('status', id);
  }

  async query(sql: string): Promise<Record<string, unknown>[]> {
    return z.array(z.record(z.string(), z.unknown())).parse(await this.#running.run('query', sql));
  }

  /** Returns what the customer's page shows. */
  async readState(id: string): Promise<string> {
    const response = await this.#request(`/orders/${id}`);
    return z.object({ state: z.string() }).parse(await response.json()).state;
  }

  async reaches(id: string, ...states: string[]): Promise<void> {
    await until(async () => states.includes(await this.readState(id)), `${id} to be ${states.join(' or ')}`);
  }

  async countParcels(id: string): Promise<number> {
    return (await this.query(`SELECT 1 FROM parcels WHERE order_id = '${id}'`)).length;
  }

  /** Counts the requests for a transaction. */
  verifies(): number {
    return this.sandbox.requests.filter(({ operation }) => operation === 'verify').length;
  }

  /** Returns everything that the engine stored, as text. */
  dumpEngine(): string {
    return this.#listEngineFiles()
      .map((file) => readFileSync(file, 'latin1'))
      .join('\n');
  }

  /** Removes the results of steps and waits, as if the process had been killed before the engine stored them. */
  forgetSteps(): void {
    for (const file of this.#listEngineFiles()) {
      if (!file.endsWith('.sqlite') || file.endsWith('metadata.sqlite')) continue;
      const database = new DatabaseSync(file);
      database.exec(`
        DELETE FROM _cf_KV WHERE key LIKE '%-value' OR key LIKE '%-pending' OR key LIKE '%-error';
        DELETE FROM priority_queue;
      `);
      database.close();
    }
  }

  async close(): Promise<void> {
    await this.kill();
    await this.sandbox.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #script(): string {
    return join(this.#folder, 'worker.js');
  }

  get #running(): CloudflareHost {
    if (!this.#host) throw new Error('Miniflare is not running.');
    return this.#host;
  }

  /** Bundles the worker as wrangler does. */
  async #bundle(): Promise<void> {
    await build({
      entryPoints: [join(example, 'worker.ts')],
      outfile: this.#script,
      bundle: true,
      format: 'esm',
      conditions: ['workerd', 'worker', 'browser'],
      external: ['cloudflare:*'],
      logLevel: 'warning',
    });
  }

  /** Runs the migrations. Miniflare takes one statement at a time. */
  async #migrate(): Promise<void> {
    const sql = readFileSync(join(example, 'migrations/0001_orders.sql'), 'utf8');
    for (const statement of sql.split(/;\n\n/)) await this.query(statement);
  }

  async #request(path: string, init?: RequestInit): Promise<Response> {
    const response = await fetch(new URL(path, this.#running.url), init);
    if (!response.ok) throw new Error(`${path} responds ${response.status}: ${await response.text()}`);
    return response;
  }

  #listEngineFiles(): string[] {
    return readdirSync(join(this.#folder, 'workflows'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  }
}
