import { orUndefined } from '../or-nothing.ts';
import { sanitizeError } from '../printable.ts';
import { redactUnknownSecrets } from '../redact.ts';
import { JournalError } from './journal-error.ts';
import { type JournalRecord, journalRecordSchema } from './record.ts';
import type { JournalStore, RecordChange, StoredRecord } from './store.ts';

/** A record that was found, and what replacing it takes. */
export interface VersionedRecord {
  record: JournalRecord;
  version: string;
  age: number;
}

/** What a write is made of, besides its record. */
interface WriteOptions {
  /** The version that has to be there still, or `null` where there has to be no record. */
  expected: string | null;
  version: string;
  retention: number;
  binding: boolean;
}

/** Every write has a version of its own; those of one owner begin alike, so that it knows its own again. */
export const newVersion = (owner: string) => `${owner}.${crypto.randomUUID()}`;

export function ownerOf(version: string): string {
  return version.split('.', 1).join('');
}

/**
 * @throws JournalError where the store fails, or where what is in it cannot be read: nothing is sent on a record that
 * is not understood, and a charge may be what it tells of.
 */
export async function readRecord(store: JournalStore, key: string): Promise<VersionedRecord | null> {
  const stored = await readStored(store, key);
  if (!stored) return null;
  const { version, text, age } = stored;
  const record = journalRecordSchema.safeParse(orUndefined(() => JSON.parse(String(text))));
  if (record.success && hasVersion(version) && !Number.isNaN(Number(age)))
    return { record: record.data, version, age };
  throw new JournalError(
    'The journal has a record of this key that cannot be read: a newer version of this package may have written it, or ' +
      'it was damaged.',
    { outcome: 'unknown' },
  );
}

/** Without one, a write that expects no record could replace it. */
const hasVersion = (version: unknown) => typeof version === 'string' && version !== '';

/** Replaces a record; `false` where another one than the expected stands there by now. */
export async function writeRecord(
  store: JournalStore,
  key: string,
  record: JournalRecord,
  { expected, version, retention, binding }: WriteOptions,
): Promise<boolean> {
  const inDoubt = record.state === 'begun' || record.state === 'unknown';
  const keepFor = inDoubt || retention === Number.POSITIVE_INFINITY ? null : toWholeMs(retention);
  return writeText(store, key, {
    expected,
    version,
    text: JSON.stringify(record),
    ttl: keepFor,
    mustCommit: binding,
  });
}

/** @throws JournalError if the store fails, and does not show that the write was done */
export async function writeText(store: JournalStore, key: string, change: RecordChange): Promise<boolean> {
  try {
    return (await store.write(key, change)) === true;
  } catch (fault) {
    // What a store refuses does not count, even where it is there: in a transaction that is not committed, say.
    if (fault instanceof JournalError) throw fault;
    // The write may have been done and only its answer lost.
    const found = await readStored(store, key).catch(() => null);
    if (found?.version === change.version) return true;
    throw storeError('written', fault);
  }
}

export async function readStored(store: JournalStore, key: string): Promise<StoredRecord | null> {
  try {
    return await store.read(key);
  } catch (fault) {
    throw storeError('read', fault);
  }
}

/** More than that is no date in any database. */
const toWholeMs = (milliseconds: number) => Math.min(Math.ceil(milliseconds), Number.MAX_SAFE_INTEGER);

function storeError(done: string, fault: unknown): JournalError {
  if (fault instanceof JournalError) return fault;
  const cause: Error & { code?: unknown } = sanitizeError(fault, redactUnknownSecrets);
  // An AggregateError, of a name that has several addresses, says nothing else.
  const said = cause.message || cause.code || cause.name;
  return new JournalError(`The journal could not be ${done} (${said}).`, { cause, retryable: true });
}
