import { expect, onTestFinished, test, vi } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import { createJournal, type JournalStore, type ListedRecord } from '../../../src/journal/index.ts';
import { completeKey } from '../../helpers/claims.ts';
import { createFaultyStore } from '../../helpers/faulty-store.ts';
import { catchError } from '../../helpers/service.ts';

/** A journal of three transactions, whose lookups end when the test says so. */
async function createHeldJournal() {
  const { list, ...store } = createFaultyStore(new Map());
  const lookups: { references: readonly string[]; end: (error?: Error) => void }[] = [];
  const find = async (references: readonly string[]): Promise<ListedRecord[]> => {
    const query = { by: 'reference', after: null, limit: 10 } as const;
    return (await Promise.all(references.map((value) => list({ ...query, value })))).flat();
  };
  const held: JournalStore = {
    ...store,
    list: () => Promise.reject(new Error('not looked up together')),
    listByReferences: async (references) => {
      await new Promise<void>((resolve, reject) => {
        lookups.push({ references, end: (error) => (error ? reject(error) : resolve()) });
      });
      return await find(references);
    },
  };
  const plain = createJournal({ ...store, list });
  for (const name of ['a', 'b', 'c'])
    await completeKey(plain, `order-${name}`, { state: 'completed', result: { reference: `TXN-${name}` } });
  const { followUps } = getJournalCore(createJournal(held));
  const findKeys = async (reference: string) => (await followUps.find(reference)).map(({ key }) => key);
  const startLookup = async (index: number) => {
    await vi.waitFor(() => expect(lookups.length).toBeGreaterThan(index));
    return lookups[index] ?? Promise.reject(new Error('no lookup'));
  };
  return { findKeys, startLookup, lookups };
}

test('looks up together what comes while a lookup is under way', async () => {
  const { findKeys, startLookup, lookups } = await createHeldJournal();
  const found = ['TXN-a', 'TXN-b', 'txn-C', 'TXN-B', 'TXN-none'].map(findKeys);
  (await startLookup(0)).end();
  (await startLookup(1)).end();
  expect(await Promise.all(found)).toEqual([['order-a'], ['order-b'], ['order-c'], ['order-b'], []]);
  expect(lookups.map(({ references }) => references)).toEqual([['txn-a'], ['txn-b', 'txn-c', 'txn-none']]);
});

test('rejects the lookups of a group that failed, and goes on', async () => {
  const { findKeys, startLookup } = await createHeldJournal();
  const found = ['TXN-a', 'TXN-b'].map((reference) => catchError(findKeys(reference)));
  (await startLookup(0)).end(new Error('connection lost'));
  (await startLookup(1)).end(new Error('connection lost'));
  expect(await Promise.all(found)).toMatchObject([{ code: 'journal_error' }, { code: 'journal_error' }]);
  const later = findKeys('TXN-c');
  (await startLookup(2)).end();
  expect(await later).toEqual(['order-c']);
});

test('starts the next lookup after 100 ms if one hangs', async () => {
  const { findKeys, startLookup, lookups } = await createHeldJournal();
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  void findKeys('TXN-a');
  const found = findKeys('TXN-b');
  await vi.advanceTimersByTimeAsync(99);
  expect(lookups).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  (await startLookup(1)).end();
  expect(await found).toEqual(['order-b']);
});
