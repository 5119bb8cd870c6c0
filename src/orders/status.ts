import type { AnyPaymentsError } from '../errors.ts';
import { stringField } from '../untrusted.ts';
import type { Order, OrderedPayment } from './order.ts';

/** A payment of an order. It is plain JSON. */
export interface OrderPayment {
  /** Its idempotency key in the journal: the order, `/` and its number. `payment-journal show` takes it. */
  readonly key: string;
  /** Its number among the payments of the order, from 1. */
  readonly number: number;
  readonly method: 'mobile_money' | 'checkout';
  /** With two decimals. */
  readonly amount: string;
  readonly currency: string;
  /** Of a Mobile Money payment. */
  readonly network?: string;
  /** The transaction, once the service has named it. */
  readonly reference?: string;
  /** Of a checkout payment: send the customer there. */
  readonly checkout_url?: string;
  /** The final status once there is one, before that the status that the service returned first. */
  readonly status?: string;
  /** When its latest request began, in milliseconds since 1970. */
  readonly createdAt: number;
  /** Whether a later payment took its place while it was under way. It can still be paid, and is followed. */
  readonly superseded?: true;
}

/** Why a person has to decide. */
export type ReviewReason = 'unresolved' | 'mismatch' | 'gone' | 'price_changed';

interface OrderFacts {
  readonly order: string;
  /** The payments of the order, oldest first. */
  readonly payments: readonly OrderPayment[];
}

/** Nothing is under way, so the customer can pay. */
export interface UnpaidOrder extends OrderFacts {
  readonly state: 'unpaid';
  readonly canPay: true;
  /** Why this call started nothing, if it tried. `error.nextStep` says what to do; `error.toJSON()` makes it plain. */
  readonly error?: AnyPaymentsError;
}

/** A payment is under way: nothing more is sent. */
export interface ProcessingOrder extends OrderFacts {
  readonly state: 'processing';
  readonly canPay: false;
  readonly payment: OrderPayment;
  /** Whether this call asked for another number, network, method, amount or currency than the payment under way has. */
  readonly differs?: true;
}

/** The order is paid. `onPaid` delivers it. */
export interface PaidOrder extends OrderFacts {
  readonly state: 'paid';
  readonly canPay: false;
  readonly payment: OrderPayment;
}

/** A person decides, and nothing is sent until then. */
export interface OrderInReview extends OrderFacts {
  readonly state: 'in_review';
  readonly canPay: false;
  readonly payment: OrderPayment;
  /**
   * - `unresolved`: a charge might exist under the key of `payment`.
   * - `mismatch`: the transaction has another amount or currency than the payment.
   * - `gone`: the service does not know the transaction any more.
   * - `price_changed`: an earlier payment was paid, with another amount than the latest one has.
   */
  readonly reason: ReviewReason;
}

/** How far the payment of an order is: told apart by `state`. */
export type OrderStatus = UnpaidOrder | ProcessingOrder | PaidOrder | OrderInReview;

/** How far one payment is. */
export type PaymentPhase =
  /** It has no charge, and can be used again with any input. */
  | 'reusable'
  /** It is under way. */
  | 'processing'
  | 'success'
  /** It cannot be paid any more. */
  | 'over'
  /** It ended, but the service might still take the money for it. */
  | 'abandoned'
  | 'unresolved'
  | 'mismatch'
  | 'gone';

export function getPhase({ record, isInProgress }: OrderedPayment): PaymentPhase {
  switch (record.state) {
    case 'not_sent':
    case 'rejected':
    case 'not_charged':
      return 'reusable';
    case 'closed':
      return 'over';
    case 'begun':
      return isInProgress ? 'processing' : 'unresolved';
    case 'unknown':
      return 'unresolved';
    case 'completed': {
      const { final, problem } = record.followUp ?? {};
      if (final?.status === 'success') return 'success';
      if (final) return final.status === 'failed' ? 'over' : 'abandoned';
      return problem ?? 'processing';
    }
  }
}

/** Returns the status of an order as its records show it. A success that no order record knows yet does not count. */
export function decideStatus(order: Order): OrderStatus {
  const payments = order.payments.map((payment) => toOrderPayment(order, payment));
  const facts = { order: order.id, payments };
  const find = (number: number | undefined) => payments.find((payment) => payment.number === number);

  const winner = find(order.record.paidBy);
  if (winner) return { ...facts, state: 'paid', canPay: false, payment: winner };

  const review = findReview(order);
  const reviewed = review && find(review.number);
  if (reviewed)
    return { ...facts, state: 'in_review', canPay: false, payment: reviewed, reason: review.reason };

  const latest = order.payments.find(({ number }) => number === order.record.latest);
  const payment = latest && find(latest.number);
  // A success is recorded as the winner before it is said to anybody.
  const isUnderWay = latest && ['processing', 'success'].includes(getPhase(latest));
  if (payment && isUnderWay) return { ...facts, state: 'processing', canPay: false, payment };
  return { ...facts, state: 'unpaid', canPay: true };
}

/** Returns the payment that a person has to look at. One that is paid at another price comes first. */
function findReview({ record, payments }: Order): { number: number; reason: ReviewReason } | undefined {
  const changed = payments.find(
    (payment) => record.priceChanged.includes(payment.number) && payment.record.state !== 'closed',
  );
  if (changed) return { number: changed.number, reason: 'price_changed' };
  const unresolved = payments.find((payment) => getPhase(payment) === 'unresolved');
  if (unresolved) return { number: unresolved.number, reason: 'unresolved' };
  const latest = payments.find(({ number }) => number === record.latest);
  const phase = latest && getPhase(latest);
  if (latest && (phase === 'mismatch' || phase === 'gone')) return { number: latest.number, reason: phase };
  return undefined;
}

export function toOrderPayment(
  order: Pick<Order, 'record'>,
  { key, number, record }: OrderedPayment,
): OrderPayment {
  const { operation, amount, currency, network, createdAt } = record;
  const result = record.state === 'completed' ? record.result : undefined;
  const reference = result?.reference ?? (record.state === 'unknown' ? record.reference : undefined);
  const status = record.followUp?.final?.status ?? (result && stringField(result, 'status'));
  const checkoutUrl = result && stringField(result, 'checkout_url');
  return {
    key,
    number,
    method: operation === 'initialize' ? 'checkout' : 'mobile_money',
    amount,
    currency,
    ...(network === undefined ? {} : { network }),
    ...(reference === undefined ? {} : { reference }),
    ...(checkoutUrl === undefined ? {} : { checkout_url: checkoutUrl }),
    ...(status === undefined ? {} : { status }),
    createdAt,
    ...(order.record.superseded.includes(number) ? { superseded: true } : {}),
  };
}
