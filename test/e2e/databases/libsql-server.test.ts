import { join } from 'node:path';
import { type Client, type Config, createClient } from '@libsql/client';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { journalConformance } from '../../../src/developers/mock/index.ts';
import { fromLibsql } from '../../../src/stores/sqlite/index.ts';
import { catchError } from '../../helpers/service.ts';
import { openHandleStore } from '../../helpers/sqlite-stores.ts';
import { firstWrite } from '../../helpers/store-writes.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';
import { database } from './kinds/libsql-server.ts';
import { type LibsqlServer, startLibsqlServer } from './libsql-server.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('libsql-server', database);

const HOUR = 60 * 60 * 1000;

describe.skipIf(database.missing !== undefined)('a client of a server', () => {
  let server: LibsqlServer;
  beforeAll(async () => {
    server = await startLibsqlServer();
  });
  afterAll(() => server?.stop());

  let tables = 0;
  const connect = (config: Partial<Config> = {}): Client => {
    const client = createClient({ url: server.place, ...config });
    onTestFinished(() => client.close());
    return client;
  };
  const openTable = (client: Client, table = `payments_${++tables}`) => {
    const store = openHandleStore(fromLibsql(client), table);
    return {
      ...store,
      add: (key: string, dueAt?: number) => store.write(key, firstWrite({ dueAt: dueAt ?? null })),
    };
  };

  describe('over WebSocket conforms', () => {
    const cases = journalConformance((table) => {
      const client = createClient({ url: server.place.replace('http:', 'ws:'), concurrency: 4 });
      return { store: openHandleStore(fromLibsql(client), table), close: () => client.close() };
    });
    test.each(cases)('$name', ({ run }) => run());
  });

  test('sends each write as one request, and does not repeat it', async () => {
    let isLost = false;
    const sent: string[] = [];
    const send = async (request: Request) => {
      if (!request.url.endsWith('/pipeline')) return fetch(request);
      sent.push(request.url);
      const response = await fetch(request);
      if (!isLost) return response;
      await response.arrayBuffer();
      throw new TypeError('the response was lost');
    };
    const client = connect({ fetch: send });
    const { batch } = fromLibsql(client);
    await batch([{ sql: 'CREATE TABLE counted (id INTEGER)', values: [] }]);
    sent.length = 0;
    isLost = true;
    const statements = ['INSERT INTO counted VALUES (1)', 'INSERT INTO counted VALUES (2) RETURNING id'];
    const writing = batch(statements.map((sql) => ({ sql, values: [] })));
    expect(String(await catchError(writing))).toContain('the response was lost');
    expect(sent).toHaveLength(1);
    isLost = false;
    const [rows] = await batch([{ sql: 'SELECT count(*) AS records FROM counted', values: [] }]);
    expect(rows).toMatchObject([{ records: 2 }]);
  });

  test("uses the server's clock, not that of the process", async () => {
    const table = `payments_${++tables}`;
    const day = 24 * 60 * 60 * 1000;
    const start = Date.now();
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ['Date'], now: start - day });
    const { add, read } = openTable(connect(), table);
    await add('order-1', start + HOUR);
    expect(await read('order-1')).toMatchObject({ now: expect.closeTo(start, -6) });
    vi.setSystemTime(start + day);
    const { countDue } = openTable(connect(), table);
    expect(await countDue({ kind: 'key' })).toEqual({ due: 0, nextIn: expect.closeTo(HOUR, -6) });
  });

  test('is no part of a transaction of the same client', async () => {
    const client = connect();
    const { add, read, count } = openTable(client);
    await add('order-0');
    const transaction = await client.transaction('write');
    await transaction.execute('CREATE TABLE rolled_back (id TEXT)');
    const adding = add('order-1');
    await transaction.rollback();
    await adding;
    expect(await read('order-1')).toMatchObject({ record: { version: 'v1' } });
    // Neither is it a part of one that was begun by a statement.
    await client.execute('BEGIN');
    await add('order-2');
    await catchError(client.execute('ROLLBACK'));
    expect(await count()).toMatchObject({ records: 3 });
  });

  test('sees every write of the primary at once through a replica', async () => {
    const replica = await startLibsqlServer(server.primary);
    onTestFinished(() => replica.stop());
    const table = `payments_${++tables}`;
    const primary = openTable(connect(), table);
    const other = openTable(connect({ url: replica.place }), table);
    for (let index = 0; index < 30; index++) {
      await primary.add(`order-${index}`);
      expect(await other.read(`order-${index}`)).toMatchObject({ record: { version: 'v1' } });
      expect(await other.add(`order-${index}`)).toBe(false);
    }
    expect(await other.count()).toMatchObject({ records: 30 });
  });

  test('refuses an embedded replica', async () => {
    const folder = createTempFolder();
    onTestFinished(() => folder.remove());
    const client = connect({ url: `file:${join(folder.path, 'replica.db')}`, syncUrl: server.place });
    expect(await catchError(openTable(client).add('order-1'))).toMatchObject({
      name: 'JournalError',
      outcome: 'not_sent',
      retryable: false,
      message: expect.stringContaining('embedded replica'),
    });
  });
});
