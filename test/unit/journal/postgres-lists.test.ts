import { beforeAll, expect, test } from 'vitest';
import type { JournalStore, ListedRecord, ListQuery } from '../../../src/journal/store.ts';
import {
  CREATED_AT,
  createIndex,
  createTable,
  createWrite,
  requireMethod,
  writeNew,
} from '../../helpers/postgres-tables.ts';
import { createDatabase, type Database } from '../../helpers/use-database.ts';

let english: Database;
beforeAll(async () => {
  // It sorts text as a language does, not by its bytes.
  english = await createDatabase("TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'");
});

/** Lists all records in pages. */
async function listAll(store: JournalStore, by: ListQuery['by'], limit = 100): Promise<ListedRecord[]> {
  const list = requireMethod(store, 'list');
  const listed: ListedRecord[] = [];
  for (let after: ListQuery['after'] = null; ; after = listed.at(-1) ?? null) {
    const page = await list({ by, after, limit });
    listed.push(...page);
    if (page.length < limit) return listed;
  }
}

const listKeys = async (...query: Parameters<typeof listAll>) =>
  (await listAll(...query)).map(({ key }) => key);

test('lists the earliest first, by either time', async () => {
  const { store } = await createTable(english);
  const fields = { text: '{"a":  1}' };
  const version = await writeNew(store, 'order 3', {
    ...fields,
    index: createIndex({ createdAt: 3, attentionAt: 1 }),
  });
  await writeNew(store, 'order 1', { index: createIndex({ createdAt: 1, attentionAt: 3 }) });
  await writeNew(store, 'order 2', { index: createIndex({ createdAt: 2, kind: 'order', attentionAt: 2 }) });
  await writeNew(store, 'order 4', { index: createIndex({ createdAt: 0 }) });
  expect(await listKeys(store, 'createdAt')).toEqual(['order 4', 'order 1', 'order 2', 'order 3']);
  expect(await listKeys(store, 'createdAt', 1)).toEqual(['order 4', 'order 1', 'order 2', 'order 3']);
  expect(await listKeys(store, 'attentionAt')).toEqual(['order 3', 'order 2', 'order 1']);
  const [first] = await listAll(store, 'attentionAt');
  expect(first).toEqual({ key: 'order 3', version, ...fields, at: 1 });
});

test('lists what needs a person once the time of the store has come', async () => {
  const { store, openAhead } = await createTable(english);
  const { now } = await store.read('order 1');
  await writeNew(store, 'order 1', { index: createIndex({ attentionAt: now }) });
  await writeNew(store, 'order 2', { index: createIndex({ attentionAt: now + 3_600_000 }) });
  const later = await openAhead(3_600_000);
  const count = async (one: JournalStore) => await requireMethod(one, 'count')();
  expect([await listKeys(store, 'attentionAt'), await count(store)]).toEqual([
    ['order 1'],
    { records: 2, attention: 1 },
  ]);
  expect([await listKeys(later, 'attentionAt'), await count(later)]).toEqual([
    ['order 1', 'order 2'],
    { records: 2, attention: 2 },
  ]);
  expect(await listKeys(store, 'createdAt')).toEqual(['order 1', 'order 2']);
});

test.each(['createdAt', 'attentionAt'] as const)(
  'lists 250 records of one %s in pages, each once, in order',
  async (by) => {
    const { store } = await createTable(english);
    // In the order of their bytes, which a language might sort in another way.
    const keys = Array.from({ length: 250 }, (_, index) => `${['A', 'a', 'B', 'é', '_'][index % 5]}${index}`);
    const index = createIndex({ attentionAt: CREATED_AT });
    await requireMethod(store, 'writeAll')(keys.map((key) => createWrite(key, { index })));
    expect(await listKeys(store, by)).toEqual(
      keys.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other))),
    );
  },
);

test("finds the journal's own records by their key only", async () => {
  const { store } = await createTable(english);
  await writeNew(store, 'reference txn-1', { index: null });
  const version = await writeNew(store, 'order 1');
  expect(await listKeys(store, 'createdAt')).toEqual(['order 1']);
  await writeNew(store, 'order 1', { expected: version, index: null });
  for (const by of ['createdAt', 'attentionAt'] as const) expect(await listKeys(store, by)).toEqual([]);
  expect(await requireMethod(store, 'count')()).toEqual({ records: 0, attention: 0 });
  expect(await store.read('reference txn-1')).toMatchObject({ record: { text: '{}' } });
});

test('keeps a text with a NUL and half a character, alone and in a group', async () => {
  const { store } = await createTable(english);
  const text = JSON.stringify({ message: 'a\0b \ud83d \\u0000 \\ud83d \\ é 🚀' });
  await writeNew(store, 'order 1', { text });
  const group = ['order 2', 'order é 🚀'].map((key) => createWrite(key, { text }));
  expect(await requireMethod(store, 'writeAll')(group)).toEqual([true, true]);
  const listed = await listAll(store, 'createdAt');
  expect(listed.map((record) => [record.key, record.text])).toEqual(
    ['order 1', 'order 2', 'order é 🚀'].map((key) => [key, text]),
  );
});

test('finds a key of 600 characters, of four bytes each', async () => {
  const { store } = await createTable(english);
  // Random, since PostgreSQL compresses what repeats.
  const randoms = crypto.getRandomValues(new Uint32Array(600));
  const key = String.fromCodePoint(...[...randoms].map((random) => 0x10000 + (random % 0xf0000)));
  const { now } = await store.read(key);
  await writeNew(store, key, { index: createIndex({ attentionAt: now, dueAt: now }) });
  expect(await listKeys(store, 'createdAt')).toEqual([key]);
  expect(await listKeys(store, 'attentionAt')).toEqual([key]);
  const claim = { kind: 'key', limit: 1, lease: 1000 } as const;
  expect((await requireMethod(store, 'claimDue')(claim)).records).toMatchObject([{ key }]);
});
