import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import type { Journal } from '../../../src/journal/index.ts';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { claimDueKeys, listKeys } from '../../helpers/listed-keys.ts';
import { useDatabase } from '../../helpers/use-database.ts';
import {
  createPostgresTable,
  createSqliteHandleTable,
  createSqliteTable,
  recordText,
  type SqlTable,
} from './sql-tables.ts';

const server = useDatabase();

const START = 1_700_000_000_000;

/** Writes 100,000 completed keys that are due in half an hour, 30 that are due now, 10,000 of orders, and 50 unresolved ones. */
async function fillTable(table: SqlTable, toJson: (text: string) => string): Promise<void> {
  const { toTime } = table;
  const now = Date.now();
  const insert = async (
    count: number,
    name: string,
    fields: { state: string; result?: { reference: string } },
    dueAt: string,
    kind = 'key',
  ) => {
    const reference = fields.result ? `lower('${fields.result.reference}')` : 'NULL';
    const text = `replace('${recordText(fields)}', '#', cast(i AS text))`;
    const record = `replace(${text}, '${START}', cast(${START} + i AS text))`;
    await table.run(
      `WITH RECURSIVE series(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < ${count})
      INSERT INTO ${table.name} (key, version, record, written_at, due_at, kind, state, created_at, reference)
      SELECT '${name}-' || i, 'v-' || i, ${toJson(record)}, ${toTime(String(now - 60_000))}, ${dueAt}, '${kind}',
        '${fields.state}', ${toTime(`${START} + i`)}, replace(${reference}, '#', cast(i AS text)) FROM series`,
    );
  };
  const completed = { state: 'completed', result: { reference: 'TXN-#' } };
  await insert(100_000, 'order', completed, toTime(`${now + 1_800_000} + i`));
  await insert(30, 'due', { state: 'completed', result: { reference: 'TXN-due-#' } }, toTime(`${now} - i`));
  // Those of orders are due too, and are of another kind.
  await insert(
    10_000,
    'other',
    { state: 'completed', result: { reference: 'TXN-other-#' } },
    toTime(`${now} - i`),
    'order',
  );
  await insert(25, 'unknown', { state: 'unknown' }, 'NULL');
  await insert(25, 'begun', { state: 'begun' }, 'NULL');
}

/** What is asked for, and how many records are found. */
const questions: [name: string, found: number, ask: (journal: Journal) => Promise<number>][] = [
  ['unresolved', 50, async (journal) => (await listKeys(journal, { state: 'unknown' })).length],
  ['completed', 150, async (journal) => (await listKeys(journal, { state: 'completed', limit: 150 })).length],
  ['of a reference', 1, async (journal) => (await listKeys(journal, { reference: 'TXN-77777' })).length],
  [
    'counted as due',
    30,
    async (journal) => (await getJournalCore(journal).followUps.countDue({ kind: 'key' })).due,
  ],
  ['due', 30, async (journal) => (await claimDueKeys(journal, { limit: 100, lease: 60_000 })).length],
];

/** Writes ten records that are there, and ten new ones, in one statement. */
async function writeTogether(journal: Journal): Promise<number> {
  const change = { text: '{}', mustCommit: true, index: null, dueIn: null };
  const writes = Array.from({ length: 10 }, (_, number) => [
    {
      key: `order-${number + 1}`,
      change: { ...change, expected: `v-${number + 1}`, version: `new-${number}` },
    },
    { key: `new-${number}`, change: { ...change, expected: null, version: `first-${number}` } },
  ]);
  const results = await getJournalCore(journal).store.writeAll?.(writes.flat());
  return results?.filter((written) => written === true).length ?? 0;
}

test.each(['without', 'with'])('PostgreSQL reads only what is asked for, %s statistics', async (has) => {
  const table = await createPostgresTable(server);
  await table.migrate();
  await table.run(`ALTER TABLE ${table.name} SET (autovacuum_enabled = false)`);
  await fillTable(table, (text) => `(${text})::json`);
  if (has === 'with') await table.run(`ANALYZE ${table.name}`);
  const client = new Client({ connectionString: server.url });
  await client.connect();
  onTestFinished(() => client.end());
  const journal = postgresJournal(client, { table: table.name });
  const countRead = async () => {
    await client.query('SELECT pg_stat_force_next_flush()');
    const [row] = await table.run(
      `SELECT seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relid = tables.relid) AS read
      FROM pg_stat_user_tables AS tables WHERE relname = ?`,
      table.name,
    );
    return Number(row?.read);
  };
  const read: Record<string, number> = {};
  for (const [name, found, ask] of [...questions, ['written', 20, writeTogether] as const]) {
    const before = await countRead();
    expect(await ask(journal)).toBe(found);
    read[name] = (await countRead()) - before;
  }
  // Completed keys are read in pages of 100. A record that is due is found by its time, then changed by its key.
  expect(read).toEqual({
    unresolved: 50,
    completed: 200,
    'of a reference': 1,
    'counted as due': expect.toSatisfy((count) => count <= 32),
    due: 60,
    // Each record that is there is locked, and then changed.
    written: expect.toSatisfy((count) => count <= 30),
  });
});

test.each([
  ['SQLite', createSqliteTable],
  ['SQLite by a handle', createSqliteHandleTable],
])('%s reads only what is asked for, through an index', async (_kind, createTable) => {
  const table = await createTable();
  await table.migrate();
  await fillTable(table, (text) => text);
  const journal = await table.open();
  for (const [, found, ask] of questions) expect(await ask(journal)).toBe(found);
  const plans: string[] = [];
  for (const statement of table.statements) {
    if (statement.includes('GROUP BY state') || /sqlite_master|pragma|^(?:CREATE|ALTER)/.test(statement))
      continue;
    for (const { detail } of await table.run(`EXPLAIN QUERY PLAN ${statement}`)) plans.push(String(detail));
  }
  // A subquery returns no more keys than its limit, and json_each what it was given.
  expect(plans.filter((plan) => /SCAN (?!CONSTANT|json_each|\(subquery)/.test(plan))).toEqual([]);
  // The few keys of one reference are sorted.
  expect(plans.filter((plan) => plan.includes('TEMP'))).toHaveLength(1);
  expect(plans).toContain('SEARCH payments USING INDEX payments_state (state=? AND (created_at,key)>(?,?))');
  expect(plans).toContain('SEARCH payments USING PRIMARY KEY (key=?)');
  expect(plans).toContain('SEARCH payments USING COVERING INDEX payments_due_at (kind=? AND due_at<?)');
});
