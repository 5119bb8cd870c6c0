import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ConfigurationError } from '../../../src/index.ts';
import { getRecords } from '../../../src/journal/core.ts';
import {
  createJournal,
  type Journal,
  type JournalStore,
  memoryJournal,
  memoryStore,
} from '../../../src/journal/index.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { check, type Finding } from '../../../src/ledger/check.ts';
import { change, claimKey, completeKey, made } from '../../helpers/claims.ts';
import { listKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';

const LEASE = 10_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  return () => vi.useRealTimers();
});

const passTime = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

/** Collects what is yielded before an error, and that error. */
async function drain<T>(items: AsyncIterable<T>): Promise<{ items: T[]; error: unknown }> {
  const found: T[] = [];
  try {
    for await (const item of items) found.push(item);
  } catch (error) {
    return { items: found, error };
  }
  return { items: found, error: undefined };
}

const kinds: [string, () => Journal][] = [
  ['memory', () => memoryJournal({ lease: LEASE })],
  [
    'SQLite',
    () => {
      const own = new DatabaseSync(':memory:');
      onTestFinished(() => own.close());
      return sqliteJournal(own, { lease: LEASE });
    },
  ],
];

describe.each(kinds)('a journal in %s', (_kind, open) => {
  test('lists payments by state, oldest first', async () => {
    const journal = open();
    const ends = [
      ['not sent', { is: 'none', why: 'not_sent' }],
      ['made', made('TXN-1')],
      ['unknown', { is: 'unknown' }],
      ['rejected', { is: 'none', why: 'rejected' }],
      ['closed', { is: 'unknown' }],
    ] as const;
    for (const [key, end] of ends) {
      await completeKey(journal, key, end);
      passTime(5);
    }
    await journal.resolve('closed', 'closed', note);
    await claimKey(journal, 'begun');
    expect(await listKeys(journal)).toEqual([...ends.map(([key]) => key), 'begun']);
    expect(await listKeys(journal, { state: 'completed' })).toEqual(['made']);
    expect(await listKeys(journal, { state: 'not_sent' })).toEqual(['not sent']);
    expect(await listKeys(journal, { state: 'closed' })).toEqual(['closed']);
    expect(await listKeys(journal, { state: 'begun' })).toEqual(['begun']);
    expect(await listKeys(journal, { state: 'unknown' })).toEqual(['unknown']);
    expect(await listKeys(journal, { limit: 2 })).toEqual(['not sent', 'made']);
    expect(await listKeys(journal, { limit: 0 })).toEqual([]);
    expect(await journal.count()).toEqual({ records: 6, attention: 1 });
    passTime(LEASE);
    expect(await listKeys(journal, { state: 'unknown' })).toEqual(['unknown', 'begun']);
    expect(await listKeys(journal, { state: 'begun' })).toEqual([]);
    expect(await journal.count()).toEqual({ records: 6, attention: 2 });
  });

  test('lists the payment that has a reference, in any case', async () => {
    const journal = open();
    await completeKey(journal, 'order-17', made('TXN-8f2k1'));
    await completeKey(journal, '18', made('TXN-18'), { kind: 'order' });
    expect(await listKeys(journal, { reference: 'txn-8F2K1' })).toEqual(['order-17']);
    expect(await listKeys(journal, { reference: 'TXN-18' })).toEqual(['18/1']);
    expect(await listKeys(journal, { reference: 'TXN-18', state: 'unknown' })).toEqual([]);
    expect(await listKeys(journal, { reference: 'TXN-none' })).toEqual([]);
  });

  test('lists 250 records in pages, each once', async () => {
    const journal = open();
    const keys = Array.from({ length: 250 }, (_, index) => `order-${index}`);
    for (const key of keys) await completeKey(journal, key, { is: 'none', why: 'rejected' });
    expect((await listKeys(journal)).toSorted()).toEqual(keys.toSorted());
    expect(await journal.count()).toEqual({ records: 250, attention: 0 });
  });

  test('lists what a person has to decide, with why and since when', async () => {
    const journal = open();
    const startedAt = Date.now();
    await completeKey(journal, 'paid', made('TXN-paid'));
    await completeKey(journal, '17', { is: 'unknown' }, { kind: 'order', requestId: 'pcc-1f0c2b' });
    passTime(5);
    await claimKey(journal, 'begun');
    passTime(5);
    await completeKey(journal, 'shared', made('TXN-paid'));
    passTime(LEASE);
    const { items, error } = await drain(journal.listAttention());
    expect(error).toBeUndefined();
    expect(items).toEqual([
      {
        key: '17/1',
        order: '17',
        reason: 'unresolved',
        since: startedAt,
        amount: '25.50',
        currency: 'GHS',
        network: 'mtn',
        reference: undefined,
        requestIds: ['pcc-1f0c2b'],
      },
      expect.objectContaining({ key: 'shared', order: undefined, reason: 'shared_reference' }),
      expect.objectContaining({ key: 'begun', order: undefined, reason: 'unresolved' }),
    ]);
    expect((await drain(journal.listAttention({ limit: 1 }))).items).toHaveLength(1);
    await journal.resolve('17/1', 'not_charged', note);
    const left = await drain(journal.listAttention());
    expect(left.items.map(({ key }) => key)).toEqual(['shared', 'begun']);
  });
});

test('lists an expired claim in a process that has read nothing yet', async () => {
  const store = memoryStore();
  await claimKey(memoryJournal({ store, lease: LEASE }), 'order-17');
  passTime(LEASE);
  expect(await listKeys(memoryJournal({ store }), { state: 'unknown' })).toEqual(['order-17']);
  expect((await drain(memoryJournal({ store }).listAttention())).items).toHaveLength(1);
});

