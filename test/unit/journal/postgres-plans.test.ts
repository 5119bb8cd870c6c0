import { expect, test } from 'vitest';
import { createPostgresStore } from '../../../src/journal/postgres-store.ts';
import type { JournalStore, ListQuery } from '../../../src/journal/store.ts';
import { createTable, openClient, type PostgresTable } from '../../helpers/postgres-tables.ts';
import { CREATED_AT, createWrite, requireMethod } from '../../helpers/store-writes.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const server = useDatabase();

/**
 * Writes 100,000 records that are due in half an hour, half of which need a person in half an hour, 30 that are due now, 10,000
 * of orders that are due now, 20 that need a person, and 10,000 of the journal's own.
 */
async function fillTable({ run, name }: PostgresTable): Promise<void> {
  const now = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
  const insert = (key: string, count: number, columns: string) =>
    run(`INSERT INTO ${name} (key, version, record, kind, created_at, attention_at, due_at)
      SELECT '${key} ' || i, 'v-' || i, '{}', ${columns} FROM generate_series(1, ${count}) AS i`);
  const later = `${now} + 1800000 + i`;
  await insert('order', 100_000, `'key', ${CREATED_AT} + i, CASE i % 2 WHEN 0 THEN ${later} END, ${later}`);
  await insert('due', 30, `'key', ${CREATED_AT} + 200000 + i, NULL, ${now} - i`);
  await insert('other', 10_000, `'order', ${CREATED_AT} + 300000 + i, NULL, ${now} - i`);
  await insert('person', 20, `'order', ${CREATED_AT} + 400000 + i, ${now} - i, NULL`);
  await insert('own', 10_000, 'NULL, NULL, NULL, NULL');
}

const list = (query: Pick<ListQuery, 'by' | 'after'>) => async (store: JournalStore) =>
  await requireMethod(store, 'list')({ ...query, limit: 10 });

/** Writes ten records that are there, and ten new ones, in one statement. */
async function writeTogether(store: JournalStore): Promise<number> {
  const writes = Array.from({ length: 10 }, (_, number) => [
    createWrite(`order ${number + 1}`, { expected: `v-${number + 1}`, index: null }),
    createWrite(`new ${number}`, { index: null }),
  ]);
  const results = await requireMethod(store, 'writeAll')(writes.flat());
  return results.filter((written) => written === true).length;
}

const CLAIM = { kind: 'key', limit: 100, lease: 60_000 } as const;

const unneeded = Array.from({ length: 100 }, (_, i) => ({
  key: `order ${80_000 + i}`,
  version: `v-${80_000 + i}`,
}));

/** What is asked for, how many records are found, and how many are read at most. */
const questions: [
  name: string,
  found: number,
  most: number,
  ask: (store: JournalStore) => Promise<number>,
][] = [
  ['first page', 10, 10, async (store) => (await list({ by: 'createdAt', after: null })(store)).length],
  [
    'later page',
    10,
    10,
    async (store) => {
      const after = { at: CREATED_AT + 50_000, key: 'order 50000' };
      return (await list({ by: 'createdAt', after })(store)).length;
    },
  ],
  [
    'two pages of what needs a person',
    20,
    20,
    async (store) => {
      const first = await list({ by: 'attentionAt', after: null })(store);
      const second = await list({ by: 'attentionAt', after: first.at(-1) ?? null })(store);
      return new Set([...first, ...second].map(({ key }) => key)).size;
    },
  ],
  // All records have to be counted, once.
  ['count', 20, 120_070, async (store) => (await requireMethod(store, 'count')()).attention],
  ['count of due', 30, 32, async (store) => (await requireMethod(store, 'countDue')({ kind: 'key' })).due],
  // Each is found by its time, then changed by its key.
  ['due', 30, 60, async (store) => (await requireMethod(store, 'claimDue')(CLAIM)).records.length],
  // Each record that is there is locked, and then changed.
  ['written together', 20, 30, writeTogether],
  ['read', 1, 1, async (store) => ((await store.read('order 70000')).record ? 1 : 0)],
  ['deleted', 100, 100, (store) => requireMethod(store, 'delete')(unneeded)],
];

test.each(['without', 'with'])('reads only what is asked for, %s statistics', async (has) => {
  const table = await createTable(server);
  await table.run(`ALTER TABLE ${table.name} SET (autovacuum_enabled = false)`);
  await fillTable(table);
  if (has === 'with') await table.run(`ANALYZE ${table.name}`);
  const client = await openClient(server);
  const store = createPostgresStore(client, table.name);
  const countRead = async () => {
    await client.query('SELECT pg_stat_force_next_flush()');
    const [row] = await table.run(
      `SELECT seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relid = tables.relid) AS read
      FROM pg_stat_user_tables AS tables WHERE relname = $1`,
      [table.name],
    );
    return Number(row?.read);
  };
  const tooMany: Record<string, number> = {};
  for (const [name, found, most, ask] of questions) {
    const before = await countRead();
    expect({ name, found: await ask(store) }).toEqual({ name, found });
    const read = (await countRead()) - before;
    if (read > most || read === 0) tooMany[name] = read;
  }
  expect(tooMany).toEqual({});
});
