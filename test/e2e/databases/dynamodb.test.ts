import type { DynamoDB } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { dynamodbStore } from '../../../examples/journals/dynamodb.ts';
import { journalTable } from '../../../examples/journals/dynamodb-table.ts';
import { OutcomeUnknownError } from '../../../src/index.ts';
import { createJournal, type ListedRecord, type RecordChange } from '../../../src/stores/index.ts';
import { catchError } from '../../helpers/service.ts';
import { change, changeWith, claimKeys, listAttention } from '../../helpers/store-writes.ts';
import { startCuttingProxy } from '../../helpers/tcp-proxy.ts';
import { startCountingService } from './counting-service.ts';
import type { RunningDatabase } from './database.ts';
import { createDynamoDB, database, untilUsable } from './kinds/dynamodb.ts';
import { chargeOrder, createClient } from './shop.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('dynamodb', database);

describe('the store on DynamoDB', () => {
  let running: RunningDatabase;
  let tables = 0;
  beforeAll(async () => {
    running = await database.start();
  });
  afterAll(() => running?.stop());

  const connect = (place = running.place): DynamoDB => {
    const client = createDynamoDB(place);
    onTestFinished(() => client.destroy());
    return client;
  };
  const createTable = async () => {
    tables++;
    const TableName = `journal-${tables}`;
    const client = connect();
    await client.createTable({ ...journalTable, TableName });
    await untilUsable(client, TableName);
    return TableName;
  };

  test('writes once if the response is lost, and knows that it did', async () => {
    const table = await createTable();
    const writeLost = async (given: RecordChange) => {
      const proxy = await startCuttingProxy(running.place, (data) => data.includes('PutItem'));
      expect(await dynamodbStore(connect(proxy.url), table).write('order-17', given)).toBe(true);
      expect(proxy.cuts()).toBe(1);
    };
    await writeLost(change);
    await writeLost({ ...change, expected: 'v1', version: 'v2' });
    const store = dynamodbStore(connect(), table);
    expect(await store.write('order-17', { ...change, expected: 'v1', version: 'v3' })).toBe(false);
    expect((await store.read('order-17')).record?.version).toBe('v2');
  });

  test('lists all records, also if they are more than a page of 1 MB', async () => {
    const store = dynamodbStore(connect(), await createTable());
    const keys = Array.from({ length: 60 }, (_, index) => `order-${index}`);
    const text = JSON.stringify('x'.repeat(300_000));
    for (const [createdAt, key] of keys.entries())
      await store.write(key, { ...changeWith({ createdAt, attentionAt: createdAt, dueAt: 1 }), text });
    for (const by of ['createdAt', 'attentionAt'] as const) {
      const listed = await store.list?.({ by, after: null, limit: 100 });
      expect(listed?.map(({ key }) => key)).toEqual(keys);
    }
    expect(await store.count?.()).toEqual({ records: keys.length, attention: keys.length });
    expect(await store.countDue?.({ kind: 'key' })).toEqual({ due: keys.length, nextIn: null });
  });

  test('lists nothing more if the clock was set back since the last page', async () => {
    const store = dynamodbStore(connect(), await createTable());
    const { now } = await store.read('order-17');
    await store.write('order-17', changeWith({ attentionAt: 1 }));
    const after = { at: now + 60 * 60 * 1000, key: 'order-16' };
    expect(await store.list?.({ ...listAttention, after })).toEqual([]);
  });

  test('finds records of keys that are longer than a sort key', async () => {
    const store = dynamodbStore(connect(), await createTable());
    // One byte less and one more than fits.
    const keys = [1001, 1003].flatMap((bytes) => {
      const start = `key ${'\u6ce8'.repeat(300)}`;
      return ['a', 'b'].map((end) => start + end.repeat(bytes - Buffer.byteLength(start)));
    });
    for (const key of keys)
      expect(await store.write(key, changeWith({ attentionAt: 1, dueAt: 1 }))).toBe(true);
    let after: { at: number; key: string } | null = null;
    const listed: string[] = [];
    for (let pages = 0; pages < keys.length; pages++) {
      const page: readonly ListedRecord[] = (await store.list?.({ ...listAttention, after, limit: 1 })) ?? [];
      listed.push(...page.map(({ key }) => key));
      after = page[0] ?? null;
    }
    expect(listed.toSorted()).toEqual(keys.toSorted());
    const claimed = await store.claimDue?.(claimKeys);
    expect(claimed?.records.map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
    expect((await store.claimDue?.(claimKeys))?.records).toEqual([]);
    expect(await store.delete?.(keys.map((key) => ({ key, version: 'v1' })))).toBe(keys.length);
  });

  test('keeps the record whose next text is larger than 400 KB', async () => {
    const store = dynamodbStore(connect(), await createTable());
    await store.write('order-17', change);
    const large = { ...change, expected: 'v1', version: 'v2', text: JSON.stringify('x'.repeat(400 * 1024)) };
    expect(await catchError(store.write('order-17', large))).toHaveProperty('name', 'ValidationException');
    expect((await store.read('order-17')).record).toEqual({ version: 'v1', text: '{}' });
  });

  test('sends nothing for a claim that looks expired to a clock that is ahead', async () => {
    const service = await startCountingService();
    onTestFinished(() => service.stop());
    const table = await createTable();
    const [owner, other] = [0, 1].map(() => {
      const journal = createJournal(dynamodbStore(connect(), table), { lease: 10_000 });
      const payments = createClient({ baseUrl: service.baseUrl, journal });
      onTestFinished(() => payments.close());
      return payments;
    });
    if (!owner || !other) throw new Error('There are two clients.');
    const release = service.hold('order-17');
    const charging = chargeOrder(owner, 'order-17');
    await expect.poll(() => service.chargesFor('order-17')).toHaveLength(1);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60 * 60 * 1000 });
    onTestFinished(() => void vi.useRealTimers());
    expect(await catchError(chargeOrder(other, 'order-17'))).toBeInstanceOf(OutcomeUnknownError);
    vi.useRealTimers();
    release();
    expect(await charging).toBe(service.chargesFor('order-17')[0]);
    expect(await chargeOrder(other, 'order-17')).toBe(service.chargesFor('order-17')[0]);
    expect(service.chargesFor('order-17')).toHaveLength(1);
  });
});
