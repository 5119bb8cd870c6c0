import { expect, test } from 'vitest';
import { createPostgresStore } from '../../../src/stores/postgres/store.ts';
import { createTable, openClient } from '../../helpers/postgres-tables.ts';
import { listRows, questions } from '../../helpers/store-plans.ts';
import { asWhole } from '../../helpers/store-suite.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const server = useDatabase();

/** How many records are read at most. */
const limits: Record<keyof typeof questions, number> = {
  'a record': 1,
  'no record': 0,
  'who needs a person': 50,
  'the first page': 100,
  'a later page': 100,
  'a later page of one time': 100,
  // All records have to be counted, once.
  counted: 122_630,
  'counted as due': 32,
  // Each is found by its time, then changed by its key.
  due: 60,
  deleted: 10,
  // Each record that is there is locked, and then changed.
  'written in a group': 30,
};

test.each(['without', 'with'])('reads only what is asked for, %s statistics', async (has) => {
  const { name, run } = await createTable(server);
  await run(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`);
  for (const { name: key, count, values } of listRows(Date.now()))
    await run(`INSERT INTO ${name} (key, version, record, kind, created_at, attention_at, due_at)
      SELECT '${key} ' || i, 'v-' || i, '{}', ${values} FROM generate_series(1, ${count}) AS i`);
  if (has === 'with') await run(`ANALYZE ${name}`);
  const client = await openClient(server);
  const store = asWhole(createPostgresStore(client, name));
  const countRead = async () => {
    await client.query('SELECT pg_stat_force_next_flush()');
    const [row] = await run(
      `SELECT seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relid = tables.relid) AS read
      FROM pg_stat_user_tables AS tables WHERE relname = $1`,
      [name],
    );
    return Number(row?.read);
  };
  const read: Record<string, number> = {};
  for (const [question, [found, ask]] of Object.entries(questions)) {
    const before = await countRead();
    expect(await ask(store), question).toBe(found);
    read[question] = (await countRead()) - before;
  }
  const most = (limit: number) => expect.toSatisfy((count) => count <= limit && (count > 0 || limit === 0));
  expect(read).toEqual(Object.fromEntries(Object.entries(limits).map(([key, limit]) => [key, most(limit)])));
});
