/** What each driver of PostgreSQL is tried with besides the suite of all databases. */

import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '@prisma/client';
import { Pool } from 'pg';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  fromPostgresJs,
  fromPrisma,
  type PostgresClient,
  type PostgresHandle,
  type PostgresPool,
  postgresJournal,
} from '../../../src/stores/postgres/index.ts';
import { createPostgresStore } from '../../../src/stores/postgres/store.ts';
import { openClient, openPool as openOtherPool, waitForLock } from '../../helpers/postgres-tables.ts';
import {
  asWhole,
  type ConnectedStore,
  describeTransactions,
  REFUSED,
  testConformance,
  testMissing,
} from '../../helpers/store-suite.ts';
import { createChange, writeNew } from '../../helpers/store-writes.ts';
import { createDatabase } from '../../helpers/use-database.ts';

type Handle = PostgresHandle | PostgresPool | PostgresClient;

export interface OpenDriver {
  readonly handle: Handle;
  /** Runs `use` with a handle inside a transaction, which is then committed; or rolled back if `use` rejects. */
  transact(use: (handle: Handle) => Promise<void>): Promise<void>;
  close(): Promise<unknown>;
}

/** Runs `use` with a connection of a pool inside a transaction, as {@link OpenDriver} does. */
export async function transactOn<Client extends { query(sql: string): Promise<unknown>; release(): void }>(
  connect: () => Promise<Client>,
  use: (client: Client) => Promise<void>,
): Promise<void> {
  const client = await connect();
  try {
    await client.query('BEGIN');
    await use(client);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

export function openPool(place: string): Pool {
  const pool = new Pool({ connectionString: place, max: 4 });
  pool.on('error', () => {});
  return pool;
}

export function openPg(place: string): OpenDriver {
  const pool = openPool(place);
  return {
    handle: pool,
    transact: (use) => transactOn(() => pool.connect(), use),
    close: () => pool.end(),
  };
}

export function openPostgresJs(place: string, prepare = true): OpenDriver {
  const sql = postgres(place, { max: 4, prepare });
  return {
    handle: fromPostgresJs(sql),
    transact: async (use) => void (await sql.begin((own) => use(fromPostgresJs(own)))),
    close: () => sql.end(),
  };
}

export const connectPrisma = (place: string) =>
  new PrismaClient({ adapter: new PrismaPg({ connectionString: place, max: 4 }) });

export function openPrisma(place: string): OpenDriver {
  const prisma = connectPrisma(place);
  return {
    handle: fromPrisma(prisma),
    transact: (use) => prisma.$transaction((own) => use(fromPrisma(own)), { timeout: 60_000 }),
    close: () => prisma.$disconnect(),
  };
}

/** A database of its own on the server that all files share. */
export async function startDatabase() {
  const { url } = await createDatabase();
  return { place: url, stop: async () => {} };
}

interface DriverOptions {
  readonly start?: () => Promise<{ readonly place: string; stop(): Promise<void> }>;
  /** `false`: the suite of its kind runs the cases of conformance. */
  readonly conforms?: boolean;
  /** `false`: each connection keeps the isolation level that it began with. */
  readonly setsIsolation?: boolean;
}

export function describeDriver(
  name: string,
  open: (place: string) => OpenDriver | Promise<OpenDriver>,
  { start = startDatabase, conforms = true, setsIsolation = true }: DriverOptions = {},
): void {
  describe(name, () => {
    let place: string;
    let stop: () => Promise<void>;
    beforeAll(async () => {
      ({ place, stop } = await start());
    });
    afterAll(() => stop?.());

    const openHere = async () => {
      const driver = await open(place);
      onTestFinished(() => void driver.close());
      return driver;
    };
    let tables = 0;
    const createTable = async (handle: Handle) => {
      const table = `table_${++tables}`;
      for (const _ of [1, 2]) await postgresJournal(handle, { table }).migrate();
      return table;
    };

    if (conforms)
      testConformance(async (table) => {
        const { handle, close } = await open(place);
        await postgresJournal(handle, { table }).migrate();
        return { store: createPostgresStore(handle, table), close: async () => void (await close()) };
      });

    testMissing(
      async () => asWhole(createPostgresStore((await openHere()).handle, 'missing')),
      'journal.migrate()',
    );

    describeTransactions(
      'a handle',
      async () => {
        const { handle, transact } = await openHere();
        const table = await createTable(handle);
        const witness = asWhole(createPostgresStore(openOtherPool({ url: place }), table));
        return { ...toConnected(handle, transact, table), witness };
      },
      ['BEGIN'],
      { ...REFUSED, retryable: expect.any(Boolean) },
    );

    if (!setsIsolation) return;
    test('writes through a strict isolation level that refuses overtaken writes', async () => {
      const other = await openClient({ url: place });
      const level = (set: string) => other.query(`ALTER DATABASE ${new URL(place).pathname.slice(1)} ${set}`);
      await level("SET default_transaction_isolation = 'repeatable read'");
      onTestFinished(async () => void (await level('RESET default_transaction_isolation')));
      const { handle } = await openHere();
      const table = await createTable(handle);
      const store = createPostgresStore(handle, table);
      const expected = await writeNew(store, 'key 1');
      await other.query(`BEGIN; UPDATE ${table} SET version = version`);
      const writing = store.write('key 1', createChange({ expected }));
      await waitForLock(other);
      await other.query('COMMIT');
      expect(await writing).toBe(true);
    });
  });
}

/** A store that is inside a transaction of the driver after BEGIN, until COMMIT or ROLLBACK. */
function toConnected(
  handle: Handle,
  transact: OpenDriver['transact'],
  table: string,
): Omit<ConnectedStore, 'witness'> {
  const outside = asWhole(createPostgresStore(handle, table));
  let current = outside;
  let end = async (_sql: string) => {};
  const begin = async () => {
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const transaction = transact(async (inside) => {
      current = asWhole(createPostgresStore(inside, table));
      begun.resolve();
      if ((await ended.promise) === 'ROLLBACK') throw new Error('rolled back');
    });
    transaction.catch(begun.reject);
    end = async (sql) => {
      current = outside;
      ended.resolve(sql);
      await transaction.catch((error: unknown) => {
        if (sql === 'COMMIT') throw error;
      });
    };
    await begun.promise;
  };
  return {
    store: new Proxy(outside, { get: (_, method) => Reflect.get(current, method) }),
    run: (sql) => (sql === 'BEGIN' ? begin() : end(sql)),
  };
}
