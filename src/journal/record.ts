import * as z from 'zod/mini';
import { referenceSchema } from '../api/input.ts';
import { initializedPaymentSchema, keepUnknownFields } from '../api/transaction.ts';
import { ConfigurationError, JournalError } from '../errors.ts';
import { redactReference, redactUnknownSecrets } from '../redact.ts';
import { sanitizeError } from '../sanitize-error.ts';
import { parseJson } from '../untrusted.ts';
import type { JournalStore, RecordChange, StoredRecord } from './store.ts';

/** What every record of a key holds. No API key, phone number or email is in it. */
const baseFields = {
  /** The format of this record, for later versions. */
  format: z.literal(1),
  operation: z.enum(['initialize', 'chargeMobileMoney']),
  /** A digest of base URL and mode. */
  service: z.string(),
  /** A digest of the whole input: the same for the same input under the same key. */
  fingerprint: z.string(),
  /** With two decimals. */
  amount: z.string(),
  currency: z.string(),
};

/** The record of a key, as it is stored. A key without one was never used. */
const journalRecordSchema = z.discriminatedUnion('state', [
  /** The request is about to be sent, or was sent. If no process renews it, its process died, and a charge might exist. */
  z.object({ ...baseFields, state: z.literal('begun') }),
  /** The service made the charge. */
  z.object({
    ...baseFields,
    state: z.literal('completed'),
    result: keepUnknownFields({ reference: z.string() }),
  }),
  /** It is proven that no charge exists: the key can be used again, with any input. */
  z.object({ ...baseFields, state: z.enum(['not_sent', 'rejected']) }),
  /** A charge might exist. Nothing is sent until a person resolves the key. */
  z.object({ ...baseFields, state: z.literal('unknown'), reference: z.optional(z.string()) }),
  /** A person resolved that no charge exists: the key can be used again, with any input. */
  z.object({ ...baseFields, state: z.literal('not_charged') }),
]);

/**
 * What is stored of a key, by its `state`.
 *
 * @useDeclaredType
 */
export type JournalRecord = z.output<typeof journalRecordSchema>;

/** What is about to be sent. */
export type ChargeIntent = Pick<
  JournalRecord,
  'operation' | 'service' | 'fingerprint' | 'amount' | 'currency'
>;

/** The outcome of a call under a claim. */
export type Completion =
  | { state: 'completed'; result: { reference: string } }
  | { state: 'not_sent' | 'rejected' }
  | { state: 'unknown'; reference?: string | undefined };

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

/**
 * Reads the record of a key.
 *
 * @throws {JournalError} if the store fails. Its outcome is `unknown` if there is a record that cannot be read: a charge
 * might exist, so nothing is sent.
 */
export async function readRecord(store: JournalStore, key: string): Promise<VersionedRecord | null> {
  const stored = await readStored(store, key);
  if (!stored) return null;
  const { version, text, age } = stored;
  const record = journalRecordSchema.safeParse(parseJson(String(text)));
  if (record.success && hasVersion(version) && !Number.isNaN(Number(age)))
    return { record: record.data, version, age };
  throw new JournalError(
    'The journal has a record of this key that cannot be read: a newer version of this package might have written it, ' +
      'or it was damaged.',
    { outcome: 'unknown' },
  );
}

/** Without a version, a write that expects no record could replace the record. */
const hasVersion = (version: unknown) => typeof version === 'string' && version !== '';

/** Reads what a store holds under a key, also what is not a record of a charge. */
export async function readStored(store: JournalStore, key: string): Promise<StoredRecord | null> {
  try {
    return await store.read(key);
  } catch (error) {
    throw toStoreError('read', error);
  }
}

/** What a write of a record needs besides the record. */
interface WriteOptions {
  /** The version that the record must have, or `null` if there must be no record. */
  expected: string | null;
  version: string;
  retention: number;
  mustCommit: boolean;
}

