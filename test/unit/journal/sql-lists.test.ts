import { beforeAll, describe, expect, test } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import { claimKey, completeKey, tryClaim } from '../../helpers/claims.ts';
import { claimDueKeys, listKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import { createDatabase, type Database } from '../../helpers/use-database.ts';
import {
  CREATED_AT,
  createPostgresTable,
  createSqliteHandleTable,
  createSqliteTable,
  insertRecords,
  recordText,
  type SqlTable,
} from './sql-tables.ts';

let english: Database;
beforeAll(async () => {
  // It sorts text as a language does, not by its bytes.
  english = await createDatabase("TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'");
});

const kinds: [string, () => Promise<SqlTable>][] = [
  ['SQLite', createSqliteTable],
  ['SQLite by a handle', createSqliteHandleTable],
  ['PostgreSQL', () => createPostgresTable(english)],
];

const createdAt = CREATED_AT;

describe.each(kinds)('%s', (_kind, createTable) => {
  test('lists the keys of a state, oldest first', async () => {
    const table = await createTable();
    await table.migrate();
    const journal = await table.open();
    await insertRecords(table, [
      { key: 'order-3', createdAt: createdAt + 3 },
      { key: 'order-1', createdAt: createdAt + 1 },
      { key: 'order-2', createdAt: createdAt + 2, state: 'rejected' },
      { key: 'order-4', createdAt: createdAt + 4, state: 'begun' },
    ]);
    await completeKey(journal, 'order-5', { state: 'not_sent' });
    expect(await listKeys(journal)).toEqual(['order-1', 'order-2', 'order-3', 'order-4', 'order-5']);
    expect(await listKeys(journal, { state: 'unknown' })).toEqual(['order-1', 'order-3', 'order-4']);
    expect(await listKeys(journal, { state: 'unknown', limit: 2 })).toEqual(['order-1', 'order-3']);
    expect(await listKeys(journal, { state: 'begun' })).toEqual([]);
    expect(await listKeys(journal, { state: 'rejected' })).toEqual(['order-2']);
    const counts = {
      begun: 0,
      completed: 0,
      not_sent: 1,
      rejected: 1,
      unknown: 3,
      not_charged: 0,
      closed: 0,
    };
    expect(await journal.count()).toEqual(counts);
    await table.migrate();
    expect(await journal.count()).toEqual(counts);
  });

  test('lists 250 keys of one time in pages, each once, in order', async () => {
    const table = await createTable();
    await table.migrate();
    // In the order of their bytes, which a language might sort in another way.
    const keys = Array.from({ length: 250 }, (_, index) => `${['A', 'a', 'B', 'é', '_'][index % 5]}${index}`);
    await insertRecords(
      table,
      keys.map((key) => ({ key })),
    );
    const listed = await listKeys(await table.open(), { state: 'unknown' });
    expect(listed).toEqual(
      keys.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other))),
    );
  });

  test("leaves out the journal's own records", async () => {
    const table = await createTable();
    await table.migrate();
    const journal = await table.open();
    await completeKey(journal, 'order-1', { state: 'unknown' });
    await journal.resolve('order-1', { reference: 'TXN-found' }, note);
    // The service of the journal, and the reservation of the reference.
    expect(await table.run(`SELECT key FROM ${table.name}`)).toHaveLength(3);
    expect(await listKeys(journal)).toEqual(['order-1']);
    expect(Object.values(await journal.count()).reduce((sum, count) => sum + count)).toBe(1);
    expect(await getJournalCore(journal).followUps.find('TXN-found')).toHaveLength(1);
    expect(await claimDueKeys(journal, { limit: 10, lease: 1_000 })).toHaveLength(1);
    expect(await table.run(`SELECT key FROM ${table.name} WHERE state IS NOT NULL`)).toEqual([
      { key: 'order-1' },
    ]);
  });

  test('lists what it can read, then names the record of a newer version', async () => {
    const table = await createTable();
    await table.migrate();
    const journal = await table.open();
    await insertRecords(table, [
      { key: 'order-1', text: recordText({ format: 3 }) },
      { key: 'order-2', createdAt: createdAt + 1 },
    ]);
    const listed: string[] = [];
    const failure = await catchError(
      (async () => {
        for await (const { key } of journal.list({ state: 'unknown' })) listed.push(key);
      })(),
    );
    expect(listed).toEqual(['order-2']);
    expect(failure).toMatchObject({ name: 'JournalError', outcome: 'unknown' });
    expect(String(failure)).toContain('"order-1"');
    expect(await catchError(tryClaim(journal, 'order-1'))).toMatchObject({
      outcome: 'unknown',
    });
    expect(await claimDueKeys(journal, { limit: 10, lease: 1_000 })).toEqual([]);
  });

  test('records a result with a NUL and half a character', async () => {
    const table = await createTable();
    await table.migrate();
    const journal = await table.open();
    const claim = await claimKey(journal, 'order-1');
    const result = { reference: 'TXN-8F2k1', message: 'a\0b \ud83d \\u0000 \\ud83d \\' };
    expect(await getJournalCore(journal).complete(claim, { state: 'completed', result })).toBe(true);
    expect(await tryClaim(journal, 'order-1')).toEqual({
      state: 'completed',
      result,
    });
    expect(await listKeys(journal, { state: 'completed' })).toEqual(['order-1']);
    expect(await listKeys(journal, { reference: 'TXN-8F2k1' })).toEqual(['order-1']);
  });
});

test('SQLite names a damaged record, and lists all others', async () => {
  const table = await createSqliteTable();
  await table.migrate();
  const journal = await table.open();
  await claimKey(journal, 'order-1');
  await completeKey(journal, 'order-2', { state: 'unknown' });
  await table.run(`UPDATE ${table.name} SET record = substr(record, 1, 50) WHERE key = 'order-1'`);
  expect(String(await catchError(listKeys(journal, { state: 'unknown' })))).toContain('"order-1"');
  expect(await listKeys(journal, { state: 'unknown', limit: 1 })).toEqual(['order-2']);
  expect(await claimKey(journal, 'order-3')).toMatchObject({ key: 'order-3' });
});
