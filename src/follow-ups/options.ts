import * as z from 'zod/mini';
import type { Transaction } from '../api/transaction.ts';
import type { PaymentsClient } from '../client.ts';
import type { Journal } from '../journal/journal.ts';
import type { AttentionReason } from '../ledger/order.ts';
import { type OptionsShape, parseOptions, requiredFunction } from '../parse-options.ts';
import { isObject } from '../support/untrusted.ts';

/** What {@link createFollowUps} takes. */
export interface FollowUpsOptions {
  /** The client. Its `polling` sets the schedule and the deadline, counted from the charge. Its limits hold. */
  payments: PaymentsClient;
  /** The journal of that client. */
  journal: Journal;
  /**
   * Called once a payment is final, at least once for each: fulfil the order if `transaction.status` is `success`, else
   * cancel it. It must do nothing if it has done so before. If it throws, it is called again later, for as long as it
   * throws. A payment that is `success` with another amount or currency than the charge never gets here.
   *
   * A payment that ended `failed` or `abandoned` is checked for 7 more days. If it is `success` after all, it is called with that
   * too.
   *
   * A call after the first is made from the record: `customer_email` is `null` then.
   *
   * @example
   * onFinal: ({ key, transaction }) => console.log(key, transaction.status === 'success' ? 'paid' : 'not paid')
   */
  onFinal: (payment: FinalPayment) => unknown;
  /**
   * Called when a person is needed: once for each reason, and again if it throws, or if the process is killed meanwhile.
   *
   * - `unresolved`: a charge might exist under this key. Find out, and call `payments.resolve`.
   * - `shared_reference`: the transaction of this key is that of another one. Do not fulfil the order.
   * - `overdue`: the deadline has passed. The payment can still become final, and is checked until 7 days after it began.
   * - `mismatch`: the transaction has another amount or currency. Do not fulfil the order.
   * - `gone`: the service does not know the transaction any more.
   * - `unreadable`: for a day, no check could read the transaction.
   * - `paid_twice`: the service made more than one charge for this key, and another one is paid too.
   * - `price_changed`: a charge of an earlier price was paid, because a process learned of it late.
   *
   * @example onAttention: ({ key, reason }) => console.error(`ALERT: ${key} is ${reason}`)
   */
  onAttention: (payment: PaymentAttention) => unknown;
}

/** What `onFinal` gets. */
export interface FinalPayment {
  /** The `idempotencyKey` of the charge. */
  readonly key: string;
  readonly reference: string;
  /** `status` is final: `success`, `failed` or `abandoned`, unless `polling.finalStatuses` names others. */
  readonly transaction: Transaction;
}

/** What `onAttention` gets. */
export interface PaymentAttention {
  /** The `idempotencyKey` of the charge. */
  readonly key: string;
  /** The transaction, if it is known. */
  readonly reference?: string;
  readonly reason: AttentionReason;
}

export const clientShape = /* @__PURE__ */ (() => ({
  payments: z.custom<PaymentsClient>(isObject, {
    error: 'payments must be a PaymentsClient of the same version of this package.',
  }),
  journal: z.custom<Journal>(isObject, {
    error: 'journal must be the very journal that the client was given.',
  }),
}))();

const followUpsOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    ...clientShape,
    onFinal: requiredFunction<FollowUpsOptions['onFinal']>('onFinal'),
    onAttention: requiredFunction<FollowUpsOptions['onAttention']>('onAttention'),
  } satisfies OptionsShape<FollowUpsOptions>))();

/** @throws {ConfigurationError} if an option is unknown, or a handler is missing. */
export function validateFollowUpsOptions(options: FollowUpsOptions): FollowUpsOptions {
  return parseOptions(followUpsOptionsSchema, options, {
    notAnObject: 'createFollowUps takes { payments, journal, onFinal, onAttention }.',
  });
}
