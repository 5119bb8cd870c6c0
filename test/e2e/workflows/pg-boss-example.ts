import { Pool } from 'pg';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { closePool } from '../../helpers/close-pool.ts';
import { type DatabaseServer, startPostgres } from '../../helpers/databases.ts';
import { findFreePort } from '../../helpers/free-port.ts';
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

  async startServer(): Promise<void> {
    this.#server = await startPostgres();
  }

  async stopServer(): Promise<void> {
    await this.#server?.stop();
  }

  async start(): Promise<RunningEngine> {
    const { url = '' } = this.#server ?? {};
    const admin = new Pool({ connectionString: url, max: 1 });
    await admin.query(`CREATE DATABASE shop_${++this.#databases}`);
    await closePool(admin);
    const connectionString = url.replace(/postgres$/, `shop_${this.#databases}`);
    const pool = new Pool({ connectionString });
    this.#pool = pool;
    const env = {
      SHOP_URL: `http://127.0.0.1:${await findFreePort()}`,
      DATABASE_URL: connectionString,
      SWEEP_INTERVAL: '200',
    };
    const journal = postgresJournal(pool);
    return { env, openJournal: () => ({ journal, close() {} }), stop: () => closePool(pool) };
  }

  /** Queries the database of the current test. */
  async query(sql: string): Promise<Record<string, unknown>[]> {
    return (await this.#pool?.query(sql))?.rows ?? [];
  }

  /** Returns everything that pg-boss and the journal store, as text. */
  async dump(): Promise<string> {
    const [row] = await this.query(DUMP);
    return String(row?.all);
  }
}
