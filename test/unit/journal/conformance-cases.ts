import { expect } from 'vitest';
import { createJournal, type JournalStore } from '../../../src/journal/index.ts';
import { journalConformance, type OpenJournal } from '../../../src/testing/index.ts';
import { createFaultyStore, type StoreDecisions, type StoredEntry } from '../../helpers/faulty-store.ts';

/** Every handle is one on the same records. */
export const shared = (storeOn: (records: Map<string, StoredEntry>) => JournalStore): OpenJournal => {
  const records = new Map<string, StoredEntry>();
  return (options) => createJournal(storeOn(records), options);
};
export const deciding = (wrong: Partial<StoreDecisions>): OpenJournal =>
  shared((records) => createFaultyStore(records, wrong));
export const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

export const caseNamed = (name: string, open: OpenJournal) => {
  const found = journalConformance(open).filter((one) => one.name === name);
  expect(found).toHaveLength(1);
  return found[0]?.run() ?? Promise.reject(new Error('no case'));
};

export const BEGUN = 'claims an unused key, and every handle reads the same charge';
export const ONE = 'gives one claim when many handles claim a key at once';
export const RENEWED = 'reports in_progress within the lease, with a version per heartbeat';
export const COUNTS = 'counts the lease from the last heartbeat';
export const DIES = 'keeps a key unknown for good when its process dies after the claim';
export const RENEWED_AND_DIES = 'makes a key unknown when its process dies after a heartbeat';
export const DURING = 'never gives a second claim during a heartbeat or a completion';
export const CONFLICT = 'reports a conflict for other input while a charge might exist';
export const SERVICE = 'refuses another service or mode, and records nothing for it';
export const RECORDED = 'records a result, and every handle returns it';
export const OUTLIVES = 'keeps every record after all handles are closed';
export const UNKNOWN = 'keeps the reference of an unknown outcome, and gives no new claim';
export const AGAIN = 'gives one new claim after not_sent or rejected, with any input';
export const LATE = 'accepts a late completion of an unresolved key';
export const RESOLVED = 'ends a claim when its key is resolved';
export const PASSED = 'ends a claim when another process claims the key';
export const RACE = 'accepts a completion or a resolution, when both are made at once';
export const FOUND = 'returns the reference that a key was resolved with';
export const CHECKOUT = 'resolves a checkout payment with its checkout_url';
export const FREED = 'gives one new claim after not_charged, with any input';
export const NOT_YET = 'refuses to resolve a charge in progress';
export const NOTHING = 'refuses to resolve a key without a record';
export const OTHERWISE = 'refuses a resolution that contradicts a recorded result';
export const MANY = 'accepts one of many different resolutions made at once';
export const KEYS = 'keeps a separate record for each key, however it is spelled';
export const RESULT = 'returns a result unchanged, whatever it contains';
export const NEVER = 'never drops an unresolved record, whatever the retention';

/** A store or journal that breaks a promise, and the case that finds it. */
export interface Wrong {
  what: string;
  open: OpenJournal;
  found: string;
  says: string;
}
