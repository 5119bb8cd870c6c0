import * as z from 'zod/mini';
import { keepUnknownFields } from '../api/transaction.ts';
import { JournalError } from '../errors.ts';
import { redactUnknownSecrets } from '../redact.ts';
import { sanitizeError } from '../sanitize-error.ts';
import { parseJson } from '../untrusted.ts';
import { writeGrouped } from './group-commit.ts';
import type { JournalStore, RecordChange, StoredRecord } from './store.ts';

/** What a person resolved about a key. */
const resolutionEntrySchema = z.object({
  /** Milliseconds since 1970. */
  at: z.number(),
  by: z.string(),
  reason: z.string(),
  resolution: z.union([z.enum(['not_charged', 'closed']), z.object({ reference: z.string() })]),
});

/** Why the latest call under a key failed: the error's code, and the HTTP status if there was a response. */
const recordedErrorSchema = z.object({ code: z.string(), status: z.nullable(z.number()) });

/** How far the follow-up of a payment is. */
const followUpSchema = z.object({
  /** How many checks were made. */
  checks: z.number(),
  /** When the last one was made, in milliseconds since 1970. */
  checkedAt: z.optional(z.number()),
  /** How many of the latest ones were planned at the slow pauses: after the deadline, a mismatch, a 404 or a 403. */
  slowChecks: z.optional(z.number()),
  /** How long these pauses were together, in milliseconds. It ends the follow-up, so that no clock that jumps does. */
  slowFor: z.optional(z.number()),
  /** Since when every check was a 404, in milliseconds since 1970. */
  notFoundSince: z.optional(z.number()),
  /** What the last check found that a person has to look at. */
  problem: z.optional(z.enum(['mismatch', 'gone'])),
  /** Whether the last check was a 403, although the API key could read other payments. */
  denied: z.optional(z.literal(true)),
  /** How many notifications have come since the last check. */
  notified: z.optional(z.number()),
  /** The reasons that `onAttention` was called for. */
  reported: z.array(z.string()),
  /** The final status, once a check has returned it. */
  final: z.optional(z.object({ status: z.string(), paid_at: z.nullable(z.string()) })),
  /** The status that `onFinal` succeeded with. After `abandoned`, another one can follow. */
  delivered: z.optional(z.string()),
  /** How many calls of `onFinal` or `onAttention` failed in a row. */
  failures: z.optional(z.number()),
  /** Why there is no further step: `onFinal` succeeded, or nothing was final for a week after the deadline. */
  ended: z.optional(z.enum(['delivered', 'given_up'])),
  /** Whether the lease of the key's claim had expired when this was written. The write is no heartbeat then. */
  leaseExpired: z.optional(z.literal(true)),
});

/** Of a payment of `createOrderPayments`: which order it pays, and its number among the payments of that order, from 1. */
const orderMarkSchema = z.object({
  id: z.string(),
  number: z.number(),
  /** A digest of the customer's number, so short that many numbers share it: it tells that another one was given. */
  phone: z.optional(z.string()),
});

/** What every record of a key holds. No API key, phone number or email of a customer is in it. */
const baseFields = {
  /** The format of this record, for later versions. */
  format: z.literal(2),
  operation: z.enum(['initialize', 'chargeMobileMoney']),
  /** A digest of base URL and mode. */
  service: z.string(),
  /** A digest of the whole input: the same for the same input under the same key. */
  fingerprint: z.string(),
  /** With two decimals. */
  amount: z.string(),
  currency: z.string(),
  /** Of a Mobile Money charge. */
  network: z.optional(z.string()),
  /** Of a payment of `createOrderPayments`. */
  order: z.optional(orderMarkSchema),
  /** When the latest call under the key began, in milliseconds since 1970. */
  createdAt: z.number(),
  /** When the record was last written, by the clock of the process that wrote it, in milliseconds since 1970. */
  updatedAt: z.optional(z.number()),
  /** How many requests were sent under the key, or might have been. */
  attempts: z.number(),
  /** The `X-Request-Id` of the latest of them. */
  requestIds: z.array(z.string()),
  /** What persons resolved, oldest first. */
  resolutions: z.array(resolutionEntrySchema),
  followUp: z.optional(followUpSchema),
};

const error = z.optional(recordedErrorSchema);

/** The record of a key, as it is stored. A key without one was never used. */
const journalRecordSchema = z.discriminatedUnion('state', [
  /** The request is about to be sent, or was sent. If no process renews it, its process died, and a charge might exist. */
  z.object({ ...baseFields, state: z.literal('begun') }),
  /** The service made the charge. */
  z.object({
    ...baseFields,
    state: z.literal('completed'),
    result: keepUnknownFields({ reference: z.string() }),
    /** Whether a person found the charge. Without it, the service returned the result itself. */
    resolved: z.optional(z.literal(true)),
  }),
  /** It is proven that no charge exists: the key can be used again, with any input. */
  z.object({ ...baseFields, state: z.enum(['not_sent', 'rejected']), error }),
  /** A charge might exist. Nothing is sent until a person resolves the key. */
  z.object({ ...baseFields, state: z.literal('unknown'), reference: z.optional(z.string()), error }),
  /** A person resolved that no charge exists: the key can be used again, with any input. */
  z.object({ ...baseFields, state: z.literal('not_charged') }),
  /** A person dealt with the payment outside: paid back, or accepted. It is never charged again, and not followed up. */
  z.object({ ...baseFields, state: z.literal('closed'), reference: z.optional(z.string()) }),
]);

/**
 * What is stored of a key, by its `state`.
 *
 * @useDeclaredType
 */
export type JournalRecord = z.output<typeof journalRecordSchema>;

/** How far the follow-up of a payment is. @useDeclaredType */
export type FollowUp = z.output<typeof followUpSchema>;

