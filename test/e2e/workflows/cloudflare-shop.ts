import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { type Sandbox, startSandbox } from '../../../src/developers/sandbox/index.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';
import { type RunningWorker, startWorker } from '../databases/miniflare.ts';
import { newOrder, until } from './shop.ts';

const example = resolve('examples/workflows/cloudflare');
const [, compatibilityDate = ''] =
  /"compatibility_date": "([\d-]+)"/.exec(readFileSync(join(example, 'wrangler.jsonc'), 'utf8')) ?? [];

/** The worker of the example, with a path at which a test runs a statement on its database. */
const WORKER = `import worker from ${JSON.stringify(join(example, 'worker.ts'))};
export default {
  ...worker,
  async fetch(request, env, context) {
    if (new URL(request.url).pathname !== '/query') return worker.fetch(request, env, context);
    return Response.json((await env.DB.prepare(await request.text()).all()).results);
  },
};`;

/** A schedule in milliseconds, with a deadline that no slow machine reaches. */
const fastChecks = { initialDelay: 200, minDelay: 200, maxDelay: 200, timeout: 600_000 };

/** The shop of the example on Miniflare, with the service. A test can kill it at any time. */
export class CloudflareShop {
  readonly sandbox: Sandbox;
  readonly #worker: RunningWorker;

  private constructor(sandbox: Sandbox, worker: RunningWorker) {
    this.sandbox = sandbox;
    this.#worker = worker;
  }

  static async open(schedule: object = fastChecks): Promise<CloudflareShop> {
    const sandbox = await startSandbox();
    const folder = createTempFolder();
    writeFileSync(join(folder.path, 'worker.ts'), WORKER);
    const worker = await startWorker(join(folder.path, 'worker.ts'), {
      bindings: {
        PAYMENTS_BASE_URL: sandbox.baseUrl,
        PAYMENTS_API_KEY: sandbox.liveKey,
        PAYMENTS_TIMEOUT: '20000',
        JOURNAL_LEASE: '5000',
        CHECK_SCHEDULE: JSON.stringify(schedule),
      },
      installedAt: join(example, 'package.json'),
      compatibilityDate,
      // As wrangler bundles it, with the package that is installed.
      build: { external: ['cloudflare:*'], platform: 'neutral' },
    });
    folder.remove();
    const shop = new CloudflareShop(sandbox, worker);
    await shop.#migrate();
    return shop;
  }

  start(): Promise<void> {
    return this.#worker.start();
  }

  kill(): Promise<void> {
    return this.#worker.kill();
  }

  /** Places an order in a request to the worker. Returns its id. */
  async place(): Promise<string> {
    const order = newOrder();
    await this.#request('/orders', { method: 'POST', body: JSON.stringify(order) });
    return order.id;
  }

  /** The customer presses the button. Returns the status of the response. */
  async pay(id: string): Promise<number> {
    const { status } = await fetch(new URL(`/orders/${id}/payment`, this.#worker.url), { method: 'POST' });
    return status;
  }

  /** The service's webhook comes. */
  async notify(reference: string): Promise<void> {
    await this.#request('/webhooks/payments', { method: 'POST', body: JSON.stringify({ reference }) });
  }

  /** Cloudflare calls the worker each minute. It resolves once the sweep has ended, also if it failed or was killed. */
  async sweep(): Promise<void> {
    await fetch(new URL('/cdn-cgi/handler/scheduled', this.#worker.url)).catch(() => undefined);
  }

  async sweepUntil(id: string, state: string): Promise<void> {
    await until(async () => {
      await this.sweep();
      return (await this.readState(id)) === state;
    }, `${id} to be ${state}`);
  }

  async query(sql: string): Promise<Record<string, unknown>[]> {
    const response = await this.#request('/query', { method: 'POST', body: sql });
    return z.array(z.record(z.string(), z.unknown())).parse(await response.json());
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
    await this.#worker.stop();
    await this.sandbox.close();
  }

  /** Runs the migrations. Miniflare takes one statement at a time. */
  async #migrate(): Promise<void> {
    const sql = readFileSync(join(example, 'migrations/0001_orders.sql'), 'utf8');
    for (const statement of sql.split(/;\n\n/)) await this.query(statement);
  }

  async #request(path: string, init?: RequestInit): Promise<Response> {
    const response = await fetch(new URL(path, this.#worker.url), init);
    if (!response.ok) throw new Error(`${path} responds ${response.status}: ${await response.text()}`);
    return response;
  }
}
