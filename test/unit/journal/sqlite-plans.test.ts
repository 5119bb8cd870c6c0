import { expect, test } from 'vitest';
import type { RecordWrite } from '../../../src/journal/index.ts';
import { buildSchema } from '../../../src/journal/sqlite-table.ts';
import { firstWrite, sqliteKinds, TABLE, useSqliteFile } from '../../helpers/sqlite-stores.ts';

const NOW = 1_800_000_000_000;

test.each(sqliteKinds)('%s reads only what is asked for, through an index', async (_kind, open) => {
  const database = useSqliteFile()();
  database.exec(buildSchema(TABLE).join(';'));
  const insert = (count: number, name: string, values: string) =>
    database.exec(
      `WITH RECURSIVE series(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < ${count})
      INSERT INTO ${TABLE} (key, version, record, kind, created_at, attention_at, due_at)
      SELECT '${name}-' || i, 'v' || i, '{}', ${values} FROM series`,
    );
  insert(20_000, 'order', `'key', i, ${NOW} + i, ${NOW} + 1000 + i`);
  insert(30, 'due', `'key', i, ${NOW} - i, ${NOW} - i`);
  // Those of orders are due too, and are of another kind.
  insert(2_000, 'other', `'order', i, NULL, ${NOW} - i`);
  insert(2_000, 'reference', 'NULL, NULL, NULL, NULL');

  const statements = new Set<string>();
  const { store, setNow } = open(database, (sql) => statements.add(sql));
  setNow(NOW);
  expect(await store.read('order-7')).toMatchObject({ record: { version: 'v7' } });
  expect(await store.list({ by: 'createdAt', after: { at: 9_000, key: '' }, limit: 150 })).toHaveLength(150);
  expect(await store.list({ by: 'attentionAt', after: null, limit: 150 })).toHaveLength(30);
  expect(await store.count()).toEqual({ records: 22_030, attention: 30 });
  expect(await store.countDue({ kind: 'key' })).toEqual({ due: 30, nextIn: 1_001 });
  const claimed = await store.claimDue({ kind: 'key', limit: 100, lease: 60_000 });
  expect(claimed.records).toHaveLength(30);
  const writes: RecordWrite[] = [
    { key: 'new', change: firstWrite() },
    { key: 'order-7', change: firstWrite(null, { expected: 'v7', version: 'new' }) },
  ];
  for (const { key, change } of writes) expect(await store.write(key, change)).toBe(true);
  expect(await store.delete([{ key: 'order-8', version: 'v8' }])).toBe(1);

  const asked = [...statements].filter((sql) => /^(?:SELECT|INSERT|UPDATE|DELETE)/.test(sql));
  const plans = asked.flatMap((sql) =>
    database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail)),
  );
  // A subquery returns no more keys than its limit, and json_each what it was given.
  expect(plans.filter((plan) => /SCAN (?!CONSTANT|json_each|\(subquery)/.test(plan))).toEqual([]);
  expect(plans.filter((plan) => plan.includes('TEMP'))).toEqual([]);
  const search = `SEARCH ${TABLE} USING`;
  expect(plans).toEqual(
    expect.arrayContaining([
      `${search} PRIMARY KEY (key=?) LEFT-JOIN`,
      `${search} PRIMARY KEY (key=?)`,
      `${search} INDEX ${TABLE}_created_at ((created_at,key)>(?,?))`,
      `${search} INDEX ${TABLE}_attention_at ((attention_at,key)>(?,?) AND attention_at<?)`,
      `${search} COVERING INDEX ${TABLE}_due_at (kind=? AND due_at<?)`,
      `${search} COVERING INDEX ${TABLE}_due_at (kind=? AND due_at>?)`,
      `${search} COVERING INDEX ${TABLE}_due_at (kind=? AND due_at>? AND due_at<?)`,
    ]),
  );
});
