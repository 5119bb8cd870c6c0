import { join } from 'node:path';
import { Pool } from 'pg';
import { closePool } from '../../helpers/close-pool.ts';
import { type DatabaseServer, startPostgres } from '../../helpers/databases.ts';
import { ExampleProcess } from './child-process.ts';
import type { RunningEngine, WorkflowExample } from './example.ts';

/** Selects every row of pg-boss and of the journal, as XML. */
const DUMP = `
  SELECT string_agg(query_to_xml(format('SELECT * FROM %I.%I', schemaname, tablename), true, false, '')::text, '') AS all
  FROM pg_tables WHERE schemaname IN ('pgboss', 'public')`;

/** One PostgreSQL for all tests of a file, with a database for each test. */
export class PgBossExample implements WorkflowExample {
  readonly name = 'pg-boss on PostgreSQL';
  readonly folder = 'pg-boss';
  #server: DatabaseServer | undefined;
  #databases = 0;
  #pool: Pool | undefined;
  #env: Record<string, string> = {};

  async startServer(): Promise<void> {
    this.#server = await startPostgres();
  }

  async stopServer(): Promise<void> {
    await this.#server?.stop();
  }

  async start(folder: string): Promise<RunningEngine> {
    const { url = '' } = this.#server ?? {};
    const admin = new Pool({ connectionString: url, max: 1 });
    await admin.query(`CREATE DATABASE shop_${++this.#databases}`);
    await closePool(admin);
    const connectionString = url.replace(/postgres$/, `shop_${this.#databases}`);
    const pool = new Pool({ connectionString });
    this.#pool = pool;
    // Shorter than in a shop, so that the job of a killed worker continues soon.
    const settings = { JOB_EXPIRY: '4', SUPERVISE_INTERVAL: '1', MAX_RETRY_DELAY: '1' };
    this.#env = { DATABASE_URL: connectionString, ORDERS_FILE: join(folder, 'orders.db'), ...settings };
    return { env: this.#env, rows: () => this.rows(), stop: () => closePool(pool) };
  }

  /** Queries the database of the current test. */
  async query(sql: string): Promise<Record<string, unknown>[]> {
    return (await this.#pool?.query(sql))?.rows ?? [];
  }

  async rows(): Promise<number> {
    return (await this.dump()).split('<row>').length - 1;
  }

  /** Returns everything that pg-boss and the journal store, as text. */
  async dump(): Promise<string> {
    const [row] = await this.query(DUMP);
    return String(row?.all);
  }

  /** Runs code in the example's folder, with the variables of its commands. */
  run(code: string, env: Readonly<Record<string, string>> = {}): ExampleProcess {
    return new ExampleProcess(process.execPath, ['--input-type=module', '--eval', code], {
      cwd: `examples/workflows/${this.folder}`,
      env: { ...process.env, ...this.#env, ...env },
    });
  }
}
