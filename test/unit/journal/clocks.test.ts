import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  createJournal,
  type Journal,
  type JournalOptions,
  memoryJournal,
} from '../../../src/journal/index.ts';
import { memoryStore } from '../../../src/journal/memory.ts';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { redisJournal } from '../../../src/journal/redis.ts';
import { type SqliteHandle, sqliteJournal } from '../../../src/journal/sqlite.ts';
import { claimKey } from '../../helpers/claims.ts';
import { type DatabaseServer, hasRedis, startPostgres, startRedis } from '../../helpers/databases.ts';
import { charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { createSqliteHandle } from '../../helpers/sqlite-handle.ts';

// Hundreds of charges, and each waits for the disk.
vi.setConfig({ testTimeout: 120_000 });

const DAY = 24 * 60 * 60 * 1000;
const YEAR = 365 * DAY;

/** Storage whose clock the test sets. */
interface Storage {
  /** A handle, as a process has one. */
  open(): Journal;
  /** How far the clock of the storage is ahead of the true time, in milliseconds. */
  ahead(milliseconds: number): void;
}

let postgres: DatabaseServer;
let redis: DatabaseServer;
beforeAll(async () => {
  postgres = await startPostgres();
  if (hasRedis) redis = await startRedis();
}, 120_000);
afterAll(async () => {
  await postgres?.stop();
  await redis?.stop();
}, 60_000);

/** The clocks of this process; only the wall clock is wrong. */
function processClock(): Storage['ahead'] {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const start = Date.now();
  return (milliseconds) => vi.setSystemTime(start + milliseconds);
}

const inMemory = async (options: JournalOptions): Promise<Storage> => {
  const store = memoryStore();
  return { open: () => createJournal(store, options), ahead: processClock() };
};

const inSqlite = async (options: JournalOptions): Promise<Storage> => {
  const database = new DatabaseSync(':memory:');
  onTestFinished(() => database.close());
  return { open: () => sqliteJournal(database, options), ahead: processClock() };
};

const inSqliteByHandle = async (options: JournalOptions): Promise<Storage> => {
  const database = new DatabaseSync(':memory:');
  onTestFinished(() => database.close());
  const { batch } = createSqliteHandle(database);
  let ahead = 0;
  const shifted: SqliteHandle = {
    batch: (statements) =>
      batch(
        statements.map(({ sql, values }) => ({
          sql: sql.replaceAll("'now'", `'now', '${ahead / 1000} seconds'`),
          values,
        })),
      ),
  };
  return {
    open: () => sqliteJournal(shifted, options),
    ahead(milliseconds) {
      ahead = milliseconds;
    },
  };
};

const inPostgres = async (
  options: JournalOptions,
): Promise<Storage & { holdCountedTime(): Promise<{ release(): Promise<void> }> }> => {
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  onTestFinished(() => client.end());
  const own = { ...options, table: `clocks_${randomUUID().replaceAll('-', '')}` };
  let ahead = 0;
  const now = () => `(clock_timestamp() + interval '${ahead} milliseconds')`;
  const shifted = {
    query: (text: string, values?: unknown[]) =>
      client.query(text.replaceAll('clock_timestamp()', now()), values),
    getTransactionStatus: () => client.getTransactionStatus(),
  };
  await postgresJournal(shifted, own).migrate();
  return {
    open: () => postgresJournal(shifted, own),
    ahead(milliseconds) {
      ahead = milliseconds;
    },
    async holdCountedTime() {
      const other = new Client({ connectionString: postgres.url });
      await other.connect();
      onTestFinished(() => other.end());
      await other.query('BEGIN');
      await other.query(`SELECT counted FROM ${own.table}_clock FOR UPDATE`);
      return { release: async () => void (await other.query('ROLLBACK')) };
    },
  };
};

const inRedis = async (options: JournalOptions): Promise<Storage> => {
  const client = new Redis(redis.port, '127.0.0.1');
  onTestFinished(() => client.disconnect());
  let ahead = 0;
  const call = (command: string, script: string | number, ...args: (string | number)[]) => {
    const time = `local function time()
      local now = redis.call('TIME')
      return {now[1] + ${ahead / 1000}, now[2]}
    end `;
    return client.call(command, time + String(script).replaceAll("redis.call('TIME')", 'time()'), ...args);
  };
  const own = { ...options, prefix: `${randomUUID()}:` };
  return {
    open: () => redisJournal({ call }, own),
    ahead(milliseconds) {
      ahead = milliseconds;
    },
  };
};

const storages: [string, (options: JournalOptions) => Promise<Storage>][] = [
  ['memory', inMemory],
  ['SQLite', inSqlite],
  ['SQLite by a handle', inSqliteByHandle],
  ['PostgreSQL', inPostgres],
  ['Redis', inRedis],
];

/** The time of the clock at each of some uses of other keys. */
const wrong: [string, number[]][] = [
  ['ahead a year, and back', [YEAR, YEAR, 0, 0]],
  ['ahead a year, and stays there', [YEAR, YEAR + 1, YEAR + DAY - 2]],
  ['back a year, and ahead again', [-YEAR, -YEAR, 0, 0]],
  ['ahead in six steps of a year each', [1, 2, 3, 4, 5, 6].map((step) => step * YEAR)],
  ['ahead and back ten times', Array.from({ length: 20 }, (_, index) => (index % 2) * YEAR)],
  [
    'as three processes with clocks of their own see it',
    Array.from({ length: 30 }, (_, index) => (index % 3) * YEAR),
  ],
];

describe.each(storages)('retention in %s', (name, make) => {
  const testable = test.skipIf(name === 'Redis' && !hasRedis);

  testable.each(wrong)('keeps a completed key when the clock goes %s', async (_how, clocks) => {
    const service = await startService((response) =>
      sendJson(response, 200, successBodies.chargeMobileMoney()),
    );
    const storage = await make({ retention: 60_000 });
    const payments = service.client({ journal: storage.open() });
    // Before, and while the clock is wrong.
    const keys = ['order-before'];
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-before' });
    for (const [index, clock] of clocks.entries()) {
      storage.ahead(clock);
      const key = `order-${index}`;
      keys.push(key);
      const other = service.client({ journal: storage.open() });
      await other.chargeMobileMoney(charge, { idempotencyKey: key });
      await other.chargeMobileMoney(charge, { idempotencyKey: 'order-before' });
    }
    const sent = service.requests.length;
    expect(sent).toBe(keys.length);
    for (const key of keys) await payments.chargeMobileMoney(charge, { idempotencyKey: key });
    expect(service.requests).toHaveLength(sent);
  });

  if (name !== 'memory') {
    testable.each([
      ['a process that goes on', false],
      ['a process for each charge', true],
    ])('drops a completed key in the end, with %s', async (_how, short) => {
      const storage = await make({ retention: DAY });
      const lasting = storage.open();
      const use = async (key: string) => {
        const journal = short ? storage.open() : lasting;
        await journal.complete(await claimKey(journal, key), { state: 'not_sent' });
      };
      await use('order-17');
      // The retention, the week, and a day, since what is counted at once is a day at most.
      for (let day = 1; day <= 9; day++) {
        if (day <= 8) expect(await lasting.read('order-17')).toMatchObject({ state: 'not_sent' });
        storage.ahead(day * DAY + 1000);
        await use(`order of day ${day}`);
      }
      const longWait = { timeout: 10_000 };
      await vi.waitFor(async () => expect(await lasting.read('order-17')).toBeNull(), longWait);
    });
  }
});

test('keeps a key recorded at a wrong time that another process rolls back', async () => {
  const storage = await inPostgres({ retention: 60_000 });
  const journal = storage.open();
  await claimKey(journal, 'order-16');
  // This process cannot count the time while another one does.
  const hold = await storage.holdCountedTime();
  storage.ahead(-YEAR);
  await journal.complete(await claimKey(journal, 'order-17'), { state: 'rejected' });
  await hold.release();
  storage.ahead(0);
  await claimKey(journal, 'order-18');
  expect(await journal.read('order-17')).toMatchObject({ state: 'rejected' });
});

test('memoryJournal keeps a completed key when the clock jumps', async () => {
  const ahead = processClock();
  const journal = memoryJournal({ retention: 60_000 });
  await journal.complete(await claimKey(journal, 'order-17'), { state: 'not_sent' });
  ahead(YEAR);
  for (let index = 0; index < 10; index++) await claimKey(journal, `order-${100 + index}`);
  expect(await journal.read('order-17')).toMatchObject({ state: 'not_sent' });
});
