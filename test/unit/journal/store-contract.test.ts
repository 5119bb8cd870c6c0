import { DatabaseSync } from 'node:sqlite';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Journal } from '../../../src/journal/index.ts';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { redisJournal } from '../../../src/journal/redis.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { NO_JOURNAL } from '../../../src/journal/store.ts';
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
        expect(failure).toMatchObject({
          name: 'JournalError',
          outcome: 'not_sent',
          retryable: false,
          reason: 'no_journal',
        });
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
