import * as z from 'zod/mini';
import { isObject } from '../untrusted.ts';
import { referenceSchema } from './input.ts';

/**
 * An object of the service, or one that was made of it: unknown fields stay, whatever their name is. zod leaves out a
 * field named `__proto__`, because an assignment would make it the prototype. Here it is defined, so that it stays a
 * field like any other.
 */
export function looseObject<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const schema = z.looseObject(shape);
  const { _zod } = schema;
  const { parse } = _zod;
  _zod.parse = (payload, context) => {
    const given = protoField(payload.value);
    const parsed = parse(payload, context);
    // zod has put the new object there by now, also where a field of it is still to be checked.
    if (given?.enumerable && isObject(payload.value)) {
      const field = { value: given.value, enumerable: true, configurable: true, writable: true };
      Object.defineProperty(payload.value, '__proto__', field);
    }
    return parsed;
  };
  // zod runs `parse` itself where a schema has no checks.
  _zod.run = _zod.parse;
  return schema;
}

function protoField(value: unknown): PropertyDescriptor | undefined {
  return isObject(value) ? Object.getOwnPropertyDescriptor(value, '__proto__') : undefined;
}

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
const chargeDataSchema = z.pipe(
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

/** The response envelope of SPEC.md, 2. Its boolean `status` stays here: a caller could take it for "paid". */
function envelope<Data extends z.core.SomeType>(data: Data) {
  return z.object({ status: z.literal(true), message: z.optional(z.unknown()), data });
}

/** What the client adds to a result that it can replay. */
interface Replayable {
  /** `true` if an earlier call under the same `idempotencyKey` made it, and this call sent nothing. */
  replayed: boolean;
}

/**
 * A payment that was started: send the customer to `checkout_url`, keep `reference`. `replayed` is `true` if an earlier
 * call under the same `idempotencyKey` started it.
 */
export interface InitializedPayment extends z.output<typeof initializedPaymentSchema>, Replayable {}

interface ChargeFields {
  reference: string;
  amount: string;
  currency: string;
  /** The service's text about the prompt. It is empty if the service gave none, and on a replay. */
  message: string;
}

/** A charge with a status that SPEC.md shows. */
export interface RecognisedCharge extends ChargeFields, Replayable {
  status: Exclude<TransactionStatus, 'unrecognised'>;
}
/** A charge with a status that SPEC.md does not show, its value in `raw_status`. */
export interface UnrecognisedCharge extends ChargeFields, Replayable {
  status: 'unrecognised';
  /** The status as the service wrote it. */
  raw_status: string;
}

/**
 * A charge that the service took: a prompt is on the customer's phone. `status` is `processing` (SPEC.md, 4.2), which
 * is not final: wait for the final status by `reference`. `message` is the service's text, empty where it gave none.
 * `replayed` is `true` if an earlier call under the same `idempotencyKey` made the charge: this call sent no prompt,
 * and `message` is empty.
 */
export type MobileMoneyCharge = RecognisedCharge | UnrecognisedCharge;

/** `replayed` comes last, so that no field of the service can pass for it. */
const startedPayment = (
  data: z.output<typeof initializedPaymentSchema>,
  replayed: boolean,
): InitializedPayment => ({ ...data, replayed });

const mobileMoneyCharge = (
  data: z.output<typeof chargeDataSchema>,
  message: unknown,
  replayed: boolean,
): MobileMoneyCharge => ({ ...data, message: typeof message === 'string' ? message : '', replayed });

/** The body of a 2xx answer to initialize, and what the caller gets of it. */
export const initializeAnswerSchema = z.pipe(
  envelope(initializedPaymentSchema),
  z.transform(({ data }) => startedPayment(data, false)),
);

/** A payment as a journal recorded it. */
export const recordedPaymentSchema = z.pipe(
  initializedPaymentSchema,
  z.transform((data) => startedPayment(data, true)),
);

/** The body of a 2xx answer to charge-mobile-money, and what the caller gets of it. */
export const chargeMobileMoneyAnswerSchema = z.pipe(
  envelope(chargeDataSchema),
  z.transform(({ data, message }) => mobileMoneyCharge(data, message, false)),
);

/** A charge as a journal recorded it. A replay sent no prompt, so it has no message about one. */
export const recordedChargeSchema = z.pipe(
  chargeDataSchema,
  z.transform((data) => mobileMoneyCharge(data, '', true)),
);

/** The body of a 2xx answer to verify, and what the caller gets of it. */
export const verifyAnswerSchema = z.pipe(
  envelope(transactionSchema),
  z.transform(({ data }) => data),
);
