import { Client, type ClientConfig, Pool, type PoolConfig } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, vi } from 'vitest';
import { fromQuery } from '../../src/stores/postgres/index.ts';
import { createPostgresStore } from '../../src/stores/postgres/store.ts';
import { postgresSchema } from '../../src/stores/postgres/table.ts';
import { closePool } from './close-pool.ts';
import { asWhole, type ClockedStore, type WholeStore } from './store-suite.ts';
import type { Database } from './use-database.ts';

/** A strict isolation level for all transactions of a connection. */
export const STRICT = { options: '-c default_transaction_isolation=repeatable\\ read' };

/** Rejects instead of waiting for a lock. */
export const IMPATIENT = { options: '-c lock_timeout=1s' };

export function openPool({ url }: Database, options: PoolConfig = {}): Pool {
  const pool = new Pool({ connectionString: url, ...options });
  pool.on('error', () => {});
  onTestFinished(() => closePool(pool));
  return pool;
}

export async function openClient({ url }: Database, options: ClientConfig = {}): Promise<Client> {
  const client = new Client({ connectionString: url, ...options });
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** The handle of a connection, as that of a driver of another kind. */
export const openQuery = (client: Client | Pool) => fromQuery((text, values) => client.query(text, values));

/** A table of a journal. */
export interface PostgresTable {
  readonly name: string;
  readonly store: WholeStore;
  /** Runs a statement of the test's own. */
  run(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
}

async function createOn(pool: Pool, name: string): Promise<PostgresTable> {
  await pool.query(postgresSchema(name));
  return {
    name,
    store: asWhole(createPostgresStore(pool, name)),
    run: async (text, values) => (await pool.query(text, values)).rows,
  };
}

let tables = 0;

/** Creates the table of one test. */
export const createTable = (server: Database, options?: PoolConfig) =>
  createOn(openPool(server, options), `payments_${++tables}`);

/** Creates a table for all tests of a file. */
export function useTable(server: Database): () => PostgresTable {
  let pool: Pool;
  let table: PostgresTable;
  beforeAll(async () => {
    pool = new Pool({ connectionString: server.url });
    // The server can stop before the last connection is closed.
    pool.on('error', () => {});
    table = await createOn(pool, 'payments_journal');
  });
  afterAll(() => pool?.end());
  return () => table;
}

/** Opens a store on a clock of its own, through a `Client` or through a handle. */
export async function openClocked(server: Database, isHandle: boolean): Promise<ClockedStore> {
  const { name } = await createTable(server);
  const client = isHandle ? openPool(server) : await openClient(server);
  let time = '$&';
  const query = (text: string, values?: unknown[]): Promise<{ rows: unknown[] }> =>
    client.query(text.replaceAll(/(?:clock|statement)_timestamp\(\)/g, time), values);
  const own =
    client instanceof Pool
      ? fromQuery(query)
      : { query, getTransactionStatus: () => client.getTransactionStatus() };
  return {
    store: asWhole(createPostgresStore(own, name)),
    setNow(milliseconds) {
      time = `to_timestamp(${milliseconds / 1000})`;
    },
  };
}

/** Waits until one connection of the database waits for a lock, and returns its process. */
export function waitForLock(client: Client | Pool): Promise<number> {
  return vi.waitFor(async () => {
    const { rows } = await client.query(
      "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    );
    expect(rows).toHaveLength(1);
    return Number(rows[0].pid);
  });
}
