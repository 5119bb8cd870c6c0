/**
 * The facts: what is stored of an order, in one record. A fact is what a process, the service or a person did or saw, with its
 * time. What follows from the facts is never stored: payment.ts and order.ts conclude it.
 */

import * as z from 'zod/mini';

/** The format of the records that this version writes. Another one is never guessed at. */
export const FORMAT = 1;

/** Milliseconds since 1970, by the clock of the store. */
const time = z.number();

const priceSchema = z.object({
  /** With two decimals. */
  amount: z.string(),
  currency: z.string(),
});

/** Why an attempt failed: the error's code, and the HTTP status if there was a response. */
const errorSchema = z.object({ code: z.string(), status: z.nullable(z.number()) });

/** What the service returned of a transaction, with its documented fields alone. */
const resultSchema = z.looseObject({ reference: z.string() });

const chargeSchema = z.discriminatedUnion('is', [
  /** A process is about to send the request, or has sent it. It holds the payment until then, unless it renews its lease. */
  z.object({
    is: z.literal('sending'),
    until: time,
    /** How long before that it was claimed or renewed, in milliseconds. */
    lease: z.optional(z.number()),
    /** The transaction, if a webhook named one meanwhile. */
    named: z.optional(z.string()),
  }),
  /** No charge exists. */
  z.object({
    is: z.literal('none'),
    why: z.enum(['not_sent', 'rejected', 'not_charged', 'recorded_elsewhere']),
    error: z.optional(errorSchema),
  }),
  /** A charge might exist. */
  z.object({
    is: z.literal('unknown'),
    /**
     * - `no_result`: the request might have arrived, and no result came back.
     * - `late`: a process learned of the transaction when the attempt was no longer its own.
     * - `notified`: a webhook named the transaction.
     * - `added`: a person names a transaction that belongs to the order.
     * - `shared_reference`: the transaction is that of another payment.
     */
    why: z.enum(['no_result', 'late', 'notified', 'added', 'shared_reference']),
    /** The transaction, if an error, a response or a webhook named one. */
    reference: z.optional(z.string()),
    error: z.optional(errorSchema),
  }),
  z.object({ is: z.literal('made'), result: resultSchema }),
  /** A person dealt with it outside. `reference` is that of a charge that was made, `named` that of one that was unknown. */
  z.object({ is: z.literal('closed'), reference: z.optional(z.string()), named: z.optional(z.string()) }),
]);

const seenSchema = z.object({
  reference: z.string(),
  /** As the last check that got a transaction found it. A `success` stays. */
  status: z.optional(z.string()),
  paid_at: z.optional(z.nullable(z.string())),
  /** The price of the transaction, if it is not that of the payment. */
  other: z.optional(priceSchema),
  /** When the last check that got an answer was asked. A 404 is an answer. */
  askedAt: z.optional(time),
  /** Since when the transaction is `failed` or `abandoned`. */
  endedAt: z.optional(time),
  /** When the first of the latest checks was asked that all got a 404. */
  notFoundSince: z.optional(time),
  /** When the first and the last of the latest checks were asked that all got another permanent error. */
  failing: z.optional(z.object({ since: time, at: time })),
});

/** When the next check is due, and what that depends on. */
const paceSchema = z.object({
  nextAt: time,
  /** How many of the latest pauses doubled: after the deadline, an end, or a problem. */
  slow: z.number(),
  /** When the last notification came that no check was asked after. */
  notifiedAt: z.optional(time),
});

/** A reference that is written here first, then claimed, then confirmed. It counts as held meanwhile. */
const claimingSchema = z.object({
  reference: z.string(),
  /** The attempt or the resolution that names it. */
  by: z.string(),
});

const resolutionSchema = z.object({
  id: z.string(),
  at: time,
  by: z.string(),
  reason: z.string(),
  resolution: z.union([
    z.enum(['not_charged', 'closed', 'accepted', 'taken_back']),
    z.object({ reference: z.string() }),
  ]),
  attempt: z.string(),
  /** What it replaced: `taken_back` brings it back. */
  replaced: z.object({ charge: chargeSchema, accepted: z.boolean() }),
  sawSuccess: z.boolean(),
});

