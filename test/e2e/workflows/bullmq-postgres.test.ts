import { Pool } from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { type DatabaseServer, startPostgres } from '../../helpers/databases.ts';
import { describeBullMQ } from './bullmq.ts';

/** Selects every row of BullMQ and of the journal, as XML. */
const DUMP = `
  SELECT string_agg(query_to_xml(format('SELECT * FROM %I.%I', schemaname, tablename), true, false, '')::text, '') AS all
  FROM pg_tables WHERE schemaname IN ('bullmq', 'public')`;

let server: DatabaseServer;
let databases = 0;

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

describeBullMQ('BullMQ on PostgreSQL', async () => {
  const database = `shop_${++databases}`;
  await query(server.url, `CREATE DATABASE ${database}`);
  const url = new URL(database, server.url).href;
  const pool = new Pool({ connectionString: url });
  const journal = postgresJournal(pool);
  const dump = async () => String((await pool.query(DUMP)).rows[0]?.all);
  return {
    env: { QUEUE_URL: url },
    openJournal: () => ({ journal, close() {} }),
    async removeJobs() {
      await pool.query('TRUNCATE bullmq.job, bullmq.scheduler CASCADE');
    },
    dump,
    stop: () => pool.end(),
  };
});

async function query(connectionString: string, text: string): Promise<void> {
  const pool = new Pool({ connectionString });
  await pool.query(text);
  await pool.end();
}