/** Replaces a record by compare-and-swap; `false` if its version is not the expected one. */
export async function writeRecord(
  store: JournalStore,
  key: string,
  record: JournalRecord,
  { expected, version, retention, mustCommit }: WriteOptions,
): Promise<boolean> {
  const isUnresolved = record.state === 'begun' || record.state === 'unknown';
  const ttl = isUnresolved || retention === Number.POSITIVE_INFINITY ? null : toWholeMs(retention);
  return writeText(store, key, { expected, version, text: JSON.stringify(record), ttl, mustCommit });
}

/** A larger number is not a date in any database. */
const toWholeMs = (milliseconds: number) => Math.min(Math.ceil(milliseconds), Number.MAX_SAFE_INTEGER);

/** @throws {JournalError} if the store fails, and does not show that the write was done. */
export async function writeText(store: JournalStore, key: string, change: RecordChange): Promise<boolean> {
  try {
    return (await store.write(key, change)) === true;
  } catch (error) {
    // What a store refuses does not count, even if it can be read: it might be in a transaction that is not committed.
    if (error instanceof JournalError) throw error;
    // The write might have been done, and only its result lost.
    const found = await readStored(store, key).catch(() => null);
    if (found?.version === change.version) return true;
    throw toStoreError('written', error);
  }
}

function toStoreError(step: 'read' | 'written', error: unknown): JournalError {
  if (error instanceof JournalError) return error;
  const cause: Error & { code?: unknown } = sanitizeError(error, redactUnknownSecrets);
  // An AggregateError, of a name with several addresses, has no message.
  const reason = cause.message || cause.code || cause.name;
  return new JournalError(`The journal could not be ${step} (${reason}).`, { cause, retryable: true });
}

/**
 * What a person found out about a charge whose outcome was unknown: its `reference`, or that it does not exist. A payment
 * of `initialize` needs its `checkout_url` too.
 */
export type Resolution = { reference: string; checkout_url?: string | undefined } | 'not_charged';

/**
 * Returns the record once it is resolved, or `null` if it holds that already.
 *
 * @throws {JournalError} if the record contradicts the resolution.
 * @throws {ConfigurationError} if the resolution is not valid.
 */
export function applyResolution(record: JournalRecord, resolution: Resolution): JournalRecord | null {
  const { format, operation, service, fingerprint, amount, currency } = record;
  const base = { format, operation, service, fingerprint, amount, currency };
  if (resolution === 'not_charged') {
    if (record.state === 'completed')
      throw contradictionError(record.result.reference, ' It is not "not charged".');
    return record.state === 'not_charged' ? null : { ...base, state: 'not_charged' };
  }

  const { reference, checkout_url } = validateResolution(resolution);
  if (record.state === 'completed') {
    if (record.result.reference === reference) return null;
    throw contradictionError(record.result.reference);
  }
  const result = { reference, amount, currency };
  if (operation === 'chargeMobileMoney')
    return { ...base, state: 'completed', result: { ...result, status: 'processing', message: '' } };
  if (checkout_url !== undefined) return { ...base, state: 'completed', result: { ...result, checkout_url } };
  throw new ConfigurationError(
    'This key started a payment by checkout page: give its checkout_url too, or resolve it as "not_charged", since no ' +
      'customer was sent to it.',
  );
}

function validateResolution(resolution: Exclude<Resolution, 'not_charged'>) {
  const { reference, checkout_url } = Object(resolution);
  if (!referenceSchema.safeParse(reference).success) {
    throw new ConfigurationError(
      'Resolve a key with { reference }, the TXN-… of the charge that you found, or with "not_charged".',
    );
  }
  const address = initializedPaymentSchema.shape.checkout_url;
  if (checkout_url !== undefined && !address.safeParse(checkout_url).success)
    throw new ConfigurationError("checkout_url must be the web address of the payment's checkout page.");
  return { reference, checkout_url };
}

/** The service itself returned a result, and a person cannot overrule it. */
function contradictionError(recorded: string, more = ''): JournalError {
  return new JournalError(
    `The journal holds the result of this charge: ${redactReference(recorded)}.${more}`,
  );
}