const toldSchema = z.object({
  paid: z.optional(z.literal(true)),
  unpaid: z.optional(z.literal(true)),
  final: z.optional(z.enum(['success', 'ended'])),
  attention: z.array(z.string()),
});

/** The schedule of the client that made the payment, in milliseconds. Without `timeout` it has no deadline. */
const scheduleSchema = z.object({
  initialDelay: z.number(),
  minDelay: z.number(),
  maxDelay: z.number(),
  timeout: z.optional(z.number()),
});

const paymentSchema = z.object({
  operation: z.enum(['initialize', 'chargeMobileMoney']),
  ...priceSchema.shape,
  network: z.optional(z.string()),
  /** A digest of the customer's number, so short that many numbers share it. */
  phone: z.optional(z.string()),
  /** A digest of the whole input. */
  fingerprint: z.string(),
  /** The id of the latest attempt. The process that holds it recognises its own writes by it. */
  attempt: z.string(),
  /** How many requests were sent, or might have been, and the `X-Request-Id` of the latest of them. */
  attempts: z.number(),
  requestIds: z.array(z.string()),
  createdAt: time,
  /** Its place in the order of presses. 0: no press asked for it. */
  pressed: z.number(),
  charge: chargeSchema,
  claiming: z.optional(claimingSchema),
  seen: z.optional(seenSchema),
  /** A person takes the payment as it is. */
  accepted: z.optional(z.literal(true)),
  resolutions: z.array(resolutionSchema),
  told: toldSchema,
  pace: z.optional(paceSchema),
  schedule: scheduleSchema,
  finalStatuses: z.array(z.string()),
});

const recordSchema = z.object({
  format: z.literal(FORMAT),
  /** An order, or an idempotency key of the caller's own. */
  kind: z.enum(['order', 'key']),
  /** A digest of base URL and mode. */
  service: z.string(),
  price: priceSchema,
  presses: z.number(),
  /** The number of the payment that pays the order. Once it is there it never changes. */
  winner: z.optional(z.number()),
  /** Oldest first. Their numbers count from 1. */
  payments: z.array(paymentSchema),
  /** How many calls of handlers failed in a row, and when the next one is due. */
  telling: z.optional(z.object({ failures: z.number(), retryAt: time })),
});

/** All that is known of an order, or of an idempotency key. @useDeclaredType */
export type LedgerRecord = z.output<typeof recordSchema>;
/** A payment of an order. @useDeclaredType */
export type Payment = z.output<typeof paymentSchema>;
/** What is known of a charge. @useDeclaredType */
export type Charge = z.output<typeof chargeSchema>;
/** What the checks of a transaction found. @useDeclaredType */
export type Seen = z.output<typeof seenSchema>;
/** @useDeclaredType */
export type Price = z.output<typeof priceSchema>;
/** Why an attempt failed. @useDeclaredType */
export type RecordedError = z.output<typeof errorSchema>;
/** What the service returned of a transaction. @useDeclaredType */
export type RecordedResult = z.output<typeof resultSchema>;
/** What a person decided, when and why. @useDeclaredType */
export type RecordedResolution = z.output<typeof resolutionSchema>;

/** Returns what a store holds as a record; `undefined` if it cannot be read. */
export function parseLedgerRecord(value: unknown): LedgerRecord | undefined {
  return recordSchema.safeParse(value).data;
}

/** Returns the record with a payment replaced, or added after the last one. */
export function putPayment(record: LedgerRecord, number: number, payment: Payment): LedgerRecord {
  const payments = [...record.payments];
  payments[number - 1] = payment;
  return { ...record, payments };
}

/** No plan is for later than a day and 10 % of jitter, in milliseconds. */
const MAX_PLAN = 26.4 * 60 * 60 * 1000;

/** Returns when something is planned. A plan that is too far ahead is for now: the store's clock was set back. */
export const toPlannedTime = (now: number, at: number) => (at > now + MAX_PLAN ? now : at);

/** Returns a time of the record. One that is later than `now` counts as now: the store's clock was set back. */
export const notAfter = (now: number, at: number) => Math.min(now, at);
