import { DatabaseSync } from 'node:sqlite';
import { Client, Pool } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import { MAX_DUE_IN } from '../../../src/journal/index.ts';
import { fromQuery, postgresJournal } from '../../../src/journal/postgres.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { claimKey, completeKey, countDue } from '../../helpers/claims.ts';
import { claimDueKeys } from '../../helpers/listed-keys.ts';
import { catchError } from '../../helpers/service.ts';
import { useDatabase } from '../../helpers/use-database.ts';
import {
  createPostgresTable,
  createSqliteHandleTable,
  createSqliteTable,
  type SqlTable,
} from './sql-tables.ts';

const server = useDatabase();

const kinds: [string, () => Promise<SqlTable>][] = [
  ['SQLite', createSqliteTable],
  ['SQLite by a handle', createSqliteHandleTable],
  ['PostgreSQL', () => createPostgresTable(server)],
];

const HOUR = 60 * 60 * 1000;

/** Completes a key whose first check is due after `firstCheckIn` milliseconds. */
async function chargeDueIn(
  journal: Awaited<ReturnType<SqlTable['open']>>,
  key: string,
  firstCheckIn: number,
): Promise<void> {
  const result = { reference: `TXN-${key}` };
  await completeKey(journal, key, {
    state: 'completed',
    result,
    firstCheckIn,
  });
}

describe.each(kinds)('%s', (kind, createTable) => {
  /** Returns the time at which a record is due, from now on. */
  const dueIn = async (table: SqlTable, key: string) => {
    const due = kind !== 'PostgreSQL' ? 'due_at' : 'extract(epoch FROM due_at) * 1000';
    const [row] = await table.run(`SELECT ${due} AS due_at FROM ${table.name} WHERE key = ?`, key);
    return row?.due_at == null ? null : Number(row.due_at) - Date.now();
  };

  test('accepts a completion during the lease of a follow-up', async () => {
    const table = await createTable();
    await table.migrate();
    const journal = await table.open();
    const claim = await claimKey(journal, 'order-1');
    table.setAhead(HOUR / 2);
    expect(await claimDueKeys(journal, { limit: 10, lease: 30_000.5 })).toHaveLength(1);
    expect(await getJournalCore(journal).renew(claim)).toMatchObject({ version: expect.any(String) });
    expect(await getJournalCore(journal).complete(claim, { state: 'rejected' })).toBe(true);
    expect(await countDue(journal)).toEqual({
      due: 0,
      nextIn: null,
    });
  });

  test('does not return a key that is claimed with a lease of a day', async () => {
    const table = await createTable();
    await table.migrate();
    const journal = await table.open({ lease: 24 * HOUR });
    const claim = await claimKey(journal, 'order-1');
    expect(await claimDueKeys(journal)).toEqual([]);
    expect(await getJournalCore(journal).renew(claim)).not.toBeNull();
    expect(await claimDueKeys(journal)).toEqual([]);
    expect(await countDue(journal)).toMatchObject({ due: 0 });
  });

  test('sets when a record is due at each write', async () => {
    const table = await createTable();
    await table.migrate();
    const journal = await table.open({ lease: 20_000 });
    const claim = await claimKey(journal, 'order-1');
    const near = (milliseconds: number) => expect.closeTo(milliseconds, -4);
    expect(await dueIn(table, 'order-1')).toEqual(near(20_000));
    const result = { reference: 'TXN-1' };
    await getJournalCore(journal).complete(claim, { state: 'completed', result, firstCheckIn: 60_000.5 });
    expect(await dueIn(table, 'order-1')).toEqual(near(60_000));
    const [record] = await getJournalCore(journal).followUps.find('TXN-1');
    if (!record) throw new Error('no record');
    const step = { checks: 1, reported: [] };
    const updated = await getJournalCore(journal).followUps.update(record, step, 120_000);
    expect(await dueIn(table, 'order-1')).toEqual(near(120_000));
    // The record that it was is there no more.
    expect(await getJournalCore(journal).followUps.update(record, step, 0)).toBeNull();
    if (!updated) throw new Error('not updated');
    expect(await getJournalCore(journal).followUps.update(updated, step, null)).toMatchObject({
      key: 'order-1',
    });
    expect(await dueIn(table, 'order-1')).toBeNull();
    expect(await countDue(journal)).toEqual({
      due: 0,
      nextIn: null,
    });
  });

  test('returns what is due too late, since a clock went back', async () => {
    const table = await createTable();
    await table.migrate();
    const journal = await table.open();
    table.setAhead(0);
    await chargeDueIn(journal, 'order-1', MAX_DUE_IN - 5_000);
    table.setAhead(24 * HOUR);
    await chargeDueIn(journal, 'order-3', 2_000);
    await chargeDueIn(journal, 'order-2', 1_000);
    table.setAhead(0);
    await chargeDueIn(journal, 'order-4', 0);
    table.setAhead(1_000);
    expect(await countDue(journal)).toEqual({
      due: 3,
      nextIn: expect.closeTo(MAX_DUE_IN, -5),
    });
    const claimed: string[] = [];
    for (let count = 0; count < 2; count++)
      claimed.push(...(await claimDueKeys(journal, { limit: 2, lease: 30_000 })));
    expect(claimed).toEqual(['order-4', 'order-2', 'order-3']);
    expect(await countDue(journal)).toMatchObject({
      due: 0,
      nextIn: expect.closeTo(30_000, -4),
    });
  });
});

