import * as z from 'zod/mini';
import type { Transaction } from '../api/transaction.ts';
import type { PaymentsClient } from '../client.ts';
import type { ClientAccess } from '../client-access.ts';
import { ConfigurationError } from '../errors.ts';
import { clientShape } from '../follow-ups/options.ts';
import type { Journal } from '../journal/journal.ts';
import type { Records } from '../journal/records.ts';
import type { AttentionReason } from '../ledger/order.ts';
import { type OptionsShape, optionalFunction, parseOptions, requiredFunction } from '../parse-options.ts';
import type { OrderPayment } from './status.ts';

/** What {@link createOrderPayments} takes. */
export interface OrderPaymentsOptions {
  /** The client. Its `polling` sets the schedule and the deadline, counted from each charge. Its limits hold. */
  payments: PaymentsClient;
  /** The journal of that client. */
  journal: Journal;
  /**
   * Called once the order is paid: deliver it. It is called at least once, and for one payment of an order only, so it must do
   * nothing if it has done so before. If it throws, it is called again later. `sweep` and `run` call it.
   *
   * @example onPaid: ({ order }) => console.log(`deliver order ${order}`)
   */
  onPaid: (paid: PaidPayment) => unknown;
  /**
   * Called when a person is needed: once for each reason, and again if it throws.
   *
   * - `unresolved`: a charge might exist under this key. Find out, and call `payments.resolve`.
   * - `shared_reference`: the transaction of this payment belongs to another one.
   * - `overdue`: the deadline has passed. The payment can still become final, and is checked until 7 days after it began.
   * - `mismatch`: the transaction has another amount or currency than the payment.
   * - `gone`: the service does not know the transaction any more.
   * - `paid_twice`: another payment pays this order already: pay this one back.
   * - `price_changed`: it was paid, and the order was asked for at another price since: accept it, or pay it back and close it.
   * - `unreadable`: for a day, no check could read the transaction.
   *
   * @example onAttention: ({ key, reason }) => console.error(`ALERT: ${key} is ${reason}`)
   */
  onAttention: (attention: OrderAttention) => unknown;
  /**
   * Called when the payment that was last pressed for failed or was abandoned, and the order is `unpaid`: ask the customer to pay
   * again. It is called at least once for each such payment. It is not called for what a person decided.
   *
   * @default none
   * @example onUnpaid: ({ order }) => console.log(`remind the customer of order ${order}`)
   */
  onUnpaid?: ((unpaid: UnpaidPayment) => unknown) | undefined;
}

/** What `onPaid` gets. */
export interface PaidPayment {
  readonly order: string;
  readonly payment: OrderPayment;
  /** Its `status` is `success`. In a call after the first, `customer_email` is `null`. */
  readonly transaction: Transaction;
}

/** What `onUnpaid` gets. */
export interface UnpaidPayment {
  readonly order: string;
  readonly payment: OrderPayment;
}

/** What `onAttention` gets. */
export interface OrderAttention {
  readonly order: string;
  /** The idempotency key of the payment. */
  readonly key: string;
  /** The transaction, if it is known. */
  readonly reference?: string;
  readonly reason: AttentionReason;
  readonly payment: OrderPayment;
}

export interface OrdersContext extends Pick<OrderPaymentsOptions, 'onPaid' | 'onAttention' | 'onUnpaid'> {
  readonly access: ClientAccess;
  readonly records: Records;
}

/** @throws {ConfigurationError} if the id of an order is not 1 to 200 printable characters. */
export function validateOrderId(id: unknown): string {
  if (typeof id === 'string' && /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,200}$/u.test(id)) return id;
  throw new ConfigurationError(
    'order must be text of 1 to 200 characters without control characters, such as "17". Nothing was sent.',
  );
}

const orderPaymentsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    ...clientShape,
    onPaid: requiredFunction<OrderPaymentsOptions['onPaid']>('onPaid'),
    onAttention: requiredFunction<OrderPaymentsOptions['onAttention']>('onAttention'),
    onUnpaid: optionalFunction<NonNullable<OrderPaymentsOptions['onUnpaid']>>('onUnpaid'),
  } satisfies OptionsShape<OrderPaymentsOptions>))();

/** @throws {ConfigurationError} if an option is unknown, or a handler is missing. */
export function validateOrderPaymentsOptions(options: OrderPaymentsOptions): OrderPaymentsOptions {
  return parseOptions(orderPaymentsSchema, options, {
    notAnObject: 'createOrderPayments takes { payments, journal, onPaid, onAttention, onUnpaid }.',
  });
}
