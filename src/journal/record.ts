import * as z from 'zod/mini';
import { parseJson } from '../untrusted.ts';

/** What a person resolved about a key. */
const resolutionEntrySchema = /* @__PURE__ */ (() =>
  z.object({
    /** Milliseconds since 1970. */
    at: z.number(),
    by: z.string(),
    reason: z.string(),
    resolution: z.union([z.enum(['not_charged', 'closed']), z.object({ reference: z.string() })]),
  }))();

/** Why the latest call under a key failed: the error's code, and the HTTP status if there was a response. */
const recordedErrorSchema = /* @__PURE__ */ (() =>
  z.object({ code: z.string(), status: z.nullable(z.number()) }))();

/** How far the follow-up of a payment is. */
const followUpSchema = /* @__PURE__ */ (() =>
  z.object({
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
  }))();

/** Of a payment of `createOrderPayments`: which order it pays, and its number among the payments of that order, from 1. */
const orderMarkSchema = /* @__PURE__ */ (() =>
  z.object({
    id: z.string(),
    number: z.number(),
    /** A digest of the customer's number, so short that many numbers share it: it tells that another one was given. */
    phone: z.optional(z.string()),
  }))();

/** What every record of a key holds. No API key, phone number or email of a customer is in it. */
const baseFields = /* @__PURE__ */ (() => ({
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
}))();

const error = /* @__PURE__ */ (() => z.optional(recordedErrorSchema))();

/** The record of a key, as it is stored. A key without one was never used. */
const journalRecordSchema = /* @__PURE__ */ (() =>
  z.discriminatedUnion('state', [
    /** The request is about to be sent, or was sent. If no process renews it, its process died, and a charge might exist. */
    z.object({ ...baseFields, state: z.literal('begun') }),
    /** The service made the charge. */
    z.object({
      ...baseFields,
      state: z.literal('completed'),
      result: z.looseObject({ reference: z.string() }),
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
  ]))();

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

/** What is about to be sent, as it is recorded from the claim on. */
export interface ChargeIntent
  extends Pick<
    JournalRecord,
    'operation' | 'service' | 'fingerprint' | 'amount' | 'currency' | 'network' | 'order'
  > {
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

/** Returns the text of a record as a record; `undefined` if it cannot be read. A newer format is never guessed at. */
export function parseRecord(text: string): JournalRecord | undefined {
  return journalRecordSchema.safeParse(parseJson(text)).data;
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
