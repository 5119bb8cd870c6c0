/** How many records a store reads for what it is asked, in a table with many others. */

import type { WholeStore } from './store-suite.ts';
import { listKeys } from './store-suite.ts';
import { CREATED_AT, claimKeys, createWrite, listAll } from './store-writes.ts';

/** When many records began at once. */
const SAME = CREATED_AT + 1_000_000;

/**
 * What the table has: records that are due in half an hour and need a person in a week, records that are due now, those of orders
 * that are due, those that need a person, those of one time, and those that nothing is found by. `values` are those of
 * kind, created_at, attention_at and due_at of the record `i`.
 */
export function listRows(now: number): readonly { name: string; count: number; values: string }[] {
  const createdAt = `${CREATED_AT} + i`;
  return [
    {
      name: 'order',
      count: 100_000,
      values: `'key', ${createdAt}, ${now + 604_800_000} + i, ${now + 1_800_000} + i`,
    },
    { name: 'due', count: 30, values: `'key', ${createdAt} + 200000, NULL, ${now} - i` },
    { name: 'other', count: 10_000, values: `'order', ${createdAt} + 300000, NULL, ${now} - i` },
    { name: 'person', count: 50, values: `'key', ${createdAt} + 400000, ${now} - i, NULL` },
    { name: 'same', count: 2_500, values: `'key', ${SAME}, NULL, NULL` },
    { name: 'own', count: 10_000, values: 'NULL, NULL, NULL, NULL' },
  ];
}

const readPage = async (store: WholeStore, at: number, key: string) =>
  (await store.list({ ...listAll, after: { at, key } })).length;

/** What is asked for, and how many records are found. */
export const questions: Readonly<
  Record<string, readonly [found: number, ask: (store: WholeStore) => Promise<number>]>
> = {
  'a record': [1, async (store) => Number((await store.read('order 77777')).record !== null)],
  'no record': [0, async (store) => Number((await store.read('order none')).record !== null)],
  'who needs a person': [50, async (store) => (await listKeys(store, 'attentionAt')).length],
  'the first page': [100, async (store) => (await store.list(listAll)).length],
  'a later page': [100, (store) => readPage(store, CREATED_AT + 55_555, 'order 55555')],
  // It begins at its first record, not at the first of this time.
  'a later page of one time': [100, (store) => readPage(store, SAME, 'same 2000')],
  counted: [50, async (store) => (await store.count()).attention],
  'counted as due': [30, async (store) => (await store.countDue(claimKeys)).due],
  due: [30, async (store) => (await store.claimDue(claimKeys)).records.length],
  deleted: [
    10,
    (store) =>
      store.delete(Array.from({ length: 10 }, (_, i) => ({ key: `order ${i + 1}`, version: `v-${i + 1}` }))),
  ],
  'written in a group': [
    20,
    async (store) => {
      const writes = Array.from({ length: 10 }, (_, i) => [
        createWrite(`order ${i + 11}`, { expected: `v-${i + 11}` }),
        createWrite(`order new-${i}`),
      ]);
      return (await store.writeAll?.(writes.flat()))?.filter((written) => written === true).length ?? 0;
    },
  ],
};
