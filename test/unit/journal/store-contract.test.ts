import { DatabaseSync } from 'node:sqlite';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  type Journal,
  type JournalStore,
  memoryStore,
  type RecordChange,
} from '../../../src/journal/index.ts';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { redisJournal } from '../../../src/journal/redis.ts';
import { createRedisStore } from '../../../src/journal/redis-store.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { createConnectionRunner } from '../../../src/journal/sqlite-connection.ts';
import { createHandleRunner } from '../../../src/journal/sqlite-handle.ts';
import { createSqliteStore } from '../../../src/journal/sqlite-store.ts';
import { isNoJournalError, NO_JOURNAL } from '../../../src/journal/store.ts';
import { claimKey } from '../../helpers/claims.ts';
import { type DatabaseServer, hasRedis, startRedis } from '../../helpers/databases.ts';
import { listKeys } from '../../helpers/listed-keys.ts';
import { connectRedis } from '../../helpers/redis-storage.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import { createSqliteHandle } from '../../helpers/sqlite-handle.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const postgres = useDatabase();
let redis: DatabaseServer;
beforeAll(async () => {
  if (hasRedis) redis = await startRedis();
});
afterAll(async () => {
  await redis?.stop();
});

function openSqlite(): DatabaseSync {
  const database = new DatabaseSync(':memory:');
  onTestFinished(() => database.close());
  return database;
}

const journals: [string, () => Journal][] = [
  ['SQLite', () => sqliteJournal(openSqlite())],
  ['SQLite by a handle', () => sqliteJournal(createSqliteHandle(openSqlite()))],
  [
    'PostgreSQL',
    () => {
      const pool = new Pool({ connectionString: postgres.url });
      onTestFinished(() => pool.end());
      return postgresJournal(pool, { table: 'never_made' });
    },
  ],
  ...(hasRedis
    ? ([['Redis', () => redisJournal(connectRedis(redis), { prefix: crypto.randomUUID() })]] as [
        string,
        () => Journal,
      ][])
    : []),
];

describe.each(journals)('a database without a journal: %s', (kind, open) => {
  test('fails to read, list, count and resolve, and makes none', async () => {
    const journal = open();
    for (let attempt = 0; attempt < 2; attempt++) {
      for (const failure of [
        await catchError(journal.read('order-17')),
        await catchError(listKeys(journal)),
        await catchError(journal.count()),
        await catchError(journal.resolve('order-17', 'not_charged', note)),
      ]) {
        expect(failure).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: false });
        expect(isNoJournalError(failure)).toBe(true);
        const { message } = Object(failure);
        expect(message.startsWith(NO_JOURNAL)).toBe(true);
        expect(message.length).toBeLessThanOrEqual(200);
      }
    }
    if (kind === 'PostgreSQL') return;
    await claimKey(journal, 'order-17');
    expect(await journal.read('order-18')).toBeNull();
    expect(await listKeys(journal)).toEqual(['order-17']);
  });
});

const stores: [string, () => JournalStore | Promise<JournalStore>][] = [
  ['memory', memoryStore],
  ['SQLite', () => createSqliteStore(createConnectionRunner(openSqlite(), 'journal'), 'journal')],
  [
    'SQLite by a handle',
    () => createSqliteStore(createHandleRunner(createSqliteHandle(openSqlite()), 'journal'), 'journal'),
  ],
  ...(hasRedis
    ? ([
        [
          'Redis',
          () => {
            const client = connectRedis(redis);
            return createRedisStore((command, ...args) => client.call(command, ...args), crypto.randomUUID());
          },
        ],
      ] as [string, () => JournalStore][])
    : []),
];

const change: RecordChange = {
  expected: null,
  version: 'one',
  text: '{}',
  mustCommit: true,
  index: { kind: 'key', state: 'unknown', createdAt: 17, reference: 'txn-1' },
  dueIn: 0,
};

describe.each(stores)('a store in %s', (_kind, open) => {
  test('forgets when a record was due once its key is deleted and used again', async () => {
    const store = await open();
    await store.write('order-17', change);
    expect(await store.delete?.([{ key: 'order-17', version: 'one' }])).toBe(1);
    await store.write('order-17', { ...change, version: 'two', dueIn: null });
    expect(await store.countDue?.({ kind: 'key' })).toEqual({ due: 0, nextIn: null });
    expect(await store.claimDue?.({ kind: 'key', limit: 10, lease: 1_000 })).toEqual([]);
    expect(await store.list?.({ by: 'reference', value: 'txn-1', after: null, limit: 10 })).toHaveLength(1);
  });
});
