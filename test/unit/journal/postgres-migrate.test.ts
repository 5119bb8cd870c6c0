import { expect, test } from 'vitest';
import { postgresSchema } from '../../../src/journal/postgres.ts';
import { createPostgresStore } from '../../../src/journal/postgres-store.ts';
import { NoJournalError } from '../../../src/journal/store.ts';
import {
  createChange,
  createTable,
  createWrite,
  openClient,
  openPool,
  readVersion,
  requireMethod,
  writeNew,
} from '../../helpers/postgres-tables.ts';
import { catchError } from '../../helpers/service.ts';
import { useDatabase } from '../../helpers/use-database.ts';

const server = useDatabase();

test('rejects each step if the table is missing, and says to migrate', async () => {
  const pool = openPool(server);
  const store = createPostgresStore(pool, 'not_made');
  const steps = [
    store.read('order 2'),
    store.write('order 2', createChange()),
    store.write('order 2', createChange({ expected: 'first', mustCommit: false })),
    store.writeAll?.([createWrite('order 2'), createWrite('order 3')]),
    store.list?.({ by: 'createdAt', after: null, limit: 1 }),
    store.list?.({ by: 'attentionAt', after: null, limit: 1 }),
    store.count?.(),
    store.claimDue?.({ kind: 'key', limit: 10, lease: 60_000 }),
    store.countDue?.({ kind: 'key' }),
    store.delete?.([{ key: 'order 2', version: 'first' }]),
  ];
  for (const failure of await Promise.all(steps.map((step) => catchError(Promise.resolve(step))))) {
    expect(failure).toBeInstanceOf(NoJournalError);
    expect(failure).toMatchObject({ outcome: 'not_sent', retryable: false });
    expect(String(failure)).toContain('Run journal.migrate(), or the text of postgresSchema()');
    expect(Object(failure).message.length).toBeLessThanOrEqual(200);
  }
  await pool.query(postgresSchema('not_made'));
  await writeNew(store, 'order 2');
});

test('does not wait for an open transaction if nothing is to be changed', async () => {
  const table = await createTable(server);
  await writeNew(table.store, 'order 1');
  const other = await openClient(server);
  await other.query('BEGIN');
  await other.query(`UPDATE ${table.name} SET version = version`);
  await table.run(postgresSchema(table.name));
  const { rows } = await other.query('SELECT now() AS still_open');
  expect(rows).toHaveLength(1);
  await other.query('ROLLBACK');
});

test('makes a table in a schema beside one of the same name', async () => {
  const own = await openClient(server);
  await own.query(postgresSchema('twice'));
  await own.query('CREATE SCHEMA other');
  await own.query(postgresSchema('other.twice'));
  const store = createPostgresStore(own, 'other.twice');
  const version = await writeNew(store, 'order 1');
  expect(await readVersion(store, 'order 1')).toBe(version);
  const twice = createPostgresStore(own, 'twice');
  expect(await requireMethod(twice, 'count')()).toEqual({ records: 0, attention: 0 });
  const { rows } = await own.query("SELECT schemaname FROM pg_indexes WHERE indexname = 'twice_due'");
  expect(rows.map(({ schemaname }) => schemaname).sort()).toEqual(['other', 'public']);
});
