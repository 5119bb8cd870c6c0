import * as z from 'zod/mini';
import { referenceSchema } from '../api/input.ts';
import { initializedPaymentSchema, looseObject } from '../api/transaction.ts';
import { ConfigurationError, JournalError } from '../errors.ts';
import { redactUnknownSecrets, sanitizeError, shownReference } from '../redact.ts';
import { parseJson } from '../untrusted.ts';
import type { JournalStore, RecordChange, StoredRecord } from './store.ts';

/** What is known of a key, whatever its state. No key of the API, phone number or email is among it. */
const baseFields = {
  /** The form of this record, for versions to come. */
  format: z.literal(1),
  operation: z.enum(['initialize', 'chargeMobileMoney']),
  /** A digest of the base URL and the mode that it was meant for. */
  service: z.string(),
  /** A digest of the whole input: the same for the same input under the same key. */
  fingerprint: z.string(),
  /** With two decimals. */
  amount: z.string(),
  currency: z.string(),
};

/** A key's record, as it is kept. A key without one was never used. */
const journalRecordSchema = z.discriminatedUnion('state', [
  /** About to be sent, or sent. Where nobody renews it any more, whoever began it has died, and a charge may exist. */
  z.object({ ...baseFields, state: z.literal('begun') }),
  /** The service took it. */
  z.object({ ...baseFields, state: z.literal('completed'), result: looseObject({ reference: z.string() }) }),
  /** It is proven that no charge exists: the key may be used again, with any input. */
  z.object({ ...baseFields, state: z.enum(['not_sent', 'rejected']) }),
  /** A charge may exist. Nothing is sent until somebody settles it. */
  z.object({ ...baseFields, state: z.literal('unknown'), reference: z.optional(z.string()) }),
  /** Somebody said that no charge exists: the key is free, for any input. */
  z.object({ ...baseFields, state: z.literal('not_charged') }),
]);

/**
 * What is kept of a key, by its `state`.
 *
 * @useDeclaredType
 */
export type JournalRecord = z.output<typeof journalRecordSchema>;

/** What is about to be sent. */
export type ChargeIntent = Pick<
  JournalRecord,
  'operation' | 'service' | 'fingerprint' | 'amount' | 'currency'
>;

/** How an attempt ended. */
export type Completion =
  | { state: 'completed'; result: { reference: string } }
  | { state: 'not_sent' | 'rejected' }
  | { state: 'unknown'; reference?: string | undefined };

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
  const record = journalRecordSchema.safeParse(parseJson(text));
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

/**
 * What somebody found out about a charge whose outcome was unknown: its `reference`, or that there is none. A payment
 * of `initialize` needs its `checkout_url` too.
 */
export type Resolution = { reference: string; checkout_url?: string | undefined } | 'not_charged';

/** The record once it is settled, or `null` where it says so already. */
export function applyResolution(record: JournalRecord, resolution: Resolution): JournalRecord | null {
  const { format, operation, service, fingerprint, amount, currency } = record;
  const known = { format, operation, service, fingerprint, amount, currency };
  if (resolution === 'not_charged') {
    if (record.state === 'completed') {
      throw new JournalError(
        `The journal holds the answer to this charge: ${shownReference(record.result.reference)}. It is not "not charged".`,
      );
    }
    return record.state === 'not_charged' ? null : { ...known, state: 'not_charged' };
  }

  const { reference, checkout_url } = validateResolution(resolution);
  if (record.state === 'completed') {
    if (record.result.reference === reference) return null;
    throw new JournalError(
      `The journal holds the answer to this charge: ${shownReference(record.result.reference)}.`,
    );
  }
  const result = { reference, amount, currency };
  if (operation === 'chargeMobileMoney')
    return { ...known, state: 'completed', result: { ...result, status: 'processing', message: '' } };
  if (checkout_url !== undefined)
    return { ...known, state: 'completed', result: { ...result, checkout_url } };
  throw new ConfigurationError(
    'This key started a payment by checkout page: give its checkout_url too, or settle it as "not_charged", since no ' +
      'customer was sent to it.',
  );
}

function validateResolution(resolution: Exclude<Resolution, 'not_charged'>) {
  const { reference, checkout_url } = Object(resolution);
  if (!referenceSchema.safeParse(reference).success) {
    throw new ConfigurationError(
      'Settle a key with { reference }, the TXN-… of the charge that you found, or with "not_charged".',
    );
  }
  const address = initializedPaymentSchema.shape.checkout_url;
  if (checkout_url !== undefined && !address.safeParse(checkout_url).success)
    throw new ConfigurationError("checkout_url must be the web address of the payment's checkout page.");
  return { reference, checkout_url };
}
