import { createConnection, createPool } from 'mysql2/promise';
import { mysqlJournal } from '../../../../src/stores/mysql/index.ts';
import type { RunningDatabase, TestDatabase } from '../database.ts';
import { hasMariaDb, startMariaDb } from '../mariadb.ts';

/** A server to use in place of Debian's MariaDB. The tests make a database of their own in it. */
const { MYSQL_URL } = process.env;

const TABLE = 'payments_journal';

/** MySQL or MariaDB, through a pool of mysql2. */
export const database: TestDatabase = {
  missing:
    hasMariaDb || MYSQL_URL ? undefined : 'mariadb-server is not installed: apt-get install mariadb-server',
  start: () => (MYSQL_URL ? createDatabase(MYSQL_URL) : startMariaDb()),
  async prepare(place) {
    const pool = createPool(place);
    await mysqlJournal(pool).migrate();
    await pool.end();
  },
  async open(place, options, table) {
    const pool = createPool({ uri: place, connectionLimit: 4 });
    const journal = mysqlJournal(pool, { ...options, table });
    if (table !== undefined) await journal.migrate();
    return { journal, close: () => pool.end() };
  },
  async dump(place) {
    const connection = await createConnection(place);
    const [rows] = await connection.query(
      `SELECT *, CONVERT(\`key\` USING utf8mb4) AS \`key\`, CONVERT(version USING utf8mb4) AS version FROM ${TABLE}`,
    );
    await connection.end();
    return JSON.stringify(rows);
  },
};

/** Creates an empty database on a server that is there. A proxy of this process takes it away. */
async function createDatabase(url: string): Promise<RunningDatabase> {
  const name = `payments_${crypto.randomUUID().replaceAll('-', '')}`;
  const run = async (sql: string) => {
    const connection = await createConnection(url);
    await connection.query(sql);
    await connection.end();
  };
  await run(`CREATE DATABASE ${name}`);
  const target = new URL(url);
  target.pathname = `/${name}`;
  // Workers only connect.
  const { startProxy } = await import('../../../helpers/tcp-proxy.ts');
  const proxy = await startProxy(target, undefined, 3_306);
  return {
    place: proxy.url.href,
    takeAway: () => proxy.close(),
    bringBack: () => proxy.reopen(),
    async stop() {
      await proxy.close();
      await run(`DROP DATABASE ${name}`);
    },
  };
}
