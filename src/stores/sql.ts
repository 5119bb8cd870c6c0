import { ConfigurationError, JournalError } from '../errors.ts';
import { type ListedRecord, NoJournalError, type StoredRecord, type StoreRead } from '../journal/store.ts';
import { redactUnknownSecrets } from '../support/redact.ts';
import { sanitizeError } from '../support/sanitize-error.ts';

/** @throws {ConfigurationError} if `table` is not a plain name in lower case, with a schema or database or without. */
export function assertTableName(table: unknown): void {
  if (typeof table === 'string' && /^(?:[a-z_][a-z\d_]{0,62}\.)?[a-z_][a-z\d_]{0,50}$/.test(table)) return;
  throw new ConfigurationError('table must be a plain name in lower case, such as payments_journal.');
}

/** Returns what throws an error again; if that says that the table is missing, as one that says how it is made. */
export function explainMissingTable(isMissing: (error: unknown) => boolean, how: string) {
  return (error: unknown): never => {
    if (!isMissing(error)) throw error;
    throw new NoJournalError(how, sanitizeError(error, redactUnknownSecrets));
  };
}

/** What a driver emits `error` on. */
interface Emitter {
  on?(event: 'error', listener: () => void): unknown;
}

export const ignore = () => {};
const withListener = new WeakSet<Emitter>();

/**
 * Listens for `error`. Drivers emit it for a connection that breaks while it is idle, and it ends a process without a
 * listener. A restart of the server must not do that. The next query on the connection fails anyway, so nothing is hidden.
 */
export function surviveBrokenConnections(client: Emitter): void {
  if (withListener.has(client) || typeof client.on !== 'function') return;
  withListener.add(client);
  client.on('error', ignore);
}

const createUnreadableError = () =>
  new JournalError(
    'The database returned a row of the journal without its columns, so no record can be read. ' +
      'Turn off returnArrays or raw() of its driver.',
    { outcome: 'unknown' },
  );

/**
 * Returns what reads rows by the names of their columns, which are the same in each dialect. A row without one of them must
 * not count as "nothing was found": that throws what `unreadable` returns.
 */
export function createRowReader(unreadable = createUnreadableError) {
  const toText = (value: unknown): string => {
    if (typeof value === 'string') return value;
    throw unreadable();
  };
  /** A driver might return a number as a BigInt or as text. */
  const toNumber = (value: unknown): number => {
    const isNumber = typeof value === 'number' || typeof value === 'bigint';
    const number = isNumber ? Number(value) : Number(toText(value) || Number.NaN);
    if (Number.isFinite(number)) return number;
    throw unreadable();
  };
  const toStoredRecord = (row: unknown): StoredRecord => {
    const { version, record } = Object(row);
    return { version: toText(version), text: toText(record) };
  };
  return {
    toNumber,
    toStoredRecord,
    /** Of a statement that returns the time in each case, and the columns of the record as `NULL` if there is none. */
    toRead(row: unknown): StoreRead {
      const { now, version } = Object(row);
      const record = version === null ? null : toStoredRecord(row);
      return { record, now: toNumber(now) };
    },
    toListedRecord(row: unknown): ListedRecord {
      const { key, at } = Object(row);
      return { ...toStoredRecord(row), key: toText(key), at: toNumber(at) };
    },
    toCount(row: unknown) {
      const { records, attention } = Object(row);
      return { records: toNumber(records), attention: toNumber(attention) };
    },
    toDue(row: unknown) {
      const { due, later } = Object(row);
      return { due: toNumber(due), nextIn: later === null ? null : Math.max(0, toNumber(later)) };
    },
  };
}
