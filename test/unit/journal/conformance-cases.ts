import { memoryStore } from '../../../src/journal/memory.ts';
import type {
  JournalStore,
  ListedRecord,
  RecordChange,
  RecordIndex,
  StoredRecord,
} from '../../../src/journal/store.ts';
import {
  type JournalConformanceOptions,
  journalConformance,
  type OpenStore,
} from '../../../src/testing/index.ts';

/** A correct store, with all methods that a journal cannot do without and what a broken one needs. */
export interface WholeStore extends Required<Omit<JournalStore, 'writeAll'>> {
  /** Changes a record and what it is found by, whatever its version is. */
  put(key: string, record: Partial<StoredRecord>, index: Partial<RecordIndex>): Promise<void>;
  /** What the latest write of a record says. */
  readonly written: ReadonlyMap<string, RecordChange>;
}

export function createWholeStore(): WholeStore {
  const { read, write, list, count, claimDue, countDue, delete: remove } = memoryStore();
  if (!list || !count || !claimDue || !countDue || !remove)
    throw new Error('memoryStore has not all methods');
  const written = new Map<string, RecordChange>();
  return {
    read,
    async write(key, change) {
      const isWritten = await write(key, change);
      if (isWritten) written.set(key, change);
      return isWritten;
    },
    list,
    count,
    claimDue,
    countDue,
    delete: remove,
    async put(key, record, index) {
      const change = written.get(key);
      const { version = null } = (await read(key)).record ?? {};
      if (change?.index)
        await write(key, { ...change, ...record, expected: version, index: { ...change.index, ...index } });
    },
    written,
  };
}

/** Each handle on a storage is one on the same records. `change` replaces methods of a handle. */
export function shareStores(change: (store: WholeStore) => Partial<JournalStore> = () => ({})): OpenStore {
  const stores = new Map<string, WholeStore>();
  return (storage) => {
    const store = stores.get(storage) ?? createWholeStore();
    stores.set(storage, store);
    const { put: _put, written: _written, ...methods } = store;
    return { ...methods, ...change(store) };
  };
}

/** A store that is correct but for what it writes. */
export const changeWrites = (
  change: (change: RecordChange, found: StoredRecord | null, key: string) => Partial<RecordChange>,
): OpenStore =>
  shareStores(({ read, write }) => ({
    write: async (key, given) => write(key, { ...given, ...change(given, (await read(key)).record, key) }),
  }));

/** A store that is correct but for what its records are found by. */
export const changeIndexes = (change: (index: RecordIndex) => Partial<RecordIndex>): OpenStore =>
  changeWrites(({ index }) => ({ index: index && { ...index, ...change(index) } }));

/** A store that is correct but for its keys. */
export const changeKeys = (change: (key: string) => string): OpenStore =>
  shareStores(({ read, write }) => ({
    read: (key) => read(change(key)),
    write: (key, given) => write(change(key), given),
  }));

/** A store that is correct but for the records that it lists. */
export const changeListed = (change: (record: ListedRecord) => Partial<ListedRecord>): OpenStore =>
  shareStores(({ list }) => ({
    list: async (query) => (await list(query)).map((record) => ({ ...record, ...change(record) })),
  }));

export const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/** Runs the case of a name. */
export async function runCase(name: string, open: OpenStore, options?: JournalConformanceOptions) {
  const found = journalConformance(open, options).find((one) => one.name === name);
  if (!found) throw new Error(`There is no case "${name}".`);
  await found.run();
}

/** For each case, stores that break one promise: what each does, what the case says, and the store. */
export type BrokenStores = Readonly<
  Record<string, readonly (readonly [what: string, says: string, open: OpenStore])[]>
>;
