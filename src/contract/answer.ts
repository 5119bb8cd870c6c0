import * as z from 'zod/mini';
import {
  chargeDataSchema,
  initializedPaymentSchema,
  type TransactionStatus,
  transactionSchema,
} from './transaction.ts';

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
