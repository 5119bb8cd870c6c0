import type { AnyPaymentsError } from '../errors.ts';
import {
  type AttentionReason,
  canPay,
  findReview,
  findShown,
  getState,
  isSuperseded,
  listAttention,
} from '../ledger/order.ts';
import { referenceOf, seenOf } from '../ledger/payment.ts';
import type { LedgerRecord, Payment } from '../ledger/record.ts';
import { stringField } from '../support/untrusted.ts';

/** A payment of an order. It is plain JSON. */
export interface OrderPayment {
  /** Its idempotency key in the journal: the order, `/` and its number. `payment-journal show` takes it. */
  readonly key: string;
  /** Its number among the payments of the order, from 1. */
  readonly number: number;
  readonly method: 'mobile_money' | 'checkout';
  /** In main units, with two decimals. */
  readonly amount: string;
  readonly currency: string;
  /** Of a Mobile Money payment. */
  readonly network?: string;
  /** The transaction, once the service has named it. */
  readonly reference?: string;
  /** Of a checkout payment: send the customer there. If it holds a secret, only the call that opened the page returns it. */
  readonly checkout_url?: string;
  /** The status that the last check returned, before that the one that the service returned first. */
  readonly status?: string;
  /** When its latest request began, in milliseconds since 1970. */
  readonly createdAt: number;
  /** Whether a later payment took its place while it was under way. It can still be paid, and is followed. */
  readonly superseded?: true;
  /** Why a person has to decide about this payment, if one has to. */
  readonly attention?: AttentionReason;
}

/** Why an order is in review. */
export type ReviewReason = Extract<
  AttentionReason,
  'unresolved' | 'shared_reference' | 'price_changed' | 'mismatch' | 'gone'
>;

interface OrderFacts {
  /** The id of the order, as the shop gave it. */
  readonly order: string;
  /** The payments of the order, oldest first. */
  readonly payments: readonly OrderPayment[];
}

/** Nothing is under way, so the customer can pay. */
export interface UnpaidOrder extends OrderFacts {
  /** Nothing is under way and nothing is paid. The customer can pay if `canPay` is `true`. */
  readonly state: 'unpaid';
  /** `false` if the order has 50 payments: it can have no other. */
  readonly canPay: boolean;
  /** Why this call started nothing, if it tried. `error.nextStep` says what to do; `error.toJSON()` makes it plain. */
  readonly error?: AnyPaymentsError;
}

/** A payment is under way: nothing more is sent. */
export interface ProcessingOrder extends OrderFacts {
  /** A payment is under way. Read or wait again later; the customer can still approve it. */
  readonly state: 'processing';
  /** A press sends nothing now. */
  readonly canPay: false;
  /** The payment that is under way. */
  readonly payment: OrderPayment;
  /** Whether this call asked for another number, network, method, amount or currency than the payment under way has. */
  readonly differs?: true;
  /** Why this call started nothing, if it tried. */
  readonly error?: AnyPaymentsError;
}

/** The order is paid. `onPaid` delivers it. */
export interface PaidOrder extends OrderFacts {
  /** The money came, as one check of the service showed. */
  readonly state: 'paid';
  /** A press sends nothing now. */
  readonly canPay: false;
  /** The payment that pays the order. It never changes. */
  readonly payment: OrderPayment;
}

/** A person decides, and nothing is sent until then. */
export interface OrderInReview extends OrderFacts {
  /** A person has to decide. Do not charge and do not cancel the order. */
  readonly state: 'in_review';
  /** A press sends nothing now. */
  readonly canPay: false;
  /** The payment that a person has to decide about. */
  readonly payment: OrderPayment;
  /**
   * - `unresolved`: a charge might exist under the key of `payment`.
   * - `shared_reference`: the transaction of `payment` belongs to another payment.
   * - `price_changed`: `payment` is paid, and the order was asked for at another price since.
   * - `mismatch`: the transaction has another amount or currency than the payment.
   * - `gone`: the service does not know the transaction any more.
   */
  readonly reason: ReviewReason;
}

/** How far the payment of an order is: told apart by `state`. */
export type OrderStatus = UnpaidOrder | ProcessingOrder | PaidOrder | OrderInReview;

/** Returns how far an order is. `null`: nothing is recorded of it. */
export function decideStatus(order: string, record: LedgerRecord | null, now: number): OrderStatus {
  if (record === null) return { order, payments: [], state: 'unpaid', canPay: true };
  const payments = record.payments.map((payment) => toOrderPayment(order, record, payment, now));
  const facts = { order, payments };
  const state = getState(record, now);
  const review = findReview(record, now);
  const shown = findShown(record, now);
  const number = record.winner ?? review?.number ?? (shown ? record.payments.indexOf(shown) + 1 : 0);
  const payment = payments[number - 1];
  if (!payment || state === 'unpaid') return { ...facts, state: 'unpaid', canPay: canPay(record, now) };
  if (state !== 'in_review') return { ...facts, state, canPay: false, payment };
  return { ...facts, state, canPay: false, payment, reason: toReviewReason(review?.reason) };
}

function toReviewReason(reason: AttentionReason | undefined): ReviewReason {
  switch (reason) {
    case 'shared_reference':
    case 'price_changed':
    case 'mismatch':
    case 'gone':
      return reason;
    default:
      return 'unresolved';
  }
}

export function toOrderPayment(
  order: string,
  record: LedgerRecord,
  payment: Payment,
  now: number,
): OrderPayment {
  const number = record.payments.indexOf(payment) + 1;
  const { operation, amount, currency, network, createdAt, charge } = payment;
  const result = charge.is === 'made' ? charge.result : undefined;
  const reference = referenceOf(payment);
  const status = seenOf(payment)?.status ?? (result && stringField(result, 'status'));
  const checkoutUrl = result && stringField(result, 'checkout_url');
  const attention = listAttention(record, now).find((item) => item.number === number)?.reason;
  return {
    key: `${order}/${number}`,
    number,
    method: operation === 'initialize' ? 'checkout' : 'mobile_money',
    amount,
    currency,
    ...(network === undefined ? {} : { network }),
    ...(reference === undefined ? {} : { reference }),
    ...(checkoutUrl === undefined ? {} : { checkout_url: checkoutUrl }),
    ...(status === undefined ? {} : { status }),
    createdAt,
    ...(isSuperseded(record, payment, now) ? { superseded: true } : {}),
    ...(attention === undefined ? {} : { attention }),
  };
}
