import * as z from 'zod/mini';
import { looseObject } from './loose-object.ts';
import { referenceSchema } from './reference.ts';

/** The statuses of SPEC.md, 3. Any other value is read as `unrecognised`, with the raw value kept. */
export const transactionStatuses = ['pending', 'processing', 'success', 'failed', 'abandoned'] as const;

/** A status of SPEC.md, 3, or `unrecognised` for a value that it does not show. */
export type TransactionStatus = (typeof transactionStatuses)[number] | 'unrecognised';

/** Unknown extra fields stay on the result; the type shows the known ones only, so that a typo does not compile. */
function looseShape<Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
): z.ZodMiniObject<Shape, z.core.$strip> {
  return looseObject(shape);
}

const amount = z.string().check(z.regex(/^\d{1,30}(?:\.\d{1,30})?$/));
const currency = z.string().check(z.regex(/^[A-Za-z]{3}$/));

/** Absent, null and empty mean the same, and a payment is not lost over a field that does not say whether it is paid. */
const textOrNull = z.pipe(
  z.optional(z.unknown()),
  z.transform((value): string | null => (typeof value === 'string' && value !== '' ? value : null)),
);

const verified = {
  reference: referenceSchema,
  /** Decimal text. Hold it against the order with `expect`, which compares decimals exactly. */
  amount,
  currency,
  /** `null` if the service gave none. */
  customer_email: textOrNull,
  /** An ISO 8601 time with an offset, or `null` where the service gave none. `status` alone says whether it is paid. */
  paid_at: textOrNull,
};

const isKnown = (status: string) => transactionStatuses.some((known) => known === status);

function nameUnrecognisedStatus(data: unknown): unknown {
  if (typeof data !== 'object' || data === null || !('status' in data)) return data;
  const { status } = data;
  if (typeof status !== 'string' || isKnown(status)) return data;
  // It was read before, stored, and is read again.
  if (status === 'unrecognised' && 'raw_status' in data && typeof data.raw_status === 'string') return data;
  return { ...data, status: 'unrecognised', raw_status: status };
}

/** What verify returns about a transaction (SPEC.md, 4.3). */
export const transactionSchema = z.pipe(
  z.transform(nameUnrecognisedStatus),
  z.discriminatedUnion('status', [
    looseShape({ status: z.literal('pending'), ...verified }),
    looseShape({ status: z.literal('processing'), ...verified }),
    looseShape({ status: z.literal('success'), ...verified }),
    looseShape({ status: z.literal('failed'), ...verified }),
    looseShape({ status: z.literal('abandoned'), ...verified }),
    looseShape({
      status: z.literal('unrecognised'),
      /** The status as the service wrote it. */
      raw_status: z.string(),
      ...verified,
    }),
  ]),
);

/** What initialize returns (SPEC.md, 4.1). */
export const initializedPaymentSchema = looseShape({
  reference: referenceSchema,
  /** Send the customer here. */
  checkout_url: z.string().check(z.refine(isWebAddress)),
  amount,
  currency,
});

const charged = { reference: referenceSchema, amount, currency };

/** The `data` of a charge's answer (SPEC.md, 4.2); the envelope's message is added to the result. */
export const chargeDataSchema = z.pipe(
  z.transform(nameUnrecognisedStatus),
  z.discriminatedUnion('status', [
    looseShape({ status: z.enum(transactionStatuses), ...charged }),
    looseShape({ status: z.literal('unrecognised'), raw_status: z.string(), ...charged }),
  ]),
);

function isWebAddress(text: string): boolean {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  return protocol === 'https:' || protocol === 'http:';
}

type TransactionIn<Status extends TransactionStatus> = Extract<
  z.output<typeof transactionSchema>,
  { status: Status }
>;

/** Not final. */
export interface PendingTransaction extends TransactionIn<'pending'> {}
/** Not final: a prompt is on the customer's phone. */
export interface ProcessingTransaction extends TransactionIn<'processing'> {}
/** Paid. */
export interface SuccessfulTransaction extends TransactionIn<'success'> {}
/** Not paid. */
export interface FailedTransaction extends TransactionIn<'failed'> {}
/** Not paid, when last seen: SPEC.md does not say whether it may still be. */
export interface AbandonedTransaction extends TransactionIn<'abandoned'> {}
/** A status that SPEC.md does not show: never final, and never paid. */
export interface UnrecognisedTransaction extends TransactionIn<'unrecognised'> {}

/**
 * A transaction as verify reports it, told apart by `status`. Only `success` means paid. `paid_at` is an ISO 8601
 * time with an offset, or `null`. A status that SPEC.md does not show is `unrecognised`, its value in `raw_status`.
 */
export type Transaction =
  | PendingTransaction
  | ProcessingTransaction
  | SuccessfulTransaction
  | FailedTransaction
  | AbandonedTransaction
  | UnrecognisedTransaction;

/** The status as the service wrote it. */
export function rawStatus(transaction: Transaction): string {
  return transaction.status === 'unrecognised' ? transaction.raw_status : transaction.status;
}

/**
 * The status for messages, events and log lines: as the service wrote it where it is a plain word, which can be no key
 * and no address.
 */
export function printableStatus(transaction: Transaction): string {
  const status = rawStatus(transaction);
  return /^(?!sk_)[a-z][a-z_ -]{0,31}$/i.test(status) ? status : transaction.status;
}
