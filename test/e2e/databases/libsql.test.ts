import { join } from 'node:path';
import { type Client, type Config, createClient } from '@libsql/client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { fromLibsql, sqliteJournal } from '../../../src/stores/sqlite/index.ts';
import { catchError } from '../../helpers/service.ts';
import { expectNumbers } from '../../helpers/sqlite-drivers.ts';
import { openHandleStore } from '../../helpers/sqlite-stores.ts';
import { firstWrite } from '../../helpers/store-writes.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';
import { database } from './kinds/libsql.ts';
import { lockFile } from './sqlite-file.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('libsql', database, { statementsOf: 'libsql-server' });

function openFile(config: Partial<Config> = {}) {
  const folder = createTempFolder();
  const place = join(folder.path, 'payments.db');
  const client = createClient({ url: `file:${place}`, ...config });
  onTestFinished(() => {
    client.close();
    folder.remove();
  });
  const store = openHandleStore(fromLibsql(client));
  return { client, place, ...store, add: (key: string) => store.write(key, firstWrite()) };
}

async function readPragma(client: Client, name: string): Promise<unknown> {
  const { rows } = await client.execute(`PRAGMA ${name}`);
  return rows[0]?.[name];
}

test('sets WAL mode, and syncs each commit to disk', async () => {
  const { client, add } = openFile({ concurrency: 1 });
  await add('order-1');
  expect(await readPragma(client, 'journal_mode')).toBe('wal');
  for (const level of ['OFF', 'NORMAL']) {
    await client.executeMultiple(`PRAGMA synchronous = ${level}`);
    await add(`order-${level}`);
    expect(await readPragma(client, 'synchronous')).toBe(2);
  }
});

test('refuses a Transaction, and takes no client as it is', async () => {
  const { client } = openFile();
  const transaction = await client.transaction('deferred');
  onTestFinished(() => transaction.close());
  expect(() => Reflect.apply(fromLibsql, undefined, [transaction])).toThrow('Transaction');
  expect(() => Reflect.apply(sqliteJournal, undefined, [client])).toThrow('what fromLibsql');
});

test('waits for a transaction of the same client, reads meanwhile, and is no part of it', async () => {
  const { client, add, read } = openFile();
  await add('order-0');
  const writing = await client.transaction('write');
  await writing.execute('CREATE TABLE orders (id TEXT)');
  const written = vi.fn();
  const adding = add('order-1').then(written);
  expect(await read('order-0')).toMatchObject({ record: { version: 'v1' } });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(written).not.toHaveBeenCalled();
  await writing.rollback();
  await adding;
  expect(written).toHaveBeenCalledWith(true);
  const reading = await client.transaction('deferred');
  await reading.execute('SELECT 1');
  expect(await add('order-2')).toBe(true);
  await reading.rollback();
  expect(await read('order-2')).toMatchObject({ record: { version: 'v1' } });
});

test('writes nothing if a transaction of the only connection is open', async () => {
  const { client, add, read } = openFile({ concurrency: 1 });
  await add('order-0');
  const transaction = await client.transaction('write');
  expect(String(await catchError(add('order-1')))).toContain('TRANSACTION_ACTIVE');
  await transaction.rollback();
  expect(await read('order-1')).toMatchObject({ record: null });
  // One that was begun by a statement is not that of the store.
  await client.execute('BEGIN');
  await add('order-2');
  await catchError(client.execute('ROLLBACK'));
  expect(await read('order-2')).toMatchObject({ record: { version: 'v1' } });
});

test('writes again once a lock of another process has ended', async () => {
  const { place, add } = openFile();
  await add('order-1');
  const release = await lockFile(place);
  onTestFinished(release);
  const numbers = Array.from({ length: 30 }, (_, index) => index);
  for (const error of await Promise.all(numbers.map((number) => catchError(add(`order-1${number}`)))))
    expect(String(error)).toContain('database is locked');
  await release();
  const written = await Promise.all(numbers.map((number) => add(`order-2${number}`)));
  expect(written).toEqual(numbers.map(() => true));
});

test.each(['number', 'bigint', 'string'] as const)('works with integers as %s', (intMode) =>
  expectNumbers(openFile({ intMode })),
);

test('works in memory, and rejects on a closed client', async () => {
  const { client, add, read } = openFile({ url: ':memory:' });
  await add('order-1');
  expect(await read('order-1')).toMatchObject({ record: { version: 'v1' } });
  client.close();
  expect(String(await catchError(add('order-2')))).toContain('CLIENT_CLOSED');
});