test('SQLite refuses to claim what is due inside a transaction', async () => {
  const database = new DatabaseSync(':memory:');
  onTestFinished(() => database.close());
  const journal = sqliteJournal(database);
  await chargeDueIn(journal, 'order-1', 0);
  const claim = { limit: 10, lease: 60_000 };
  database.exec('BEGIN');
  expect(await catchError(claimDueKeys(journal, claim))).toMatchObject({
    name: 'JournalError',
    message: expect.stringContaining('inside a transaction'),
  });
  expect(await countDue(journal)).toMatchObject({ due: 1 });
  database.exec('COMMIT');
  expect(await claimDueKeys(journal, claim)).toHaveLength(1);
});

describe('PostgreSQL', () => {
  test.each(['read\\ committed', 'repeatable\\ read', 'serializable'])(
    'shares due keys with the isolation level %s',
    async (level) => {
      const pool = new Pool({
        connectionString: server.url,
        options: `-c default_transaction_isolation=${level}`,
      });
      onTestFinished(() => pool.end());
      const table = await createPostgresTable(server);
      await table.migrate();
      const journal = postgresJournal(pool, { table: table.name });
      for (let index = 0; index < 60; index++) await chargeDueIn(journal, `order-${index}`, 0);
      const claimed = await Promise.all(
        Array.from({ length: 10 }, () => claimDueKeys(journal, { limit: 6, lease: 60_000 })),
      );
      expect(new Set(claimed.flat()).size).toBe(60);
      expect(claimed.flat()).toHaveLength(60);
    },
  );

  test.each(['pg', 'a handle'])(
    'records a step again that lost to another transaction: %s',
    async (driver) => {
      const table = await createPostgresTable(server);
      await table.migrate();
      const pool = new Pool({ connectionString: server.url });
      onTestFinished(() => pool.end());
      let overtaken = 0;
      const overtake = (sql: string) => {
        if (!sql.includes('UPDATE') || !sql.includes('version = $10') || overtaken >= 2) return;
        overtaken++;
        throw Object.assign(new Error('could not serialize access'), { code: '40001' });
      };
      const connect = async () => {
        const client = new Client({ connectionString: server.url });
        await client.connect();
        onTestFinished(() => client.end());
        return {
          query: async (sql: string, values?: unknown[]) => {
            overtake(sql);
            return client.query(sql, values);
          },
          getTransactionStatus: () => client.getTransactionStatus(),
        };
      };
      const own =
        driver === 'pg'
          ? await connect()
          : fromQuery((sql, values) => {
              overtake(sql);
              return pool.query(sql, values);
            });
      const other = await table.open();
      await chargeDueIn(other, 'order-1', 0);
      const journal = postgresJournal(own, { table: table.name });
      const [due] = await getJournalCore(journal).followUps.claimDue({
        kind: 'key',
        limit: 1,
        lease: 60_000,
      });
      if (!due) throw new Error('nothing is due');
      const step = { checks: 1, reported: [] };
      const updated = await getJournalCore(journal).followUps.update(due, step, 120_000);
      expect(overtaken).toBe(2);
      expect(updated).toMatchObject({ key: 'order-1' });
      // Another process was first: this step is not recorded, however often it is tried.
      overtaken = 0;
      expect(await getJournalCore(journal).followUps.update(due, step, 0)).toBeNull();
    },
  );

  test('skips a record that a transaction holds, and returns it later', async () => {
    const table = await createPostgresTable(server);
    await table.migrate();
    const journal = await table.open();
    await chargeDueIn(journal, 'order-1', 0);
    await chargeDueIn(journal, 'order-2', 0);
    const other = new Client({ connectionString: server.url });
    await other.connect();
    onTestFinished(() => other.end());
    await other.query('BEGIN');
    await other.query(`SELECT FROM ${table.name} WHERE key = 'order-1' FOR UPDATE`);
    const claim = { limit: 10, lease: 60_000 };
    expect(await claimDueKeys(journal, claim)).toEqual(['order-2']);
    await other.query('ROLLBACK');
    expect(await claimDueKeys(journal, claim)).toEqual(['order-1']);
  });

  test('refuses to claim what is due inside a transaction', async () => {
    const table = await createPostgresTable(server);
    await table.migrate();
    const client = new Client({ connectionString: server.url });
    await client.connect();
    onTestFinished(() => client.end());
    const journal = postgresJournal(client, { table: table.name });
    await chargeDueIn(journal, 'order-1', 0);
    const claim = { limit: 10, lease: 60_000 };
    await client.query('BEGIN');
    expect(await catchError(claimDueKeys(journal, claim))).toMatchObject({
      name: 'JournalError',
      message: expect.stringContaining('inside a transaction'),
    });
    expect(await countDue(journal)).toMatchObject({ due: 1 });
    await client.query('COMMIT');
    expect(await claimDueKeys(journal, claim)).toHaveLength(1);
  });
});
