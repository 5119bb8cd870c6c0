import { DatabaseSync } from 'node:sqlite';
import { Client, Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { chargeIntent, claimKey } from '../../helpers/claims.ts';
import { type DatabaseServer, startPostgres } from '../../helpers/databases.ts';
import { claimDueKeys, listKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import {
  createPostgresTable,
  createSqliteHandleTable,
  createSqliteTable,
  OLD_SQLITE_TABLE,
  type SqlTable,
} from './sql-tables.ts';

let server: DatabaseServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server?.stop(), 60_000);

const kinds: [string, () => Promise<SqlTable>][] = [
  ['SQLite', createSqliteTable],
  ['SQLite by a handle', createSqliteHandleTable],
  ['PostgreSQL', () => createPostgresTable(server)],
];

/** Returns the statement with which the version before made its tables in PostgreSQL. */
const oldPostgresTable = (table: string) => `
  CREATE TABLE IF NOT EXISTS "${table}" (
    key text PRIMARY KEY,
    version text NOT NULL,
    record json NOT NULL,
    written_at timestamptz NOT NULL,
    kept_until float8
  );
  CREATE INDEX IF NOT EXISTS "${table}_kept_until" ON "${table}" (kept_until) WHERE kept_until IS NOT NULL;
  CREATE TABLE IF NOT EXISTS "${table}_clock" (
    id int PRIMARY KEY CHECK (id = 1),
    counted float8 NOT NULL,
    told_at timestamptz NOT NULL
  );
  INSERT INTO "${table}_clock" VALUES (1, 0, clock_timestamp()) ON CONFLICT DO NOTHING;`;

/** Returns the record of a charge, as the version before wrote it. */
const oldRecord = (fields: object) => JSON.stringify({ format: 1, ...chargeIntent, ...fields });

/** Milliseconds since 1970. */
const START = 1_700_000_000_000;

/** What the version before did with a table. */
function oldVersion(kind: string, table: SqlTable) {
  const time = kind !== 'PostgreSQL' ? '?' : 'to_timestamp(?::float8 / 1000)';
  return {
    makeTable: async () => {
      if (kind !== 'PostgreSQL') {
        for (const statement of OLD_SQLITE_TABLE.split(';')) if (statement.trim()) await table.run(statement);
      } else await table.run(oldPostgresTable(table.name));
    },
    insert: (key: string, version: string, fields: object, writtenAt: number) =>
      table.run(
        `INSERT INTO ${table.name} AS kept (key, version, record, written_at, kept_until)
        VALUES (?, ?, ?, ${time}, NULL)
        ON CONFLICT (key) DO UPDATE SET version = excluded.version, record = excluded.record,
          written_at = excluded.written_at, kept_until = excluded.kept_until
        WHERE kept.kept_until <= 0`,
        key,
        version,
        oldRecord(fields),
        writtenAt,
      ),
    update: (key: string, version: string, fields: object, writtenAt: number) =>
      table.run(
        `UPDATE ${table.name} SET version = ?, record = ?, written_at = ${time}, kept_until = NULL WHERE key = ?`,
        version,
        oldRecord(fields),
        writtenAt,
        key,
      ),
  };
}

const completed = { state: 'completed', result: { reference: 'TXN-8F2K1', message: 'a\0b' } };

describe.each(kinds)('%s', (kind, createTable) => {
  test('migrates a table of the version before, in place', async () => {
    const table = await createTable();
    const old = oldVersion(kind, table);
    await old.makeTable();
    await old.insert('completed', 'v1', completed, START + 1);
    await old.insert('unknown', 'v2', { state: 'unknown', reference: 'TXN-9A' }, START + 3);
    await old.insert('begun', 'v3', { state: 'begun' }, START + 2);
    await old.insert('rejected', 'v4', { state: 'rejected' }, START + 4);
    const service = JSON.stringify({ format: 1, service: chargeIntent.service });
    await old.insert('\tservice and mode', 'v5', {}, START);
    await table.run(`UPDATE ${table.name} SET record = ? WHERE version = 'v5'`, service);

    await table.migrate();
    await table.migrate();
    const journal = await table.open();
    expect(await listKeys(journal)).toEqual(['completed', 'begun', 'unknown', 'rejected']);
    expect(await listKeys(journal, { state: 'unknown' })).toEqual(['begun', 'unknown']);
    expect(await journal.count()).toMatchObject({ begun: 0, completed: 1, unknown: 2, rejected: 1 });
    expect(await journal.followUps.find('TXN-8F2K1')).toMatchObject([{ key: 'completed' }]);
    expect(await journal.read('unknown')).toMatchObject({ reference: 'TXN-9A', attempts: 1 });
    const { createdAt } = (await journal.read('begun')) ?? {};
    expect(createdAt).toBeCloseTo(START + 2, -3);

    // What nobody has resolved is reported. What was charged before follow-ups existed is not followed.
    const due = await claimDueKeys(journal, { limit: 10, lease: 60_000 });
    expect(due.sort()).toEqual(['begun', 'unknown']);
    expect(await journal.followUps.countDue()).toMatchObject({ due: 0, nextIn: expect.any(Number) });

    expect(await journal.claim('completed', chargeIntent)).toMatchObject({ state: 'completed' });
    expect(await journal.claim('begun', chargeIntent)).toMatchObject({ state: 'unknown' });
    await journal.resolve('begun', 'not_charged', note);
    await claimKey(journal, 'rejected');
    expect(await journal.claim('new', { ...chargeIntent, service: 'other' })).toMatchObject({
      state: 'other_service',
    });
  });

  test('finds what a process of the version before writes afterwards', async () => {
    const table = await createTable();
    await table.migrate();
    const old = oldVersion(kind, table);
    const journal = await table.open();
    await old.insert('order-1', 'v1', { state: 'begun' }, START);
    await old.insert('order-2', 'v2', { state: 'begun' }, Date.now() + 5_000);
    expect(await listKeys(journal, { state: 'unknown' })).toEqual(['order-1']);
    expect(await journal.read('order-2')).toMatchObject({ state: 'begun' });
    expect(await journal.claim('order-1', chargeIntent)).toMatchObject({ state: 'unknown' });
    await old.update('order-1', 'v3', completed, START);
    expect(await listKeys(journal, { state: 'unknown' })).toEqual([]);
    expect(await listKeys(journal, { state: 'completed' })).toEqual(['order-1']);
    expect(await journal.followUps.find('TXN-8F2K1')).toMatchObject([{ key: 'order-1' }]);
    expect(await claimDueKeys(journal, { limit: 10, lease: 60_000 })).toEqual([]);
  });
});

describe('SQLite', () => {
  test('keeps the statements that an older process has prepared', async () => {
    const table = await createSqliteTable();
    const old = oldVersion('SQLite', table);
    await old.makeTable();
    const journal = await table.open();
    const file = new DatabaseSync(table.path, { timeout: 5_000 });
    onTestFinished(() => file.close());
    const insert = file.prepare(
      'INSERT INTO payments (key, version, record, written_at) VALUES (?, ?, ?, ?)',
    );
    const read = file.prepare('SELECT version, record, written_at FROM payments WHERE key = ?');
    insert.run('order-1', 'v1', oldRecord({ state: 'begun' }), START);
    expect(await listKeys(journal, { state: 'unknown' })).toEqual(['order-1']);
    insert.run('order-2', 'v1', oldRecord({ state: 'begun' }), START + 1);
    expect(await listKeys(journal, { state: 'unknown' })).toEqual(['order-1', 'order-2']);
    await journal.resolve('order-1', 'not_charged', note);
    expect(read.get('order-1')).toMatchObject({ record: expect.stringContaining('not_charged') });
  });

  test('migrates in an open transaction, and again after its rollback', async () => {
    const database = new DatabaseSync(':memory:');
    onTestFinished(() => database.close());
    database.exec(OLD_SQLITE_TABLE);
    database
      .prepare('INSERT INTO payments (key, version, record, written_at) VALUES (?, ?, ?, ?)')
      .run('order-1', 'v1', oldRecord({ state: 'unknown' }), START);
    const journal = sqliteJournal(database, { table: 'payments' });
    for (const end of ['ROLLBACK', 'COMMIT']) {
      database.exec('BEGIN');
      expect(await listKeys(journal)).toEqual(['order-1']);
      database.exec(end);
    }
    expect(await claimKey(journal, 'order-2')).toMatchObject({ key: 'order-2' });
    expect(await claimDueKeys(journal, { limit: 10, lease: 60_000 })).toEqual(['order-1']);
  });
});

describe('PostgreSQL', () => {
  test.each(['is missing', 'was made by the version before'])(
    'charges nothing if the table %s, and says to migrate',
    async (how) => {
      const table = await createPostgresTable(server);
      const old = oldVersion('PostgreSQL', table);
      if (how !== 'is missing') {
        await old.makeTable();
        await old.insert('order-1', 'v1', { state: 'unknown' }, START);
      }
      const service = await startService((response) =>
        sendJson(response, 200, successBodies.chargeMobileMoney()),
      );
      const pool = new Pool({ connectionString: server.url });
      onTestFinished(() => pool.end());
      const journal = postgresJournal(pool, { table: table.name });
      const payments = service.client({ journal });
      const failures = [
        payments.chargeMobileMoney(charge, { idempotencyKey: 'order-2' }),
        listKeys(journal),
        journal.count(),
        claimDueKeys(journal, { limit: 10, lease: 60_000 }),
        journal.followUps.countDue(),
        journal.resolve('order-1', 'not_charged', note),
      ];
      for (const failure of await Promise.all(failures.map(catchError))) {
        expect(failure).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: false });
        expect(String(failure)).toContain('Run journal.migrate(), or the text of postgresSchema().');
      }
      expect(service.requests).toEqual([]);
      await journal.migrate();
      await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-2' });
      expect(service.requests).toHaveLength(1);
    },
  );

  test('migrates an old table once when many processes start at once', async () => {
    const table = await createPostgresTable(server);
    const old = oldVersion('PostgreSQL', table);
    await old.makeTable();
    await old.insert('order-1', 'v1', { state: 'unknown' }, START);
    const pool = new Pool({ connectionString: server.url, max: 20 });
    onTestFinished(() => pool.end());
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const journal = postgresJournal(pool, { table: table.name });
        await journal.migrate();
        await claimKey(journal, `new ${index}`);
      }),
    );
    expect(await listKeys(await table.open({ lease: 100_000 }), { state: 'unknown' })).toEqual(['order-1']);
  });

  test('migrates while processes of the version before write', async () => {
    const table = await createPostgresTable(server);
    const old = oldVersion('PostgreSQL', table);
    await old.makeTable();
    await table.run(
      `INSERT INTO ${table.name} (key, version, record, written_at)
      SELECT 'old-' || i, 'v', '${oldRecord(completed)}', now() FROM generate_series(1, 20000) AS i`,
    );
    const pool = new Pool({ connectionString: server.url, max: 8 });
    onTestFinished(() => pool.end());
    const tick = `WITH ticked AS (
      UPDATE ${table.name}_clock SET counted = counted + 1, told_at = clock_timestamp()
      WHERE id IN (SELECT id FROM ${table.name}_clock FOR UPDATE SKIP LOCKED))`;
    let isMigrated = false;
    const writers = Array.from({ length: 8 }, async (_, index) => {
      const keys: string[] = [];
      for (let count = 0; !isMigrated || count < 5; count++) {
        const key = `new-${index}-${count}`;
        await pool.query(
          `${tick} INSERT INTO ${table.name} AS kept (key, version, record, written_at, kept_until)
          SELECT $1, 'v1', $2::json, clock_timestamp(), NULL`,
          [key, oldRecord({ state: 'begun' })],
        );
        await pool.query(
          `${tick} UPDATE ${table.name} AS kept SET version = 'v2', record = $2::json,
            (written_at, kept_until) = ROW(clock_timestamp(), (SELECT counted FROM ${table.name}_clock))
          FROM (SELECT 1) AS durable WHERE kept.key = $1 AND kept.version = 'v1'`,
          [key, oldRecord({ state: 'rejected' })],
        );
        keys.push(key);
      }
      return keys;
    });
    await table.migrate();
    isMigrated = true;
    const keys = (await Promise.all(writers)).flat();
    const listed = await listKeys(await table.open(), { state: 'rejected' });
    expect(listed.toSorted()).toEqual(keys.toSorted());
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

  test('migrates a table in a schema beside one of the same name', async () => {
    const own = new Client({ connectionString: server.url });
    await own.connect();
    onTestFinished(() => own.end());
    await postgresJournal(own, { table: 'twice' }).migrate();
    await own.query('CREATE SCHEMA other; SET search_path = other');
    await own.query(oldPostgresTable('twice'));
    await own.query('SET search_path = public');
    const journal = postgresJournal(own, { table: 'other.twice' });
    await journal.migrate();
    await claimKey(journal, 'order-1');
    expect(await listKeys(journal, { state: 'begun' })).toEqual(['order-1']);
    expect(await listKeys(postgresJournal(own, { table: 'twice' }))).toEqual([]);
    const { rows } = await own.query("SELECT schemaname FROM pg_indexes WHERE indexname = 'twice_due_at'");
    expect(rows.map(({ schemaname }) => schemaname).sort()).toEqual(['other', 'public']);
  });
});
