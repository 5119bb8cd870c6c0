import * as z from 'zod/mini';
import { chargeDataSchema, initializedPaymentSchema, transactionSchema } from './transaction.ts';

/** The response envelope of SPEC.md, 2. Its boolean `status` stays here: a caller could take it for "paid". */
function envelope<Data extends z.core.SomeType>(data: Data) {
  return z.object({ status: z.literal(true), message: z.optional(z.unknown()), data });
}

/** The body of a 2xx answer to initialize, and what the caller gets of it. */
export const initializeAnswerSchema = z.pipe(
  envelope(initializedPaymentSchema),
  z.transform(({ data }) => data),
);

/** The body of a 2xx answer to charge-mobile-money, and what the caller gets of it. */
export const chargeMobileMoneyAnswerSchema = z.pipe(
  envelope(chargeDataSchema),
  z.transform(({ data, message }) => ({ ...data, message: typeof message === 'string' ? message : '' })),
);

/** The body of a 2xx answer to verify, and what the caller gets of it. */
export const verifyAnswerSchema = z.pipe(
  envelope(transactionSchema),
  z.transform(({ data }) => data),
);

/**
 * A charge that the service took: a prompt is on the customer's phone. `status` is `processing` (SPEC.md, 4.2), which
 * is not final: wait for the final status by `reference`. `message` is the service's text, empty where it gave none.
 *
 * @useDeclaredType
 */
export type MobileMoneyCharge = z.output<typeof chargeMobileMoneyAnswerSchema>;
