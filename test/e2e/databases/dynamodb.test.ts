import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { DynamoDB } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { dynamodbStore } from '../../../examples/journals/dynamodb.ts';
import { journalTable } from '../../../examples/journals/dynamodb-table.ts';
import { JournalError, OutcomeUnknownError } from '../../../src/index.ts';
import { getJournalCore } from '../../../src/journal/core.ts';
import { createJournal } from '../../../src/journal/index.ts';
import { change, chargeIntent, tryClaim } from '../../helpers/claims.ts';
import { catchError } from '../../helpers/service.ts';
import { startListening } from '../../helpers/start-listening.ts';
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
    const proxy = await startLosingProxy(running.place);
    const store = dynamodbStore(connect(proxy.url), table);
    proxy.loseNextResponse();
    expect(await store.write('order-17', change)).toBe(true);
    proxy.loseNextResponse();
    expect(await store.write('order-17', { ...change, expected: 'v1', version: 'v2' })).toBe(true);
    expect(proxy.lost()).toBe(2);
    expect(await store.write('order-17', { ...change, expected: 'v1', version: 'v3' })).toBe(false);
    expect(await store.read('order-17')).toMatchObject({ version: 'v2' });
  });

  test('lists all records, also if they are more than a page of 1 MB', async () => {
    const store = dynamodbStore(connect(), await createTable());
    const keys = Array.from({ length: 60 }, (_, index) => `order-${index}`);
    const text = JSON.stringify('x'.repeat(300_000));
    for (const [createdAt, key] of keys.entries())
      await store.write(key, {
        ...change,
        text,
        index: { kind: 'key', state: 'unknown', createdAt, reference: null },
      });
    const listed = await store.list?.({ by: 'state', value: 'unknown', after: null, limit: 100 });
    expect(listed?.map(({ key }) => key)).toEqual(keys);
    expect(await store.countDue?.({ kind: 'key' })).toEqual({ due: keys.length, nextIn: null });
  });

  test('claims what is due too late, because a clock was wrong', async () => {
    const store = dynamodbStore(connect(), await createTable());
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 24 * 60 * 60 * 1000 });
    onTestFinished(() => void vi.useRealTimers());
    await store.write('order-17', change);
    vi.useRealTimers();
    expect(await store.countDue?.({ kind: 'key' })).toEqual({ due: 1, nextIn: null });
    expect(await store.claimDue?.({ kind: 'key', limit: 5, lease: 60_000 })).toMatchObject([
      { key: 'order-17' },
    ]);
    expect(await store.claimDue?.({ kind: 'key', limit: 5, lease: 60_000 })).toEqual([]);
  });

  test('refuses a key that is too long before anything is sent', async () => {
    const service = await startCountingService();
    onTestFinished(() => service.stop());
    const [journal, another] = [await createTable(), await createTable()].map((table) =>
      createJournal(dynamodbStore(connect(), table)),
    );
    const payments = createClient({ baseUrl: service.baseUrl, journal });
    onTestFinished(() => payments.close());
    const key = '\u{1f4b3}'.repeat(255);
    const error = await catchError(chargeOrder(payments, key));
    expect(error).toBeInstanceOf(JournalError);
    expect(error).toMatchObject({ outcome: 'not_sent' });
    expect(service.chargesFor(key)).toEqual([]);
    expect(await getJournalCore(another)?.claim('\u{1f4b3}'.repeat(248), chargeIntent)).toMatchObject({
      state: 'claimed',
    });
  });

  test('keeps the claim of a charge whose result is larger than 400 KB', async () => {
    const journal = createJournal(dynamodbStore(connect(), await createTable()), { lease: 100 });
    const claimed = await tryClaim(journal, 'order-17');
    if (claimed.state !== 'claimed') throw new Error(`claim returned ${claimed.state}`);
    const result = { reference: 'TXN-17', note: 'x'.repeat(400 * 1024) };
    const error = await catchError(
      getJournalCore(journal).complete(claimed.claim, { state: 'completed', result }),
    );
    expect(error).toBeInstanceOf(JournalError);
    await expect.poll(() => journal.read('order-17')).toMatchObject({ state: 'unknown' });
    expect(await tryClaim(journal, 'order-17')).toMatchObject({ state: 'unknown' });
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

/** Passes requests on. It can lose a response: the write was made, and the client learns only that its connection broke. */
async function startLosingProxy(target: string) {
  let [isLosing, lost] = [false, 0];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const headers = new Headers();
    for (const name of ['authorization', 'content-type', 'x-amz-date', 'x-amz-target'])
      headers.set(name, String(request.headers[name]));
    const answer = await fetch(target, { method: 'POST', headers, body: new Uint8Array(body) });
    const content = Buffer.from(await answer.arrayBuffer());
    if (isLosing) {
      isLosing = false;
      lost++;
      response.destroy();
      return;
    }
    response.writeHead(answer.status, { 'content-type': 'application/x-amz-json-1.0' }).end(content);
  });
  const { port, stop } = await startListening(server);
  onTestFinished(stop);
  return {
    url: `http://127.0.0.1:${port}`,
    loseNextResponse() {
      isLosing = true;
    },
    lost: () => lost,
  };
}
