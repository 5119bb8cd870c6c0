import { expect } from 'vitest';
import { memoryStore } from '../../../src/journal/memory.ts';
import type { JournalStore } from '../../../src/journal/store.ts';
import {
  type JournalConformanceOptions,
  journalConformance,
  type OpenStore,
} from '../../../src/testing/index.ts';

/** A store with all methods, but for the one that a journal does without. */
export type WholeStore = Required<Omit<JournalStore, 'writeAll'>>;

function createWholeStore(): WholeStore {
  const { read, write, list, count, claimDue, countDue, delete: remove } = memoryStore();
  if (!list || !count || !claimDue || !countDue || !remove)
    throw new Error('memoryStore has not all methods');
  return { read, write, list, count, claimDue, countDue, delete: remove };
}

/** Each handle on a storage is one on the same records. `change` replaces methods of a handle. */
export function shareStores(change: (store: WholeStore) => Partial<JournalStore> = () => ({})): OpenStore {
  const stores = new Map<string, WholeStore>();
  return (storage) => {
    const store = stores.get(storage) ?? createWholeStore();
    stores.set(storage, store);
    return { ...store, ...change(store) };
  };
}

export const caseNamed = (name: string, open: OpenStore, options?: JournalConformanceOptions) => {
  const found = journalConformance(open, options).filter((one) => one.name === name);
  expect(found).toHaveLength(1);
  return found[0]?.run() ?? Promise.reject(new Error('no case'));
};
