/**
 * What the service returns: the schemas and types of each result, and the envelope that they come in. They accept what
 * the service leaves open, because refusing a response can lose a real payment. Unknown fields stay on a result.
 */

import * as z from 'zod/mini';
import { isObject, stringField } from '../support/untrusted.ts';
import { referenceSchema } from './input.ts';
import { MAX_AMOUNT, normalizeAmount } from './money.ts';

/**
 * The documented statuses (docs/reference/service.md, "Statuses"). Any other value reads as `unrecognised`, and the raw
 * value is kept.
 */
export const transactionStatuses = ['pending', 'processing', 'success', 'failed', 'abandoned'] as const;

/** A documented status. */
export type KnownStatus = (typeof transactionStatuses)[number];

/** A documented status, or `unrecognised` for any other value. */
export type TransactionStatus = KnownStatus | 'unrecognised';

/** With two decimals, whatever the service wrote: `25.5` is `25.50`. Where a digit would be lost, it cannot be read. */
const amountText = /* @__PURE__ */ (() =>
  z.pipe(
    z.union([z.string(), z.number().check(z.lte(MAX_AMOUNT))]),
    z.pipe(
      z.transform((given: string | number, { issues }) => {
        const text = String(given);
        const amount = normalizeAmount(text);
        if (amount === undefined) issues.push({ code: 'custom', input: given });
        return amount ?? text;
      }),
      z.string().check(z.meta({ pattern: '^\\d{1,30}\\.\\d{2}$' })),
    ),
  ))();
const currencyCode = /* @__PURE__ */ (() => z.string().check(z.regex(/^[A-Za-z]{3}$/)))();

/** A date, a time and an offset: without one of them it is no moment. */
const ISO_TIME =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d(?::?\d\d)?)$/;

/** A time of another form is `null`: it must not hide that a payment was made. */
const timeOrNull = /* @__PURE__ */ orNull(isTime);

function isTime(text: string): boolean {
  const [, year, month, day] = ISO_TIME.exec(text) ?? [];
  if (day === undefined) return false;
  return Number(day) <= 28 || Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
}

/** Absent, null and empty mean the same. A field that does not say whether it is paid must not lose a payment. */
const textOrNull = /* @__PURE__ */ orNull((text) => text !== '');

function orNull(isKept: (text: string) => boolean) {
  return z.pipe(
    z.optional(z.unknown()),
    z.pipe(
      z.transform((value): string | null => (typeof value === 'string' && isKept(value) ? value : null)),
      z.nullable(z.string()),
    ),
  );
}

const verifiedFields = {
  /** The transaction's name at the service, such as `TXN-…`: every check asks for it. */
  reference: referenceSchema,
  /** Decimal text in main units with two decimals. Compare it with the order by `expect`, which compares decimals exactly. */
  amount: amountText,
  /** Three letters, such as `GHS`. */
  currency: currencyCode,
  /** The customer's email address. `null` if the service gave none. */
  customer_email: textOrNull,
  /**
   * An ISO 8601 time with an offset, or `null` if the service gave none, or text of another form.
   * `status` alone says whether it is paid.
   */
  paid_at: timeOrNull,
};

/** What `verify` returns about a transaction. */
export const transactionSchema = /* @__PURE__ */ (() =>
  z.pipe(
    // Any status: without it, the JSON Schema of the input would refuse those that are not documented.
    z.pipe(
      looseShape({ status: z.string(), ...verifiedFields }),
      z.transform((data) => markUnrecognisedStatus(data)),
    ),
    z.discriminatedUnion('status', [
      looseShape({ status: z.literal('pending'), ...verifiedFields }),
      looseShape({ status: z.literal('processing'), ...verifiedFields }),
      looseShape({ status: z.literal('success'), ...verifiedFields }),
      looseShape({ status: z.literal('failed'), ...verifiedFields }),
      looseShape({ status: z.literal('abandoned'), ...verifiedFields }),
      looseShape({
        status: z.literal('unrecognised'),
        /** The status as the service wrote it. */
        raw_status: z.string(),
        ...verifiedFields,
      }),
    ]),
  ))();

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
/** Not paid when it was read. The service does not document whether it can still be paid. */
export interface AbandonedTransaction extends TransactionIn<'abandoned'> {}
/** A status that is not documented: never final, and never paid. */
export interface UnrecognisedTransaction extends TransactionIn<'unrecognised'> {}

/**
 * A transaction as `verify` reports it, discriminated by `status`. Only `success` means paid. `paid_at` is an ISO 8601
 * time with an offset, or `null`. A status that is not documented is `unrecognised`, with its value in `raw_status`.
 */
export type Transaction =
  | PendingTransaction
  | ProcessingTransaction
  | SuccessfulTransaction
  | FailedTransaction
  | AbandonedTransaction
  | UnrecognisedTransaction;

/** Returns the status as the service wrote it. With a documented one, `raw_status` is a field of the service's own. */
export function getRawStatus(transaction: object): string | undefined {
  const status = stringField(transaction, 'status');
  return status === 'unrecognised' ? stringField(transaction, 'raw_status') : status;
}

/** Returns the status for messages, events and log lines: the raw one if it is a plain word, which no secret is. */
export function getPrintableStatus(transaction: Transaction): string {
  const status = getRawStatus(transaction) ?? '';
  return /^(?!sk_)[a-z][a-z_ -]{0,31}$/i.test(status) ? status : transaction.status;
}

/** What the client adds to a result that it can replay. */
interface Replayable {
  /** `true` if an earlier call under the same `idempotencyKey` made it, and this call sent nothing. */
  replayed: boolean;
}

