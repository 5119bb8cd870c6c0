import { printable } from '../printable.ts';
import { withoutSecrets } from '../redact.ts';
import { JournalError } from './journal-error.ts';
import { type JournalRecord, journalRecordSchema } from './record.ts';
import type { JournalStore } from './store.ts';

/** A record that was found, and what replacing it takes. */
export interface Found {
  record: JournalRecord;
  version: string;
  age: number;
}

/**
 * @throws JournalError where the store fails, or where what is in it cannot be read: nothing is sent on a record that
 * is not understood.
 */
export async function readRecord(store: JournalStore, key: string): Promise<Found | null> {
  const stored = await store.read(key).catch((fault: unknown) => {
    throw unreachable('read', fault);
  });
  if (!stored) return null;
  const { version, text, age } = stored;
  const record = journalRecordSchema.safeParse(parsed(text));
  if (record.success) return { record: record.data, version, age };
  throw new JournalError(
    `The journal's record of the key ${JSON.stringify(key)} cannot be read: a newer version of this package may have ` +
      'written it. Nothing is sent under this key.',
  );
}

/** Replaces a record and gives the new version, or `null` where another one stands there by now. */
export async function writeRecord(
  store: JournalStore,
  key: string,
  expected: string | null,
  record: JournalRecord,
  { retention, binding }: { retention: number; binding: boolean },
): Promise<string | null> {
  const version = crypto.randomUUID();
  const inDoubt = record.state === 'begun' || record.state === 'unknown';
  const keepFor = inDoubt || retention === Number.POSITIVE_INFINITY ? null : Math.ceil(retention);
  try {
    const written = await store.write(key, {
      expected,
      version,
      text: JSON.stringify(record),
      keepFor,
      binding,
    });
    return written === true ? version : null;
  } catch (fault) {
    // The write may have been done and only its answer lost.
    const found = await store.read(key).catch(() => null);
    if (found?.version === version) return version;
    throw unreachable('written', fault);
  }
}

function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}

function unreachable(done: string, fault: unknown): JournalError {
  if (fault instanceof JournalError) return fault;
  const cause = printable(fault, withoutSecrets);
  return new JournalError(`The journal could not be ${done} (${cause.message}).`, { cause, retryable: true });
}
