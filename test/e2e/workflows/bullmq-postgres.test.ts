import { Pool } from 'pg';
import { afterAll, beforeAll } from 'vitest';
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
  const dump = async () => String((await pool.query(DUMP)).rows[0]?.all);
  return {
    env: { QUEUE_URL: url },
    async job(id) {
      const { rows } = await pool.query('SELECT state, attempts_made FROM bullmq.job WHERE id = $1', [
        `order-${id}`,
      ]);
      return { attemptsMade: Number(rows[0]?.attempts_made), state: String(rows[0]?.state) };
    },
    async removeJob(id) {
      await pool.query('DELETE FROM bullmq.job WHERE id = $1', [`order-${id}`]);
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
