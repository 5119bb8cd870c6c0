import { resolve } from 'node:path';
import { Pool } from 'pg';
import { closePool } from '../../helpers/close-pool.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import { ExampleProcess } from './child-process.ts';
import type { FollowUpExample, FollowUpProcesses } from './follow-up-scenarios.ts';
import { newOrder } from './shop.ts';

const cwd = resolve('examples/workflows/node-cron');

export const nodeCron: FollowUpExample = {
  name: 'A web process and a cron job on PostgreSQL',
  states: { waiting: 'processing', paid: 'fulfilled', notPaid: 'unpaid', inReview: 'in_review' },
  start: (env) => NodeCronProcesses.start(env),
};

export class NodeCronProcesses implements FollowUpProcesses {
  readonly #env: NodeJS.ProcessEnv;
  readonly #url: string;
  readonly #pool: Pool;
  readonly #sweeps = new Set<ExampleProcess>();
  #web: ExampleProcess | undefined;

  private constructor(env: Readonly<Record<string, string>>, url: string) {
    this.#env = { ...process.env, ...env, SHOP_URL: url };
    this.#url = url;
    this.#pool = new Pool({ connectionString: env.DATABASE_URL });
  }

  static async start(env: Readonly<Record<string, string>>): Promise<NodeCronProcesses> {
    const shop = new NodeCronProcesses(env, `http://127.0.0.1:${await findFreePort()}`);
    const code = await shop.#spawn('migrate.ts').ended;
    if (code !== 0) throw new Error(`migrate.ts exited with ${code}.`);
    await shop.startWeb();
    return shop;
  }

  async place(): Promise<string> {
    const { id, ...order } = newOrder();
    await this.#pool.query(
      `INSERT INTO orders (id, amount, currency, customer_email, phone, network) VALUES ($1, $2, $3, $4, $5, $6)`,
      [id, order.amount, order.currency, order.customer_email, order.phone, order.network],
    );
    return id;
  }

  async stateOf(id: string): Promise<unknown> {
    const { rows } = await this.#pool.query('SELECT state FROM orders WHERE id = $1', [id]);
    return rows[0]?.state;
  }

  async pay(id: string): Promise<{ status: number; text: string }> {
    const response = await fetch(`${this.#url}/orders/${id}/payment`, { method: 'POST' });
    return { status: response.status, text: await response.text() };
  }

  async notify(reference: string): Promise<void> {
    await fetch(`${this.#url}/webhooks/payments`, { method: 'POST', body: JSON.stringify({ reference }) });
  }

  async sweep(): Promise<void> {
    const sweep = this.#spawn('sweep.ts');
    this.#sweeps.add(sweep);
    await sweep.ended;
    this.#sweeps.delete(sweep);
  }

  async startWeb(): Promise<void> {
    if (this.#web) return;
    this.#web = this.#spawn('server.ts');
    await this.#web.waitForLine((line) => line === 'ready');
  }

  async killWeb(): Promise<void> {
    await this.#web?.kill();
    this.#web = undefined;
  }

  async killSweep(): Promise<void> {
    await Promise.all([...this.#sweeps].map((sweep) => sweep.kill()));
  }

  async stop(): Promise<void> {
    await this.killSweep();
    await this.killWeb();
    await closePool(this.#pool);
  }

  /** Starts the process that sweeps by itself, every second. */
  async startCron(): Promise<ExampleProcess> {
    const cron = this.#spawn('cron.ts', { CRON_PATTERN: '* * * * * *' });
    this.#sweeps.add(cron);
    await cron.waitForLine((line) => line === 'ready');
    return cron;
  }

  #spawn(script: string, env: NodeJS.ProcessEnv = {}): ExampleProcess {
    return new ExampleProcess(process.execPath, [script], { cwd, env: { ...this.#env, ...env } });
  }
}
