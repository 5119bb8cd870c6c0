import {
  type JournalConformanceOptions,
  journalConformance,
  type OpenStore,
} from '../../../src/developers/mock/index.ts';
import type { JournalStore, RecordChange, RecordIndex, StoredRecord } from '../../../src/journal/store.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { asWhole } from '../../helpers/store-suite.ts';

/** A correct store, with what a broken one needs of it. */
export interface WholeStore extends Required<Omit<JournalStore, 'writeAll'>> {
  /** Changes a record and what it is found by, whatever its version is. */
  put(key: string, changed: Partial<StoredRecord & RecordIndex>): Promise<unknown>;
  /** What the latest write of each record says. */
  readonly written: ReadonlyMap<string, RecordChange>;
}

export function createWholeStore(): WholeStore {
  const { write, ...store } = asWhole(memoryStore());
  const written = new Map<string, RecordChange>();
  return {
    ...store,
    written,
    async write(key, change) {
      const isWritten = await write(key, change);
      if (isWritten) written.set(key, change);
      return isWritten;
    },
    async put(key, { version, text, ...index }) {
      const change = written.get(key);
      if (!change) return;
      const next = { version: version ?? change.version, text: text ?? change.text };
      await write(key, {
        ...change,
        ...next,
        expected: change.version,
        index: change.index && { ...change.index, ...index },
      });
    },
  };
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

/** A store that is correct but for what it writes. */
export const changeWrites = (
  change: (change: RecordChange, found: StoredRecord | null, key: string) => Partial<RecordChange>,
): OpenStore =>
  shareStores(({ read, write }) => ({
    write: async (key, given) => write(key, { ...given, ...change(given, (await read(key)).record, key) }),
  }));

/** A store that is correct but for what its records are found by. */
export const changeIndexes = (
  change: (index: RecordIndex, before: RecordIndex | null | undefined) => Partial<RecordIndex>,
): OpenStore =>
  shareStores(({ write, written }) => ({
    write(key, { index, ...given }) {
      const changed = index && { ...index, ...change(index, written.get(key)?.index) };
      return write(key, { ...given, index: changed });
    },
  }));

export const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/** Runs the case of a name. */
export async function runCase(name: string, open: OpenStore, options?: JournalConformanceOptions) {
  const found = journalConformance(open, options).find((one) => one.name === name);
  if (!found) throw new Error(`There is no case "${name}".`);
  await found.run();
}

/** For each case, stores that break one promise, by what each does: what the case says, and the store. */
export type BrokenStores = Readonly<
  Record<string, Readonly<Record<string, readonly [says: string, open: OpenStore]>>>
>;
