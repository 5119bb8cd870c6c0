import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { z } from 'zod';
import { type Sandbox, startSandbox } from '../../../src/developers/sandbox/index.ts';
import { CloudflareHost } from './cloudflare-host.ts';
import { newOrder, until } from './shop.ts';

const example = resolve('examples/workflows/cloudflare');

/** A schedule in milliseconds, with a deadline that no slow machine reaches. */
const fastChecks = { initialDelay: 200, minDelay: 200, maxDelay: 200, timeout: 600_000 };

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

  static async open(schedule: object = fastChecks): Promise<CloudflareShop> {
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

  /** The customer presses the button. Returns the status of the response. */
  async pay(id: string): Promise<number> {
    const { status } = await fetch(new URL(`/orders/${id}/payment`, this.#running.url), { method: 'POST' });
    return status;
  }

  /** The service's webhook comes. */
  async notify(reference: string): Promise<void> {
    await this.#request('/webhooks/payments', { method: 'POST', body: JSON.stringify({ reference }) });
  }

  /** Cloudflare calls the worker each minute. It resolves once the sweep has ended, also if it failed or was killed. */
  async sweep(): Promise<void> {
    await this.#running.run('cron').catch(() => undefined);
  }

  async sweepUntil(id: string, state: string): Promise<void> {
    await until(async () => {
      await this.sweep();
      return (await this.readState(id)) === state;
    }, `${id} to be ${state}`);
  }

  async query(sql: string): Promise<Record<string, unknown>[]> {
    return z.array(z.record(z.string(), z.unknown())).parse(await this.#running.run('query', sql));
  }

  /** Returns what the customer's page shows. */
  async readState(id: string): Promise<string> {
    const response = await this.#request(`/orders/${id}`);
    return z.object({ state: z.string() }).parse(await response.json()).state;
  }

  async countParcels(id: string): Promise<number> {
    return (await this.query(`SELECT 1 FROM parcels WHERE order_id = '${id}'`)).length;
  }

  /** Counts the requests for a transaction. */
  verifies(): number {
    return this.sandbox.requests.filter(({ operation }) => operation === 'verify').length;
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
}
