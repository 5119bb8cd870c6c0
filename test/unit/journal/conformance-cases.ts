import { expect } from 'vitest';
import { createJournal, type JournalStore } from '../../../src/journal/index.ts';
import {
  type JournalConformanceOptions,
  journalConformance,
  type OpenJournal,
} from '../../../src/testing/index.ts';
import { createFaultyStore, type StoreDecisions, type StoredEntry } from '../../helpers/faulty-store.ts';

/** Returns the records of each storage. */
function createStorages(): (storage: string) => Map<string, StoredEntry> {
  const storages = new Map<string, Map<string, StoredEntry>>();
  return (storage) => {
    const records = storages.get(storage) ?? new Map<string, StoredEntry>();
    storages.set(storage, records);
    return records;
  };
}

/** Every handle on a storage is one on the same records. */
export const shared = (storeOn: (records: Map<string, StoredEntry>) => JournalStore): OpenJournal => {
  const recordsOf = createStorages();
  return (options, storage) => createJournal(storeOn(recordsOf(storage)), options);
};
export const deciding = (wrong: Partial<StoreDecisions>): OpenJournal =>
  shared((records) => createFaultyStore(records, wrong));
export const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

export const caseNamed = (name: string, open: OpenJournal, options?: JournalConformanceOptions) => {
  const found = journalConformance(open, options).filter((one) => one.name === name);
  expect(found).toHaveLength(1);
  return found[0]?.run() ?? Promise.reject(new Error('no case'));
};

export const BEGUN = 'claims an unused key, and every handle reads the same charge';
export const ONE = 'gives one claim when many handles claim a key at once';
export const RENEWED = 'reports in_progress within the lease, with a version per heartbeat';
export const GROUP = 'gives each of many writes at once its own result';
export const COUNTS = 'counts the lease from the last heartbeat';
export const DIES = 'keeps a key unknown for good when its process dies after the claim';
export const DURING = 'never gives a second claim during a heartbeat or a completion';
export const OUTLIVES = 'keeps every record after all handles are closed';
export const AGAIN = 'gives one new claim after not_sent or rejected';
export const RACE = 'accepts a completion or a resolution, when both are made at once';
export const KEYS = 'keeps a separate record for each key, however it is spelled';
export const RESULT = 'returns a result unchanged, whatever it contains';
export const NEVER = 'never drops an unresolved record';
export const LISTED = 'lists keys by state, the oldest first, and each key once';
export const MOVED = 'moves a key to its new state in the list';
export const PAGES = 'lists all pages, also of keys that began at the same time';
export const BY_REFERENCE = 'lists the keys of a reference, and no others';
export const LISTED_EXPIRED = 'lists an expired claim as unknown, and a live one as begun';
export const COUNTED = 'counts the keys in each state';
export const WITHOUT_LIST = 'charges without list';
export const DUE = 'returns a record when it is due, and not before';
export const EARLIEST = 'claims what is due, the earliest first';
export const SHARED = 'gives a due record to one of many callers, until its lease ends';
export const KIND = 'returns what is due of one kind, and nothing of the other';
export const UNCHANGED = 'changes neither version nor age of a record that it claims';
export const NEXT_STEP = 'moves a record to when its latest write says, or to never';
export const COUNTED_DUE = 'counts what is due, and tells when the next is';
export const DELETED = 'deletes the records that still have their version, and no others';
export const WITHOUT_DELETE = 'charges without delete';
export const WITHOUT_FOLLOW_UPS = 'charges without claimDue and countDue';

/** A store that breaks a promise, and the case that finds it. */
export interface Wrong {
  what: string;
  open: OpenJournal;
  found: string;
  says: string;
}
