import { type Connection, createConnection, createPool, type Pool, type PoolOptions } from 'mysql2/promise';
import { afterAll, beforeAll, onTestFinished, vi } from 'vitest';
import { openMysqlStore } from '../../../src/stores/mysql/store.ts';
import type { RunningDatabase } from './database.ts';
import { database } from './kinds/mysql.ts';

/** A server for the tests of a file. What is opened here is closed when the test ends. */
export interface MysqlUnderTest {
  readonly place: string;
  openPool(options?: PoolOptions): Pool;
  connect(options?: PoolOptions): Promise<Connection>;
  /** Makes the table of a journal under a name of its own. */
  createTable(): Promise<string>;
  /** Runs a statement of the test's own. */
  run(sql: string): Promise<Record<string, unknown>[]>;
  /** Waits until a statement on a table waits for a lock, and returns the id of its connection. */
  waitForLock(table: string): Promise<number>;
}

/** Starts a server before the tests of a file, and stops it after them. */
export function useMysql(start: () => Promise<RunningDatabase> = database.start): MysqlUnderTest {
  let running: RunningDatabase | undefined;
  let own: Pool | undefined;
  let tables = 0;
  const readPlace = () => {
    if (!running) throw new Error('The server is not running.');
    return running.place;
  };
  beforeAll(async () => {
    if (database.missing !== undefined) return;
    running = await start();
    own = createPool(running.place);
  });
  afterAll(async () => {
    await own?.end();
    await running?.stop();
  });

  const run: MysqlUnderTest['run'] = async (sql) => {
    const [rows] = (await own?.query(sql)) ?? [];
    return Array.isArray(rows) ? rows.map((row) => Object(row)) : [];
  };
  return {
    get place() {
      return readPlace();
    },
    openPool(options) {
      const pool = createPool({ uri: readPlace(), ...options });
      onTestFinished(() => pool.end().catch(() => {}));
      return pool;
    },
    async connect(options) {
      const connection = await createConnection({ uri: readPlace(), ...options });
      connection.on('error', () => {});
      onTestFinished(() => connection.destroy());
      return connection;
    },
    async createTable() {
      const table = `journal_${++tables}`;
      if (own) await openMysqlStore(own, table).migrate();
      return table;
    },
    run,
    async waitForLock(table) {
      for (;;) {
        // The server can still show the wait of a test before.
        const [row] = await run(
          `SELECT trx_mysql_thread_id AS id FROM information_schema.innodb_trx
          WHERE trx_state = 'LOCK WAIT' AND trx_query LIKE '%\`${table}\`%'`,
        );
        if (row) return Number(row.id);
        // The server looks again only when it was not asked for a tenth of a second.
        await new Promise((resolve) => setTimeout(resolve, 150));
      }
    },
  };
}

/** Runs statements on each new connection of a pool, before any other. */
export function prepareConnections(pool: Pool, ...statements: string[]): Pool {
  pool.on('connection', (connection) => {
    for (const statement of statements) connection.query(statement);
  });
  return pool;
}

/** Returns the statements that the connections of a pool are given from now on. */
export function recordStatements(pool: Pool): string[] {
  const statements: string[] = [];
  pool.on('connection', (connection) => {
    const { query } = connection;
    vi.spyOn(connection, 'query').mockImplementation((...given: unknown[]) => {
      statements.push(String(Object(given[0]).sql));
      return Reflect.apply(query, connection, given);
    });
  });
  return statements;
}

/** The isolation levels that the session of a shop can have. */
export const ISOLATION_LEVELS = ['READ UNCOMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'];
