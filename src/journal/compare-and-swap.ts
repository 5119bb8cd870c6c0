import type * as z from 'zod/mini';
import { JournalError } from '../errors.ts';
import { parseJson } from '../untrusted.ts';
import { callStore } from './call-store.ts';
import { writeGrouped } from './group-commit.ts';
import { type JournalRecord, parseRecord, referenceOf } from './record.ts';
import type { JournalStore, ListedRecord, RecordChange, StoredRecord } from './store.ts';

/** A record that was read, with the version that a compare-and-swap expects. */
export interface VersionedRecord {
  record: JournalRecord;
  version: string;
  /** Milliseconds since the record was written. */
  age: number;
}

/** Each write has a version of its own. Those of one owner begin alike, so that it recognises its own. */
export const newVersion = (owner: string) => `${owner}.${crypto.randomUUID()}`;

export function ownerOf(version: string): string {
  return version.split('.', 1).join('');
}

/** Returns what a store holds as a record; `undefined` if it cannot be read. */
export function parseStored({ version, text, age }: StoredRecord): VersionedRecord | undefined {
  if (!hasVersion(version) || Number.isNaN(Number(age))) return undefined;
  const record = parseRecord(String(text));
  return record && { record, version, age };
}

/** Without a version, a write that expects no record could replace the record. */
const hasVersion = (version: unknown) => typeof version === 'string' && version !== '';

/** Reads what a store holds under a key, also what is not a record of a charge. */
const readStored = (store: JournalStore, key: string) => callStore(store, 'read', () => store.read(key));

/** @throws {JournalError} if the store fails, and does not show that the write was done. */
export async function writeText(store: JournalStore, key: string, change: RecordChange): Promise<boolean> {
  return await callStore(store, 'written', async () => {
    try {
      return await writeGrouped(store, key, change);
    } catch (error) {
      // What a store refuses does not count, even if it can be read: it might be in a transaction that is not committed.
      if (error instanceof JournalError) throw error;
      // The write might have been done, and only its result lost.
      const found = await readStored(store, key).catch(() => null);
      if (found?.version === change.version) return true;
      throw error;
    }
  });
}

/**
 * Reads a record of the journal's own. `null`: there is none.
 *
 * @throws what `unreadable` returns if the record is not as the schema says.
 */
export async function readOwn<T>(
  store: JournalStore,
  key: string,
  schema: z.ZodMiniType<T>,
  unreadable: () => JournalError,
): Promise<{ readonly value: T; readonly version: string } | null> {
  const stored = await readStored(store, key);
  if (!stored) return null;
  const parsed = schema.safeParse(parseJson(String(stored.text)));
  if (parsed.success) return { value: parsed.data, version: stored.version };
  throw unreadable();
}

/** Writes a record of the journal's own, which no list finds. Returns its version; `null` if it was not as expected. */
export async function writeOwn(
  store: JournalStore,
  key: string,
  value: object,
  { expected, mustCommit }: Pick<RecordChange, 'expected' | 'mustCommit'>,
): Promise<string | null> {
  const version = newVersion(crypto.randomUUID());
  const change = { expected, version, text: JSON.stringify(value), mustCommit, index: null, dueIn: null };
  return (await writeText(store, key, change)) ? version : null;
}

/** The records of one journal, as its methods read and write them. */
export type Records = ReturnType<typeof createRecords>;

export function createRecords(store: JournalStore, lease: number) {
  return {
    store,

    /**
     * Reads the record of a key.
     *
     * @throws {JournalError} if the store fails. Its outcome is `unknown` if there is a record that cannot be read: a
     * charge might exist, so nothing is sent.
     */
    async read(key: string): Promise<VersionedRecord | null> {
      const stored = await readStored(store, key);
      if (!stored) return null;
      const found = parseStored(stored);
      if (found) return found;
      throw new JournalError(
        'The journal has a record of this key that cannot be read: a newer version of this package might have written ' +
          'it, or it was damaged.',
        { outcome: 'unknown' },
      );
    },

    /** Replaces a record; `false` if its version is not the expected one. */
    write(
      key: string,
      record: JournalRecord,
      options: Omit<RecordChange, 'text' | 'index'>,
    ): Promise<boolean> {
      const { state, createdAt, order } = record;
      const reference = referenceOf(record)?.toLowerCase() ?? null;
      const index = { kind: order === undefined ? 'key' : 'order', state, createdAt, reference } as const;
      const text = JSON.stringify({ ...record, updatedAt: Date.now() });
      return writeText(store, key, { ...options, text, index });
    },

    /** Whether a process holds the claim of a record: its lease has not expired. */
    isInProgress: ({ record, age }: VersionedRecord) =>
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
