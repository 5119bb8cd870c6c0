import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { Client } from 'pg';
import { type DatabaseServer, startPostgres } from '../../helpers/databases.ts';
import type { WorkflowExample } from './example.ts';

/** One PostgreSQL for all tests of a file, with a database for each test. */
export class DbosExample implements WorkflowExample {
  readonly name = 'DBOS on PostgreSQL';
  readonly folder = 'dbos';
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

  /** Runs code in the example's folder, with the variables of its commands. */
  async run(code: string, ...args: string[]): Promise<void> {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', code, 'code', ...args], {
      cwd: resolve('examples/workflows/dbos'),
      env: { ...process.env, ...this.#env },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [exitCode] = await once(child, 'exit');
    if (exitCode !== 0) throw new Error(`The code exited with ${exitCode}.`);
  }

  /** Queries the database of the current test. */
  query(sql: string): Promise<unknown[]> {
    return this.#query(this.#database, sql);
  }

  /** Returns everything that DBOS stores, as text. */
  async dump(): Promise<string> {
    const [row] = await this.query("SELECT schema_to_xml('dbos', true, false, '') AS everything");
    return String(Object(row).everything);
  }

  /** Counts the rows in all tables of DBOS. */
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
