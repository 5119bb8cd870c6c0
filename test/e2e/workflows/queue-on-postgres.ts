import { Pool } from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { postgresJournal } from '../../../src/stores/postgres/index.ts';
import { closePool } from '../../helpers/close-pool.ts';
import { type DatabaseServer, startPostgres } from '../../helpers/databases.ts';
import { describeQueue } from './scenarios.ts';

interface QueueTables {
  /** The schema of the queue. */
  schema: string;
  /** The tables of its jobs and of its schedule. */
  tables: string;
  /** The variable that has the address of the database. */
  variable: string;
}

/** Defines the tests of a queue on one PostgreSQL, with a database for each test. */
export function describeQueueOnPostgres(
  name: string,
  folder: string,
  { schema, tables, variable }: QueueTables,
): void {
  let server: DatabaseServer;
  let databases = 0;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  describeQueue(name, folder, async () => {
    const database = `shop_${++databases}`;
    const admin = new Pool({ connectionString: server.url, max: 1 });
    await admin.query(`CREATE DATABASE ${database}`);
    await closePool(admin);
    const url = new URL(database, server.url).href;
    const pool = new Pool({ connectionString: url });
    const journal = postgresJournal(pool);
    return {
      env: { [variable]: url },
      openJournal: () => ({ journal, close() {} }),
      removeJobs: () => pool.query(`TRUNCATE ${tables} CASCADE`),
      disconnect: () =>
        pool.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()`),
      async dump() {
        // Every row of the queue and of the journal, as XML.
        const { rows } = await pool.query(`
          SELECT string_agg(query_to_xml(format('SELECT * FROM %I.%I', schemaname, tablename), true, false, '')::text, '') AS all
          FROM pg_tables WHERE schemaname IN ('${schema}', 'public')`);
        return String(rows[0]?.all);
      },
      stop: () => closePool(pool),
    };
  });
}