/** The follow-up before its first step. */
export const NO_FOLLOW_UP: FollowUp = { checks: 0, reported: [] };

/** Which order a payment pays, and its number among the payments of that order. @useDeclaredType */
export type OrderMark = z.output<typeof orderMarkSchema>;

/** The key of what is recorded of an order itself. No caller's key has a control character. */
export const orderRecordKey = (id: string) => `\torder ${id}`;

/** The key of a payment of an order, by its number from 1. */
export const paymentKey = (id: string, number: number) => `${id}/${number}`;

/** What is about to be sent. */
export interface ChargeIntent {
  readonly operation: JournalRecord['operation'];
  /** A digest of base URL and mode. */
  readonly service: string;
  /** A digest of the whole input: the same for the same input under the same key. */
  readonly fingerprint: string;
  /** With two decimals. */
  readonly amount: string;
  readonly currency: string;
  /** Of a Mobile Money charge. */
  readonly network?: string | undefined;
  /** Of a payment of an order: it is recorded from the claim on. */
  readonly order?: OrderMark | undefined;
  /** The `X-Request-Id` of the request. */
  readonly requestId?: string | undefined;
}

/** What happened under a key until now. */
export interface KeyHistory {
  /** When the latest call under the key began, in milliseconds since 1970. */
  readonly createdAt: number;
  /** How many requests were sent under the key, or might have been. */
  readonly attempts: number;
  /** The `X-Request-Id` of the latest of them. */
  readonly requestIds: string[];
  /** What persons resolved, oldest first. */
  readonly resolutions: RecordedResolution[];
}

/** What a person resolved about a key, when and why. @useDeclaredType */
export type RecordedResolution = z.output<typeof resolutionEntrySchema>;

/** How many request ids of a key are kept. */
const MAX_REQUEST_IDS = 20;

/** Returns the history with one more request, about to be sent. */
export function addRequest(history: KeyHistory, requestId: string | undefined): KeyHistory {
  const added = requestId === undefined ? [] : [requestId];
  const requestIds = [...history.requestIds, ...added].slice(-MAX_REQUEST_IDS);
  return { ...history, attempts: history.attempts + 1, requestIds };
}

/** Why a call failed. @useDeclaredType */
export type RecordedError = z.output<typeof recordedErrorSchema>;

/** The outcome of a call under a claim. */
export type Completion =
  | {
      state: 'completed';
      result: { reference: string };
      /** How long after `createdAt` a follow-up checks the payment for the first time, in milliseconds. @default 0 */
      firstCheckIn?: number | undefined;
    }
  | { state: 'not_sent' | 'rejected'; error?: RecordedError | undefined }
  | { state: 'unknown'; reference?: string | undefined; error?: RecordedError | undefined };

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
  const found = parseStored(stored);
  if (found) return found;
  throw new JournalError(
    'The journal has a record of this key that cannot be read: a newer version of this package might have written it, ' +
      'or it was damaged.',
    { outcome: 'unknown' },
  );
}

/** Returns what a store holds as a record; `undefined` if it cannot be read. A newer format is never guessed at. */
export function parseStored({ version, text, age }: StoredRecord): VersionedRecord | undefined {
  if (!hasVersion(version) || Number.isNaN(Number(age))) return undefined;
  const record = journalRecordSchema.safeParse(parseJson(String(text)));
  return record.success ? { record: record.data, version, age } : undefined;
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
export interface WriteOptions {
  /** The version that the record must have, or `null` if there must be no record. */
  expected: string | null;
  version: string;
  mustCommit: boolean;
  dueIn: number | null;
}

/** Replaces a record by compare-and-swap; `false` if its version is not the expected one. */
export async function writeRecord(
  store: JournalStore,
  key: string,
  record: JournalRecord,
  { expected, version, mustCommit, dueIn }: WriteOptions,
): Promise<boolean> {
  const { state, createdAt } = record;
  const kind = record.order === undefined ? 'key' : 'order';
  const index = { kind, state, createdAt, reference: referenceOf(record)?.toLowerCase() ?? null } as const;
  const text = JSON.stringify({ ...record, updatedAt: Date.now() });
  return writeText(store, key, { expected, version, text, mustCommit, index, dueIn });
}

/** Returns the transaction that a record names. */
export function referenceOf(record: JournalRecord): string | undefined {
  if (record.state === 'completed') return record.result.reference;
  return record.state === 'unknown' || record.state === 'closed' ? record.reference : undefined;
}

/** Whether a record names a transaction. It is not documented whether the service tells upper and lower case apart. */
export function namesReference(record: JournalRecord, reference: string): boolean {
  return referenceOf(record)?.toLowerCase() === reference.toLowerCase();
}

/** @throws {JournalError} if the store fails, and does not show that the write was done. */
export async function writeText(store: JournalStore, key: string, change: RecordChange): Promise<boolean> {
  try {
    return await writeGrouped(store, key, change);
  } catch (error) {
    // What a store refuses does not count, even if it can be read: it might be in a transaction that is not committed.
    if (error instanceof JournalError) throw error;
    // The write might have been done, and only its result lost.
    const found = await readStored(store, key).catch(() => null);
    if (found?.version === change.version) return true;
    throw toStoreError('written', error);
  }
}

export function toStoreError(step: 'read' | 'written' | 'listed' | 'counted', error: unknown): JournalError {
  if (error instanceof JournalError) return error;
  const cause: Error & { code?: unknown } = sanitizeError(error, redactUnknownSecrets);
  // An AggregateError, of a name with several addresses, has no message.
  const reason = cause.message || cause.code || cause.name;
  return new JournalError(`The journal could not be ${step} (${reason}).`, { cause, retryable: true });
}