test('lists every payment of an order that needs a person', async () => {
  const journal = memoryJournal();
  const order = { kind: 'order', id: '17' } as const;
  const find = async (reference: string, finding: Finding) =>
    await getRecords(journal).change(order, (before, now) => ({
      record: check(before, reference, finding, { askedAt: now, now, random: 0 }),
    }));
  const answered = (status: string): Finding => ({ is: 'answered', status, paid_at: null });
  await completeKey(journal, '17', made('TXN-1'), order);
  await find('TXN-1', answered('failed'));
  await completeKey(journal, '17', made('TXN-2'), order);
  await find('TXN-2', answered('failed'));
  await completeKey(journal, '17', made('TXN-3'), order);
  for (const reference of ['TXN-3', 'TXN-1', 'TXN-2']) await find(reference, answered('success'));
  const { items } = await drain(journal.listAttention());
  expect(items.map(({ key, reason }) => [key, reason])).toEqual([
    ['17/1', 'paid_twice'],
    ['17/2', 'paid_twice'],
  ]);
  expect(await journal.count()).toEqual({ records: 1, attention: 1 });
});

describe('records that cannot be read', () => {
  async function openBroken() {
    const store = memoryStore();
    const journal = memoryJournal({ store });
    const index = { kind: 'key', createdAt: 1, attentionAt: 1, dueAt: null } as const;
    for (const id of ['a', 'b', 'c', 'd'])
      await store.write(`key ${id}`, { ...change, index, text: '{"format":99}' });
    await completeKey(journal, 'order-17', { is: 'unknown' });
    return journal;
  }

  test.each([
    ['list', (journal: Journal) => journal.list()],
    ["list({ state: 'unknown' })", (journal: Journal) => journal.list({ state: 'unknown' })],
    ['listAttention', (journal: Journal) => journal.listAttention()],
  ])('are named once all others are listed: %s', async (_name, list) => {
    const { items, error } = await drain<{ key: string }>(list(await openBroken()));
    expect(items.map(({ key }) => key)).toEqual(['order-17']);
    expect(error).toMatchObject({ name: 'JournalError', outcome: 'unknown', retryable: false });
    expect(String(error)).toContain('The records of "a", "b", "c" and 1 more cannot be read');
  });

  test('are counted', async () => {
    expect(await (await openBroken()).count()).toEqual({ records: 5, attention: 5 });
  });
});

test('finds 3 items beside 1,000 paid orders by one page', async () => {
  const store = memoryStore();
  const journal = memoryJournal({ store });
  await completeKey(journal, 'paid', made('TXN-paid'));
  await getRecords(journal).change({ kind: 'key', id: 'paid' }, (before, now) => ({
    record: check(
      before,
      'TXN-paid',
      { is: 'answered', status: 'success', paid_at: null },
      { askedAt: now, now, random: 0 },
    ),
  }));
  const { record } = await store.read('key paid');
  const index = { kind: 'key', createdAt: 1, attentionAt: null, dueAt: null } as const;
  for (let count = 0; count < 1_000; count++)
    await store.write(`key paid-${count}`, { ...change, index, text: record?.text ?? '' });
  for (const id of ['17', '18', '19']) await completeKey(journal, id, { is: 'unknown' }, { kind: 'order' });
  const { list: listPage } = store;
  const list = vi.spyOn(store, 'list');
  // A second page would be one too many.
  if (listPage) list.mockImplementationOnce(listPage);
  list.mockRejectedValue(new Error('another page'));
  const read = vi.spyOn(store, 'read');
  const { items, error } = await drain(journal.listAttention());
  expect(error).toBeUndefined();
  expect(items.map(({ order }) => order)).toEqual(['17', '18', '19']);
  expect(list.mock.calls).toEqual([[{ by: 'attentionAt', after: null, limit: 100 }]]);
  expect((await list.mock.results[0]?.value)?.length).toBe(3);
  expect(read).not.toHaveBeenCalled();
  expect(await journal.count()).toEqual({ records: 1_004, attention: 3 });
});

test.each<[method: 'list' | 'listAttention', query: unknown, message: string]>([
  ['list', 'unknown', 'list takes an object'],
  ['list', { stat: 'unknown' }, 'Unknown option "stat". Did you mean state?'],
  ['list', { state: 'unresolved' }, 'state must be one of begun, completed'],
  ['list', { reference: 17 }, 'reference must be text'],
  ['list', { limit: -1 }, 'limit must be a whole number'],
  ['listAttention', 17, 'listAttention takes an object'],
  ['listAttention', { limit: 0.5 }, 'limit must be a whole number'],
  ['listAttention', { state: 'unknown' }, 'Unknown option "state"'],
])('refuses %s(%j)', async (method, query, message) => {
  const journal = memoryJournal();
  const failure = await catchError(Reflect.apply(journal[method], journal, [query]).next());
  expect(failure).toBeInstanceOf(ConfigurationError);
  expect(String(failure)).toContain(message);
});

test.each(['list', 'count'] as const)('names the method that a store without %s has not', async (name) => {
  const { read, write } = memoryStore();
  const store: JournalStore = { read, write };
  const journal = createJournal(store);
  const calls = { list: () => drain(journal.listAttention()), count: () => journal.count() };
  const ended = await calls[name]().catch((error: unknown) => ({ error }));
  const error = 'error' in ended ? ended.error : undefined;
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(String(error)).toContain(`has no ${name}`);
});
