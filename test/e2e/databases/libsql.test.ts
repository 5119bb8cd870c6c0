import { join } from 'node:path';
import { type Client, type Config, createClient } from '@libsql/client';
import { expect, onTestFinished, test } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import type { Journal } from '../../../src/journal/index.ts';
import { fromLibsql, sqliteJournal } from '../../../src/journal/sqlite.ts';
import { claimKey, completeKey, countDue, tryClaim } from '../../helpers/claims.ts';
import { claimDueKeys, listKeys } from '../../helpers/listed-keys.ts';
import { catchError } from '../../helpers/service.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';
import { database } from './kinds/libsql.ts';
import { lockFile } from './sqlite-file.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('libsql', database, { statementsOf: 'libsql-server' });

function openFile(config: Partial<Config> = {}): { client: Client; journal: Journal } {
  const folder = createTempFolder();
  const client = createClient({ url: `file:${join(folder.path, 'payments.db')}`, ...config });
  onTestFinished(() => {
    client.close();
    folder.remove();
  });
  return { client, journal: sqliteJournal(fromLibsql(client)) };
}

async function readPragma(client: Client, name: string): Promise<unknown> {
  const { rows } = await client.execute(`PRAGMA ${name}`);
  return rows[0]?.[name];
}

test('sets WAL mode, and syncs each commit to disk', async () => {
  const { client, journal } = openFile({ concurrency: 1 });
  await claimKey(journal, 'order-1');
  expect(await readPragma(client, 'journal_mode')).toBe('wal');
  for (const level of ['OFF', 'NORMAL']) {
    await client.executeMultiple(`PRAGMA synchronous = ${level}`);
    await claimKey(journal, `order-${level}`);
    expect(await readPragma(client, 'synchronous')).toBe(2);
  }
});

test('refuses a Transaction, and what is no client', async () => {
  const { client } = openFile();
  const transaction = await client.transaction('deferred');
  onTestFinished(() => transaction.close());
  expect(() => Reflect.apply(fromLibsql, undefined, [transaction])).toThrow(
    expect.objectContaining({ name: 'ConfigurationError', message: expect.stringContaining('Transaction') }),
  );
  for (const other of [undefined, null, {}, { batch() {} }, 'file:payments.db'])
    expect(() => Reflect.apply(fromLibsql, undefined, [other])).toThrow('fromLibsql takes a client');
  expect(() => Reflect.apply(sqliteJournal, undefined, [client])).toThrow('what fromLibsql');
});

test('waits for a transaction of the same client, and is no part of it', async () => {
  const { client, journal } = openFile();
  await claimKey(journal, 'order-0');
  const writing = await client.transaction('write');
  await writing.execute('CREATE TABLE orders (id TEXT)');
  let isClaimed = false;
  const claiming = claimKey(journal, 'order-1').then(() => {
    isClaimed = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(isClaimed).toBe(false);
  await writing.rollback();
  await claiming;
  const reading = await client.transaction('deferred');
  await reading.execute('SELECT 1');
  await claimKey(journal, 'order-2');
  await reading.rollback();
  expect(await journal.read('order-2')).toMatchObject({ state: 'begun' });
});

test('records nothing if a transaction of the only connection is open', async () => {
  const { client, journal } = openFile({ concurrency: 1 });
  await claimKey(journal, 'order-0');
  const transaction = await client.transaction('write');
  expect(await catchError(tryClaim(journal, 'order-1'))).toMatchObject({
    name: 'JournalError',
    outcome: 'not_sent',
    retryable: true,
  });
  await transaction.rollback();
  expect(await journal.read('order-1')).toBeNull();
});

test('reads while another connection writes', async () => {
  const { client, journal } = openFile();
  await claimKey(journal, 'order-1');
  const transaction = await client.transaction('write');
  onTestFinished(() => transaction.close());
  await transaction.execute('CREATE TABLE orders (id TEXT)');
  expect(await journal.read('order-1')).toMatchObject({ state: 'begun' });
  expect(await listKeys(journal)).toEqual(['order-1']);
});

test('charges again once a lock of another process has ended', async () => {
  const folder = createTempFolder();
  const place = join(folder.path, 'payments.db');
  const client = createClient({ url: `file:${place}` });
  const journal = sqliteJournal(fromLibsql(client));
  await claimKey(journal, 'order-1');
  const release = await lockFile(place);
  onTestFinished(async () => {
    await release();
    client.close();
    folder.remove();
  });
  const claims = Array.from({ length: 30 }, (_, index) => tryClaim(journal, `order-1${index}`));
  for (const error of await Promise.all(claims.map(catchError)))
    expect(error).toMatchObject({ outcome: 'not_sent' });
  await release();
  await Promise.all(claims.map((_, index) => claimKey(journal, `order-2${index}`)));
});

test('keeps a record if BEGIN and ROLLBACK are run on the client', async () => {
  const { client, journal } = openFile({ concurrency: 1 });
  await claimKey(journal, 'order-0');
  await client.execute('BEGIN');
  await claimKey(journal, 'order-1');
  await catchError(client.execute('ROLLBACK'));
  expect(await journal.read('order-1')).toMatchObject({ state: 'begun' });
});

test.each(['number', 'bigint', 'string'] as const)('works with integers as %s', async (intMode) => {
  const { journal } = openFile({ intMode });
  const claim = await claimKey(journal, 'order-1');
  expect(await countDue(journal)).toEqual({
    due: 0,
    nextIn: expect.closeTo(10_000, -4),
  });
  await getJournalCore(journal).complete(claim, { state: 'unknown' });
  expect(await journal.read('order-1')).toMatchObject({ state: 'unknown' });
  expect(await listKeys(journal, { state: 'unknown' })).toEqual(['order-1']);
  expect(await journal.count()).toMatchObject({ unknown: 1 });
  expect(await claimDueKeys(journal)).toEqual(['order-1']);
});

test('works in memory', async () => {
  const { journal } = openFile({ url: ':memory:' });
  await completeKey(journal, 'order-1', { state: 'not_sent' });
  expect(await journal.read('order-1')).toMatchObject({ state: 'not_sent' });
});

test('charges nothing on a closed client', async () => {
  const { client, journal } = openFile();
  await claimKey(journal, 'order-0');
  client.close();
  expect(await catchError(tryClaim(journal, 'order-1'))).toMatchObject({
    name: 'JournalError',
    outcome: 'not_sent',
    retryable: true,
  });
});
