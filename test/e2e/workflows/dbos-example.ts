import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { Client } from 'pg';
import { type DatabaseServer, startPostgres } from '../../helpers/databases.ts';
import type { WorkflowExample } from './example.ts';

/** One PostgreSQL for all tests of a file, with a database for each. */
export class DbosExample implements WorkflowExample {
  readonly name = 'DBOS on PostgreSQL';
  readonly folder = 'dbos';
  readonly takesOverAfter = 0;
  #server: DatabaseServer | undefined;
  #databases = 0;
  #env: Record<string, string> = {};

  async startServer(): Promise<void> {
    this.#server = await startPostgres();
  }

  async stopServer(): Promise<void> {
    await this.#server?.stop();
  }

  async start(folder: string) {
    this.#databases++;
    await this.#query('postgres', `CREATE DATABASE ${this.#database}`);
    this.#env = { DATABASE_URL: this.#url(this.#database), ORDERS_FILE: join(folder, 'orders.db') };
    return { env: this.#env, rows: () => this.rows(), stop: async () => {} };
  }

  /** Runs code where the example's commands are, as they would be run. */
  async run(code: string, ...args: string[]): Promise<void> {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', code, 'code', ...args], {
      cwd: resolve('examples/workflows/dbos'),
      env: { ...process.env, ...this.#env },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [exitCode] = await once(child, 'exit');
    if (exitCode !== 0) throw new Error(`The code ended with ${exitCode}.`);
  }

  /** In the database of the test that runs. */
  query(sql: string): Promise<unknown[]> {
    return this.#query(this.#database, sql);
  }

  /** Everything that DBOS keeps, as text. */
  async everything(): Promise<string> {
    const [kept] = await this.query("SELECT schema_to_xml('dbos', true, false, '') AS everything");
    return String(Object(kept).everything);
  }

  /** In all tables of DBOS. */
  async rows(): Promise<number> {
    const tables = await this.query(
      "SELECT format('SELECT count(*) AS rows FROM dbos.%I', tablename) AS count FROM pg_tables WHERE schemaname = 'dbos'",
    );
    const counts = await this.query(tables.map((table) => Object(table).count).join(' UNION ALL '));
    return counts.reduce<number>((sum, count) => sum + Number(Object(count).rows), 0);
  }

  get #database(): string {
    return `shop${this.#databases}`;
  }

  #url(database: string): string {
    return String(this.#server?.url).replace(/postgres$/, database);
  }

  async #query(database: string, sql: string): Promise<unknown[]> {
    const client = new Client({ connectionString: this.#url(database) });
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }
}