/** What `initialize` returns. */
export const initializedPaymentSchema = /* @__PURE__ */ (() =>
  looseShape({
    /** The transaction's name at the service: keep it, because every check asks for it. */
    reference: referenceSchema,
    /** Send the customer here. */
    checkout_url: z.string().check(z.refine(isWebAddress)),
    amount: amountText,
    currency: currencyCode,
  }))();

/**
 * A payment that was started: send the customer to `checkout_url`, keep `reference`. `replayed` is `true` if an earlier
 * call under the same `idempotencyKey` started it: the result then has its documented fields only, because no other field
 * of a response is stored.
 */
export interface InitializedPayment extends z.output<typeof initializedPaymentSchema>, Replayable {}

const chargeFields = {
  reference: referenceSchema,
  amount: amountText,
  currency: currencyCode,
};

/** The `data` of a charge. The message of the envelope is added to the result. */
const chargeDataSchema = /* @__PURE__ */ (() =>
  z.pipe(
    z.transform(markUnrecognisedStatus),
    z.discriminatedUnion('status', [
      looseShape({ status: z.enum(transactionStatuses), ...chargeFields }),
      looseShape({ status: z.literal('unrecognised'), raw_status: z.string(), ...chargeFields }),
    ]),
  ))();

interface ChargeFields {
  /** The transaction's name at the service: keep it, because every check asks for it. */
  reference: string;
  /** Decimal text in main units, with two decimals. */
  amount: string;
  /** Three letters, such as `GHS`. */
  currency: string;
  /** The service's text about the prompt. It is empty if the service gave none, and on a replay. */
  message: string;
}

/** A charge with a documented status. */
export interface RecognisedCharge extends ChargeFields, Replayable {
  status: KnownStatus;
}
/** A charge with a status that is not documented, its value in `raw_status`. */
export interface UnrecognisedCharge extends ChargeFields, Replayable {
  status: 'unrecognised';
  /** The status as the service wrote it. */
  raw_status: string;
}

/**
 * A charge that the service accepted: a prompt is on the customer's phone. `status` is `processing`, which is not final:
 * wait for the final status by `reference`. `message` is the service's text, or empty if it gave none. `replayed` is
 * `true` if an earlier call under the same `idempotencyKey` made the charge: this call sent no prompt, `message` is
 * empty, and the result has its documented fields only, because no other field of a response is stored.
 */
export type MobileMoneyCharge = RecognisedCharge | UnrecognisedCharge;

/** The result of `initialize`, from the body of a 2xx response. */
export const initializeOutputSchema = /* @__PURE__ */ (() =>
  z.pipe(
    envelope(initializedPaymentSchema),
    z.transform(({ data }) => toPayment(data, false)),
  ))();

/** The result of a replay of `initialize`, from what a journal stored. */
export const storedPaymentSchema = /* @__PURE__ */ (() =>
  z.pipe(
    initializedPaymentSchema,
    z.transform((data) => toPayment(data, true)),
  ))();

/** The result of `chargeMobileMoney`, from the body of a 2xx response. */
export const chargeMobileMoneyOutputSchema = /* @__PURE__ */ (() =>
  z.pipe(
    envelope(chargeDataSchema),
    z.transform(({ data, message }) => toCharge(data, message, false)),
  ))();

/** The result of a replay of `chargeMobileMoney`, from what a journal stored. No prompt was sent, so it has no message. */
export const storedChargeSchema = /* @__PURE__ */ (() =>
  z.pipe(
    chargeDataSchema,
    z.transform((data) => toCharge(data, '', true)),
  ))();

/** The result of `verify`, from the body of a 2xx response. */
export const verifyOutputSchema = /* @__PURE__ */ (() =>
  z.pipe(
    envelope(transactionSchema),
    z.transform(({ data }) => data),
  ))();

/**
 * The envelope of a response (docs/reference/service.md, "Response envelope"). Its boolean `status` never reaches the
 * caller, who could read it as "paid".
 */
function envelope<Data extends z.core.SomeType>(data: Data) {
  return z.object({ status: z.literal(true), message: z.optional(z.unknown()), data });
}

/** `replayed` comes last, so that no field of the service can replace it. */
function toPayment(data: z.output<typeof initializedPaymentSchema>, replayed: boolean): InitializedPayment {
  return { ...data, replayed };
}

function toCharge(
  data: z.output<typeof chargeDataSchema>,
  message: unknown,
  replayed: boolean,
): MobileMoneyCharge {
  return { ...data, message: typeof message === 'string' ? message : '', replayed };
}

/** Whether a status is documented. */
export const isKnownStatus = (status: unknown) => transactionStatuses.some((known) => known === status);

function markUnrecognisedStatus(data: unknown): unknown {
  if (!isObject(data) || !('status' in data)) return data;
  const { status } = data;
  if (typeof status !== 'string' || isKnownStatus(status)) return data;
  // It was marked before: a caller stored the transaction and parses it again.
  const raw = status === 'unrecognised' ? stringField(data, 'raw_status') : undefined;
  if (raw !== undefined && !isKnownStatus(raw)) return data;
  return { ...data, status: 'unrecognised', raw_status: status };
}

function isWebAddress(text: string): boolean {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  return protocol === 'https:' || protocol === 'http:';
}

/** Keeps unknown fields on the result. The type shows the known ones only, so that a misspelt one does not compile. */
function looseShape<Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
): z.ZodMiniObject<Shape, z.core.$strip> {
  return z.looseObject(shape);
}
