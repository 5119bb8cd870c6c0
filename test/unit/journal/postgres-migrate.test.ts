import { Client, Pool } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { claimKey, countDue } from '../../helpers/claims.ts';
import { claimDueKeys, listKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { useDatabase } from '../../helpers/use-database.ts';
import { createPostgresTable } from './sql-tables.ts';

const server = useDatabase();

test('charges nothing if the table is missing, and says to migrate', async () => {
  const service = await startService((response) =>
    sendJson(response, 200, successBodies.chargeMobileMoney()),
  );
  const pool = new Pool({ connectionString: server.url });
  onTestFinished(() => pool.end());
  const journal = postgresJournal(pool, { table: 'not_made' });
  const payments = service.client({ journal });
  const failures = [
    payments.chargeMobileMoney(charge, { idempotencyKey: 'order-2' }),
    listKeys(journal),
    journal.count(),
    claimDueKeys(journal, { limit: 10, lease: 60_000 }),
    countDue(journal),
    journal.resolve('order-1', 'not_charged', note),
  ];
  for (const failure of await Promise.all(failures.map(catchError))) {
    expect(failure).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: false });
    expect(String(failure)).toContain('Run journal.migrate(), or the text of postgresSchema()');
    expect(Object(failure).message.length).toBeLessThanOrEqual(200);
  }
  expect(service.requests).toEqual([]);
  await journal.migrate();
  await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-2' });
  expect(service.requests).toHaveLength(1);
});

test('does not wait for an open transaction if nothing is to be changed', async () => {
  const table = await createPostgresTable(server);
  await table.migrate();
  await claimKey(await table.open(), 'order-1');
  const other = new Client({ connectionString: server.url });
  await other.connect();
  onTestFinished(() => other.end());
  await other.query('BEGIN');
  await other.query(`UPDATE ${table.name} SET version = version`);
  await table.migrate();
  const { rows } = await other.query('SELECT now() AS still_open');
  expect(rows).toHaveLength(1);
  await other.query('ROLLBACK');
});

test('makes a table in a schema beside one of the same name', async () => {
  const own = new Client({ connectionString: server.url });
  await own.connect();
  onTestFinished(() => own.end());
  await postgresJournal(own, { table: 'twice' }).migrate();
  await own.query('CREATE SCHEMA other');
  const journal = postgresJournal(own, { table: 'other.twice' });
  await journal.migrate();
  await claimKey(journal, 'order-1');
  expect(await listKeys(journal, { state: 'begun' })).toEqual(['order-1']);
  expect(await listKeys(postgresJournal(own, { table: 'twice' }))).toEqual([]);
  const { rows } = await own.query("SELECT schemaname FROM pg_indexes WHERE indexname = 'twice_due_at'");
  expect(rows.map(({ schemaname }) => schemaname).sort()).toEqual(['other', 'public']);
});
