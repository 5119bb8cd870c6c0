import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { closePool } from '../../helpers/close-pool.ts';
import { type DatabaseServer, findFreePort } from '../../helpers/databases.ts';
import { startPgBouncer } from '../../helpers/pgbouncer.ts';
import { ExampleProcess } from './child-process.ts';
import type { FollowUpExample, FollowUpProcesses } from './follow-up-scenarios.ts';
import { newOrder } from './shop.ts';

const cwd = resolve('examples/workflows/supabase');
const CRON_SECRET = 'cron-secret-of-the-tests';

export const supabase: FollowUpExample = {
  name: 'Edge functions on Deno, behind PgBouncer',
  states: { waiting: 'pending', paid: 'paid', notPaid: 'not_paid', inReview: 'in_review' },
  start: (env) => SupabaseProcesses.start(env),
};

/** Each function is a process of its own, as on the platform. */
class SupabaseProcesses implements FollowUpProcesses {
  readonly #env: NodeJS.ProcessEnv;
  readonly #pool: Pool;
  readonly #pooler: DatabaseServer;
  readonly #functions = new Map<string, Promise<EdgeFunction>>();

  private constructor(env: Readonly<Record<string, string>>, pooler: DatabaseServer) {
    this.#pool = new Pool({ connectionString: env.DATABASE_URL });
    this.#pooler = pooler;
    this.#env = { ...process.env, ...env, DATABASE_URL: pooler.url, CRON_SECRET };
  }

  static async start(env: Readonly<Record<string, string>>): Promise<SupabaseProcesses> {
    const shop = new SupabaseProcesses(env, await startPgBouncer(env.DATABASE_URL ?? ''));
    const code = await shop.#spawn(['migrate.ts']).ended;
    if (code !== 0) throw new Error(`migrate.ts exited with ${code}.`);
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

  async pay(id: string): Promise<{ status: number; text: string }> {
    const response = await this.#call('charge', { body: JSON.stringify({ order: id }) });
    return { status: response.status, text: await response.text() };
  }

  async notify(reference: string): Promise<void> {
    await this.#call('webhook', { body: JSON.stringify({ reference }) });
  }

  async sweep(): Promise<void> {
    const headers = { authorization: `Bearer ${CRON_SECRET}` };
    await this.#call('sweep', { headers }).catch(() => {});
  }

  async startWeb(): Promise<void> {}

  killWeb(): Promise<void> {
    return this.#kill('charge');
  }

  killSweep(): Promise<void> {
    return this.#kill('sweep');
  }

  async stop(): Promise<void> {
    for (const name of [...this.#functions.keys()]) await this.#kill(name);
    await closePool(this.#pool);
    await this.#pooler.stop();
  }

  /** The platform starts a function when it is called. */
  async #call(name: string, init: RequestInit): Promise<Response> {
    const running = this.#functions.get(name) ?? this.#startFunction(name);
    this.#functions.set(name, running);
    const { url } = await running;
    return await fetch(url, { method: 'POST', ...init });
  }

  async #startFunction(name: string): Promise<EdgeFunction> {
    const url = `http://127.0.0.1:${await findFreePort()}`;
    const env = { DENO_SERVE_ADDRESS: `tcp:${new URL(url).host}` };
    const started = this.#spawn([`supabase/functions/${name}/index.ts`], env);
    await waitUntilServed(url);
    return { url, process: started };
  }

  async #kill(name: string): Promise<void> {
    const running = this.#functions.get(name);
    this.#functions.delete(name);
    await (await running)?.process.kill();
  }

  #spawn(args: string[], env: NodeJS.ProcessEnv = {}): ExampleProcess {
    const flags = ['run', '--quiet', '--no-remote', '--allow-net', '--allow-env', '--allow-read'];
    const options = { cwd, env: { ...this.#env, DENO_DIR: `${cwd}/node_modules/.deno-cache`, ...env } };
    return new ExampleProcess(`${cwd}/node_modules/deno/deno`, [...flags, ...args], options);
  }
}

interface EdgeFunction {
  readonly url: string;
  readonly process: ExampleProcess;
}

/** Waits until a function responds, and does nothing else. */
async function waitUntilServed(url: string): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    const isUp = await fetch(url, { method: 'OPTIONS' }).then(
      () => true,
      () => false,
    );
    if (isUp) return;
    await sleep(50);
  }
  throw new Error(`${url} did not respond.`);
}
