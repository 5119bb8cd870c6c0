/** What every store promises, on each of the databases that the root has. The others are in test/e2e/databases. */

import { DatabaseSync } from 'node:sqlite';
import { Redis } from 'ioredis';
import { Client, Pool } from 'pg';
import { afterAll, beforeAll, describe, onTestFinished, vi } from 'vitest';
import type { OpenStore } from '../../../src/developers/mock/index.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { fromQuery, type PostgresHandle, postgresSchema } from '../../../src/stores/postgres/index.ts';
import { createPostgresStore } from '../../../src/stores/postgres/store.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { createTable, openClient, openClocked, openPool } from '../../helpers/postgres-tables.ts';
import { connectNodeRedis, createRedisStorage, openRedisStore } from '../../helpers/redis-storage.ts';
import { isExhaustive } from '../../helpers/sized.ts';
import {
  createSqliteHandle,
  openHandleStore,
  openMemory,
  openStore,
  sqliteKinds,
} from '../../helpers/sqlite-stores.ts';
import {
  asWhole,
  type ClockedStore,
  type ConnectedStore,
  describeTimes,
  describeTransactions,
  testConformance,
  testMissing,
  type WholeStore,
} from '../../helpers/store-suite.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';
import { useDatabase } from '../../helpers/use-database.ts';

/** It sorts text as a language does, not by its bytes. */
const postgres = useDatabase("TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'");
let redis: DatabaseServer;
let pool: Pool;
const memory = new DatabaseSync(':memory:');
let folder: ReturnType<typeof createTempFolder>;
beforeAll(async () => {
  folder = createTempFolder();
  pool = new Pool({ connectionString: postgres.url });
  if (hasRedis) redis = await startRedis();
});
afterAll(async () => {
  folder.remove();
  memory.close();
  await pool.end();
  await redis?.stop();
});

const toHandle = (pool: Pool) => fromQuery(async (text, values) => (await pool.query(text, values)).rows);
const openTable = async (client: Pool | Client | PostgresHandle, table: string) => {
  await pool.query(postgresSchema(table));
  return createPostgresStore(client, table);
};
const missingTable = 'Run journal.migrate(), or the text of postgresSchema()';

interface Kind {
  readonly conforms: OpenStore;
  openClocked(): ClockedStore | Promise<ClockedStore>;
  openMissing(): WholeStore;
  /** What its errors name while it is missing, if a write does not make it. */
  readonly how?: string;
}

const kinds: Record<string, Kind> = {
  'a file of SQLite': {
    conforms: (storage) => {
      const database = new DatabaseSync(`${folder.path}/${storage}.db`);
      return { store: openStore(database), close: () => database.close() };
    },
    openClocked: () => sqliteKinds['a connection'](openMemory()),
    openMissing: () => openStore(openMemory()),
  },
  'SQLite by a handle': {
    conforms: (table) => openHandleStore(createSqliteHandle(memory), table),
    openClocked: () => sqliteKinds['a handle'](openMemory()),
    openMissing: () => openHandleStore(createSqliteHandle(openMemory())),
  },
  'PostgreSQL by a Pool': {
    conforms: (table) => openTable(pool, table),
    openClocked: () => openClocked(postgres, false),
    openMissing: () => asWhole(createPostgresStore(openPool(postgres), 'never_made')),
    how: missingTable,
  },
  'PostgreSQL by a handle': {
    conforms: (table) => openTable(toHandle(pool), table),
    openClocked: () => openClocked(postgres, true),
    openMissing: () => asWhole(createPostgresStore(toHandle(openPool(postgres)), 'never_made')),
    how: missingTable,
  },
  ...(hasRedis && {
    Redis: {
      conforms: (prefix) => {
        const client = new Redis(redis.port, '127.0.0.1');
        return { store: openRedisStore(client, prefix), close: () => client.quit() };
      },
      openClocked: () => createRedisStorage(redis),
      openMissing: () => createRedisStorage(redis).store,
    },
  }),
};

describe.each(Object.entries(kinds))('%s', (_name, { conforms, openClocked, openMissing, how }) => {
  testConformance(conforms);
  describeTimes(openClocked);
  testMissing(openMissing, how);
});

describe('memory', () => {
  const open = () => ({
    store: asWhole(memoryStore()),
    setNow(now: number) {
      vi.useFakeTimers({ toFake: ['Date'], now });
      onTestFinished(() => void vi.useRealTimers());
    },
  });
  describeTimes(open, false);
});

const strict =
  (level: string): OpenStore =>
  async (table) => {
    const options = `-c default_transaction_isolation=${level}`;
    const own = new Pool({ connectionString: postgres.url, options });
    return { store: await openTable(own, table), close: () => own.end() };
  };
const others: Record<string, OpenStore> = {
  'PostgreSQL by Clients': async (table) => {
    const client = new Client({ connectionString: postgres.url });
    await client.connect();
    return { store: await openTable(client, table), close: () => client.end() };
  },
  'PostgreSQL under repeatable read': strict('repeatable\\ read'),
  'PostgreSQL under serializable': strict('serializable'),
  ...(hasRedis && {
    'Redis by redis': async (prefix) => openRedisStore(await connectNodeRedis(redis, 3), prefix),
  }),
};
if (isExhaustive)
  for (const [name, open] of Object.entries(others)) testConformance(open, `${name} conforms`);

const openPostgresClient = async (isHandle: boolean): Promise<ConnectedStore> => {
  const { name, store: witness } = await createTable(postgres);
  const client = await openClient(postgres);
  const query = (text: string, values: unknown[] = []) => client.query(text, values);
  const store = asWhole(createPostgresStore(isHandle ? fromQuery(query) : client, name));
  return { store, witness, run: query };
};

describeTransactions('a Client of pg', () => openPostgresClient(false));
describeTransactions('a handle of PostgreSQL', () => openPostgresClient(true));
