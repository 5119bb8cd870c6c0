import { beforeEach, describe, expect, test, vi } from 'vitest';
import { ConfigurationError } from '../../../src/index.ts';
import { createJournal, type Journal, memoryJournal, memoryStore } from '../../../src/stores/index.ts';
import { claimKey, completeKey, made } from '../../helpers/claims.ts';
import { listKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import { firstWrite } from '../../helpers/store-writes.ts';

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

const listReasons = async (journal: Journal) =>
  (await drain(journal.listAttention())).items.map(({ key, reason }) => [key, reason]);

const rejected = { is: 'none', why: 'rejected' } as const;

test('lists payments by state, oldest first, and counts them', async () => {
  const journal = memoryJournal({ lease: LEASE });
  const ends = [
    ['not sent', { is: 'none', why: 'not_sent' }],
    ['made', made('TXN-1')],
    ['unknown', { is: 'unknown' }],
    ['rejected', rejected],
    ['closed', { is: 'unknown' }],
  ] as const;
  for (const [key, end] of ends) {
    await completeKey(journal, key, end);
    passTime(5);
  }
  await journal.resolve('closed', 'closed', note);
  await claimKey(journal, 'begun');
  expect(await listKeys(journal)).toEqual([...ends.map(([key]) => key), 'begun']);
  expect(await listKeys(journal, { limit: 2 })).toEqual(['not sent', 'made']);
  expect(await listKeys(journal, { limit: 0 })).toEqual([]);
  const byState = { completed: ['made'], not_sent: ['not sent'], closed: ['closed'], rejected: ['rejected'] };
  const expectStates = async (more: Record<string, string[]>, attention: number) => {
    for (const [state, keys] of Object.entries({ ...byState, ...more }))
      expect(await listKeys(journal, Object({ state })), state).toEqual(keys);
    expect(await journal.count()).toEqual({ records: 6, attention });
  };
  await expectStates({ begun: ['begun'], unknown: ['unknown'] }, 1);
  passTime(LEASE);
  await expectStates({ begun: [], unknown: ['unknown', 'begun'] }, 2);
});

test('lists the payment that has a reference, in any case', async () => {
  const journal = memoryJournal();
  await completeKey(journal, 'order-17', made('TXN-8f2k1'));
  await completeKey(journal, '18', made('TXN-18'), { kind: 'order' });
  expect(await listKeys(journal, { reference: 'txn-8F2K1' })).toEqual(['order-17']);
  expect(await listKeys(journal, { reference: 'TXN-18' })).toEqual(['18/1']);
  expect(await listKeys(journal, { reference: 'TXN-18', state: 'unknown' })).toEqual([]);
  expect(await listKeys(journal, { reference: 'TXN-none' })).toEqual([]);
});

test('lists 250 records in pages, each once', async () => {
  const journal = memoryJournal();
  const keys = Array.from({ length: 250 }, (_, index) => `order-${index}`);
  for (const key of keys) await completeKey(journal, key, rejected);
  expect((await listKeys(journal)).toSorted()).toEqual(keys.toSorted());
});

test('lists what a person has to decide, with why and since when', async () => {
  const store = memoryStore();
  const journal = memoryJournal({ store, lease: LEASE });
  const since = Date.now();
  await completeKey(journal, 'paid', made('TXN-paid'));
  await completeKey(journal, '17', { is: 'unknown' }, { kind: 'order', requestId: 'pcc-1f0c2b' });
  passTime(5);
  await claimKey(journal, 'begun');
  passTime(5);
  await completeKey(journal, 'shared', made('TXN-paid'));
  passTime(LEASE);
  // A process that has read nothing yet knows no time of the store.
  const { items } = await drain(memoryJournal({ store }).listAttention());
  expect(items).toEqual([
    {
      key: '17/1',
      order: '17',
      reason: 'unresolved',
      since,
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
  expect(await listKeys(memoryJournal({ store }), { state: 'unknown' })).toEqual(['17/1', 'shared', 'begun']);
  await journal.resolve('17/1', 'not_charged', note);
  expect((await listReasons(journal)).map(([key]) => key)).toEqual(['shared', 'begun']);
});

describe('records that cannot be read', () => {
  test.each([
    ['list', (journal: Journal) => journal.list()],
    ["list({ state: 'unknown' })", (journal: Journal) => journal.list({ state: 'unknown' })],
    ['listAttention', (journal: Journal) => journal.listAttention()],
  ])('are counted, and named once all others are listed: %s', async (_name, list) => {
    const store = memoryStore();
    const journal = memoryJournal({ store });
    for (const id of ['a', 'b', 'c', 'd'])
      await store.write(`key ${id}`, firstWrite({ attentionAt: 1 }, { text: '{"format":99}' }));
    await completeKey(journal, 'order-17', { is: 'unknown' });
    expect(await journal.count()).toEqual({ records: 5, attention: 5 });
    const { items, error } = await drain<{ key: string }>(list(journal));
    expect(items.map(({ key }) => key)).toEqual(['order-17']);
    expect(error).toMatchObject({ name: 'JournalError', outcome: 'unknown', retryable: false });
    expect(String(error)).toContain('The records of "a", "b", "c" and 1 more cannot be read');
  });
});

test('finds 3 items beside 1,000 others by one page, and reads no record for them', async () => {
  const store = memoryStore();
  const journal = memoryJournal({ store });
  for (const id of ['17', '18', '19']) await completeKey(journal, id, { is: 'unknown' }, { kind: 'order' });
  const { record } = await store.read('order 17');
  for (let number = 0; number < 1_000; number++)
    await store.write(`key paid-${number}`, firstWrite({}, { text: record?.text ?? '' }));
  const [list, read] = [vi.spyOn(store, 'list'), vi.spyOn(store, 'read')];
  const { items } = await drain(journal.listAttention());
  expect(items.map(({ order }) => order)).toEqual(['17', '18', '19']);
  expect(list.mock.calls).toEqual([[{ by: 'attentionAt', after: null, limit: 100 }]]);
  expect(read).not.toHaveBeenCalled();
  expect(await journal.count()).toEqual({ records: 1_003, attention: 3 });
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

test.each([
  ['list', (journal: Journal) => journal.listAttention().next()],
  ['list', (journal: Journal) => journal.prune({ before: 1 })],
  ['count', (journal: Journal) => journal.count()],
  ['delete', (journal: Journal) => journal.prune({ before: 1 })],
])('names the method that a store without %s has not', async (name, call) => {
  const journal = createJournal({ ...memoryStore(), [name]: undefined });
  const failure = await catchError(Promise.resolve<unknown>(call(journal)));
  expect(failure).toBeInstanceOf(ConfigurationError);
  expect(String(failure)).toContain(`has no ${name}`);
});
