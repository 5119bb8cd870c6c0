import { JournalError } from '../errors.ts';
import {
  type JournalRecord,
  parseStored,
  readRecord,
  type VersionedRecord,
  type WriteOptions,
  writeRecord,
} from './record.ts';
import type { JournalStore, ListedRecord } from './store.ts';

/** The records of one journal, as its methods read and write them. */
export interface Records {
  readonly store: JournalStore;
  read(key: string): Promise<VersionedRecord | null>;
  write(key: string, record: JournalRecord, write: WriteOptions): Promise<boolean>;
  /** Whether a process holds the claim of a record: its lease has not expired. */
  isInProgress(found: VersionedRecord): boolean;
}

export function createRecords(store: JournalStore, lease: number): Records {
  return {
    store,
    read: (key) => readRecord(store, key),
    write: (key, record, write) => writeRecord(store, key, record, write),
    isInProgress: ({ record, age }) =>
      // An age far below zero is that of a clock that was set back: it must not hold the key for as long.
      record.state === 'begun' && Math.abs(age) < lease && record.followUp?.leaseExpired !== true,
  };
}

/** A record that was found without its key. */
export interface KeyedRecord extends VersionedRecord {
  readonly key: string;
}

/** Returns the records that can be read, and the keys of the others. */
export function parseListed(listed: readonly ListedRecord[]): { found: KeyedRecord[]; unreadable: string[] } {
  const found: KeyedRecord[] = [];
  const unreadable: string[] = [];
  for (const stored of listed) {
    const { key } = stored;
    const record = parseStored(stored);
    if (record) found.push({ ...record, key });
    else unreadable.push(key);
  }
  return { found, unreadable };
}

/** In each round that fails another process succeeded, so rounds end soon. A store that is wrong ends here. */
const MAX_CAS_ATTEMPTS = 100;

/** Repeats a compare-and-swap until it returns a result. */
export async function retryCas<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let attempts = 0; attempts < MAX_CAS_ATTEMPTS; attempts++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new JournalError('Other processes changed the record at each attempt to write it. Try again.', {
    retryable: true,
  });
}
