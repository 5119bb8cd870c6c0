import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Redis } from 'ioredis';
import pg from 'pg';
import { createClient } from 'redis';
import { getRecords } from '../../src/journal/core.ts';
import { type Journal, memoryJournal } from '../../src/stores/index.ts';
import { postgresJournal } from '../../src/stores/postgres/index.ts';
import { redisJournal } from '../../src/stores/redis/index.ts';
import { sqliteJournal } from '../../src/stores/sqlite/index.ts';
import { hasRedis, startPostgres, startRedis } from '../../test/helpers/databases.ts';

/** A way to record charges; the first one has no journal. */
export interface Contender {
  readonly name: string;
  readonly journal: Journal | undefined;
}

type Open = (closing: AsyncDisposableStack) => Promise<Contender[]>;

/** Every journal, each on a database of its own, as a merchant would have it: durable, and with its client's defaults. */
export async function openContenders(closing: AsyncDisposableStack): Promise<Contender[]> {
  const contenders: Contender[] = [
    { name: 'no journal', journal: undefined },
    { name: 'memory', journal: memoryJournal() },
  ];
  for (const open of [onSqlite, onPostgres, onRedis]) contenders.push(...(await open(closing)));
  return contenders;
}

/** Returns a journal whose records are written alone, also if they come at the same time. */
function withoutGroups<T extends Journal>(journal: T): T {
  Reflect.deleteProperty(getRecords(journal).store, 'writeAll');
  return journal;
}

const onSqlite: Open = async (closing) => {
  const folder = mkdtempSync(join(tmpdir(), 'payments-bench-'));
  closing.defer(() => rmSync(folder, { recursive: true }));
  const openJournal = (name: string) => {
    const database = new DatabaseSync(join(folder, name));
    closing.defer(() => database.close());
    return sqliteJournal(database);
  };
  return [
    { name: 'SQLite, a file', journal: openJournal('together.db') },
    { name: 'SQLite, one by one', journal: withoutGroups(openJournal('alone.db')) },
  ];
};

const onPostgres: Open = async (closing) => {
  const server = await startPostgres();
  closing.defer(() => server.stop());
  const pool = new pg.Pool({ connectionString: server.url });
  closing.defer(() => pool.end());
  const openJournal = async (table: string) => {
    const journal = postgresJournal(pool, { table });
    await journal.migrate();
    return journal;
  };
  return [
    { name: 'PostgreSQL, pg', journal: await openJournal('together') },
    { name: 'PostgreSQL, one by one', journal: withoutGroups(await openJournal('alone')) },
  ];
};

const onRedis: Open = async (closing) => {
  if (!hasRedis) {
    console.log('redis-server is not on the PATH: Redis is left out.');
    return [];
  }
  const server = await startRedis();
  closing.defer(() => server.stop());
  const io = new Redis(server.url);
  closing.defer(() => io.disconnect());
  const node = await createClient({ url: server.url }).connect();
  closing.defer(() => node.close());
  return [
    { name: 'Redis, ioredis', journal: redisJournal(io, { prefix: 'io:' }) },
    { name: 'Redis, node-redis', journal: redisJournal(node, { prefix: 'node:' }) },
  ];
};
