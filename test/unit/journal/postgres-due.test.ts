import { expect, test } from 'vitest';
import { fromQuery } from '../../../src/journal/postgres.ts';
import { createPostgresStore } from '../../../src/journal/postgres-store.ts';
import { type JournalStore, MAX_DUE_IN, type RecordKind } from '../../../src/journal/store.ts';
import {
  createChange,
  createIndex,
  createTable,
  IMPATIENT,
  openClient,
  openPool,
  readVersion,
  requireMethod,
  writeNew,
} from '../../helpers/postgres-tables.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const server = useDatabase();

const HOUR = 60 * 60 * 1000;

/** Writes a record that is due `dueIn` milliseconds after the time of the store, and returns when that is. */
async function writeDueIn(store: JournalStore, key: string, dueIn: number, kind: RecordKind = 'key') {
  const dueAt = (await store.read(key)).now + dueIn;
  await writeNew(store, key, { index: createIndex({ kind, dueAt }) });
  return dueAt;
}

const claimDue = async (store: JournalStore, claim: { limit?: number; lease?: number } = {}) =>
  await requireMethod(store, 'claimDue')({ kind: 'key', limit: 10, lease: 60_000, ...claim });

const claimKeys = async (store: JournalStore, claim: { limit?: number; lease?: number } = {}) =>
  (await claimDue(store, claim)).records.map(({ key }) => key);

const countDue = async (store: JournalStore, kind: RecordKind = 'key') =>
  await requireMethod(store, 'countDue')({ kind });

test('returns when a record was due, and the time', async () => {
  const { store } = await createTable(server);
  const { now } = await store.read('order 1');
  const second = await writeDueIn(store, 'order 2', -1000);
  const first = await writeDueIn(store, 'order 1', -2000);
  await writeDueIn(store, 'order 3', HOUR);
  await writeDueIn(store, 'order 4', -3000, 'order');
  await writeNew(store, 'order 5');
  const claimed = await claimDue(store);
  expect(claimed.records.map(({ key, at }) => [key, at])).toEqual([
    ['order 1', first],
    ['order 2', second],
  ]);
  const again = await claimDue(store);
  expect(again.records).toEqual([]);
  expect([now, claimed.now, again.now]).toEqual([now, claimed.now, again.now].toSorted());
  expect([claimed.now, again.now].every(Number.isInteger)).toBe(true);
  expect(await countDue(store)).toEqual({ due: 0, nextIn: expect.closeTo(60_000, -5) });
});

test('makes a record due again after the lease, and changes nothing else', async () => {
  const table = await createTable(server);
  const { store } = table;
  const dueAt = await writeDueIn(store, 'order 1', 0);
  const before = await table.run(`SELECT * FROM ${table.name}`);
  const { now } = await claimDue(store, { lease: 30_000.5 });
  const [after] = await table.run(`SELECT * FROM ${table.name}`);
  expect([{ ...after, due_at: String(dueAt) }]).toEqual(before);
  const leased = Number(after?.due_at) - now;
  expect(leased).toBeGreaterThan(29_000);
  expect(leased).toBeLessThanOrEqual(30_001);
  const later = await table.openAhead(30_001);
  expect(await claimKeys(later)).toEqual(['order 1']);
});

test('counts what is due, and when the next one is', async () => {
  const { store, openAhead } = await createTable(server);
  expect(await countDue(store)).toEqual({ due: 0, nextIn: null });
  await writeDueIn(store, 'order 1', HOUR);
  await writeDueIn(store, 'order 2', 2 * HOUR);
  await writeDueIn(store, 'order 3', HOUR / 2, 'order');
  const { due, nextIn } = await countDue(store);
  expect([due, Number.isInteger(nextIn)]).toEqual([0, true]);
  expect(nextIn).toBeLessThanOrEqual(HOUR);
  expect(nextIn).toBeGreaterThan(HOUR - 60_000);
  expect(await countDue(await openAhead(HOUR))).toMatchObject({ due: 1 });
  expect(await countDue(await openAhead(2 * HOUR))).toEqual({ due: 2, nextIn: null });
  expect(await countDue(await openAhead(HOUR), 'order')).toEqual({ due: 1, nextIn: null });
});

test('claims what is due at the latest time in time', async () => {
  const { store, openAhead } = await createTable(server);
  await writeDueIn(store, 'order 1', MAX_DUE_IN);
  expect(await claimKeys(store)).toEqual([]);
  expect(await claimKeys(await openAhead(MAX_DUE_IN))).toEqual(['order 1']);
});

test('returns what is due too late, since a clock went back', async () => {
  const { store, openAhead } = await createTable(server);
  const ahead = await openAhead(24 * HOUR);
  await writeDueIn(store, 'order 1', MAX_DUE_IN - 60_000);
  await writeDueIn(ahead, 'order 3', 3 * HOUR);
  await writeDueIn(ahead, 'order 2', 2.5 * HOUR);
  await writeNew(store, 'order 5', { index: createIndex({ dueAt: Number.MAX_VALUE }) });
  await writeDueIn(store, 'order 4', 0);
  expect(await countDue(store)).toEqual({ due: 4, nextIn: expect.closeTo(MAX_DUE_IN - 60_000, -5) });
  const claimed = [...(await claimKeys(store, { limit: 2 })), ...(await claimKeys(store, { limit: 2 }))];
  expect(claimed).toEqual(['order 4', 'order 2', 'order 3', 'order 5']);
  expect(await countDue(store)).toEqual({ due: 0, nextIn: expect.closeTo(60_000, -5) });
});

test.each(['read\\ committed', 'repeatable\\ read', 'serializable'])(
  'shares due records with the isolation level %s',
  async (level) => {
    const { name, store } = await createTable(server);
    for (let index = 0; index < 60; index++) await writeDueIn(store, `order ${index}`, 0);
    const pool = openPool(server, { options: `-c default_transaction_isolation=${level}` });
    const strict = createPostgresStore(pool, name);
    const claimed = await Promise.all(Array.from({ length: 10 }, () => claimKeys(strict, { limit: 6 })));
    expect(new Set(claimed.flat()).size).toBe(60);
    expect(claimed.flat()).toHaveLength(60);
  },
);

test('skips a record that a transaction holds, and returns it later', async () => {
  const { name } = await createTable(server);
  const store = createPostgresStore(openPool(server, IMPATIENT), name);
  await writeDueIn(store, 'order 1', 0);
  await writeDueIn(store, 'order 2', 0);
  const other = await openClient(server);
  await other.query('BEGIN');
  await other.query(`SELECT FROM ${name} WHERE key = 'order 1' FOR UPDATE`);
  expect(await claimKeys(store)).toEqual(['order 2']);
  await other.query('ROLLBACK');
  expect(await claimKeys(store)).toEqual(['order 1']);
});

test('lets the write of a claimed record pass, with the version that it has', async () => {
  const { store } = await createTable(server);
  await writeDueIn(store, 'order 1', 0);
  const [claimed] = (await claimDue(store)).records;
  await writeNew(store, 'order 1', { expected: claimed?.version ?? null });
  expect(await countDue(store)).toEqual({ due: 0, nextIn: null });
});

test.each(['pg', 'a handle'])('repeats a step that lost to another transaction: %s', async (driver) => {
  const { name, store: other } = await createTable(server);
  const pool = openPool(server);
  const client = await openClient(server);
  let refusals = 0;
  const refuse = (text: string) => {
    if (!/UPDATE|DELETE/.test(text) || refusals >= 2) return;
    refusals++;
    throw Object.assign(new Error('could not serialize access'), { code: '40001' });
  };
  const own =
    driver === 'pg'
      ? {
          query: async (text: string, values?: unknown[]) => {
            refuse(text);
            return client.query(text, values);
          },
          getTransactionStatus: () => client.getTransactionStatus(),
        }
      : fromQuery((text, values) => {
          refuse(text);
          return pool.query(text, values);
        });
  const store = createPostgresStore(own, name);
  await writeDueIn(other, 'order 1', 0);
  const repeat = async <T>(step: () => Promise<T>) => {
    refusals = 0;
    const result = await step();
    expect(refusals).toBe(2);
    return result;
  };
  const { records } = await repeat(() => claimDue(store));
  const expected = records[0]?.version ?? null;
  const change = createChange({ expected });
  expect(await repeat(() => store.write('order 1', change))).toBe(true);
  expect(await readVersion(other, 'order 1')).toBe(change.version);
  const { version } = change;
  const remove = requireMethod(store, 'delete');
  expect(await repeat(() => remove([{ key: 'order 1', version }]))).toBe(1);
  // Another process was first: nothing is written, however often it is tried.
  refusals = 0;
  expect(await store.write('order 1', change)).toBe(false);
});
