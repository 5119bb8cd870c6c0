import {
  APIError,
  AuthenticationError,
  InvalidInputError,
  type PaymentsClient,
  PaymentsError,
  PermissionError,
} from 'payment-collection-client';
import type { Journal } from 'payment-collection-client/journal';
import type { NewOrder, Order } from './orders.ts';

/** An order, as a charge needs it. */
export type ChargeableOrder = NewOrder & Pick<Order, 'state'>;

/** What a charge in a request reads and writes of the table of orders. */
export interface ChargeableOrders {
  find(id: string): ChargeableOrder | undefined | Promise<ChargeableOrder | undefined>;
  markCharged(id: string, reference: string, at: number): void | Promise<void>;
  reject(id: string, note: string): void | Promise<void>;
  holdForReview(id: string, note: string): void | Promise<void>;
  reopen(id: string): void | Promise<void>;
}

/** A response to the customer's page, as JSON. */
export interface ShopResponse {
  readonly status: number;
  readonly body: {
    readonly state?: Order['state'];
    readonly message: string;
    readonly fields?: readonly string[];
  };
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a customer reads about an order. No error of the client is shown: it is written for you. */
const MESSAGES: Readonly<Record<Order['state'], string>> = {
  placed: 'Your order is not paid yet.',
  waiting: 'Approve the payment on your phone.',
  fulfilled: 'Thank you. Your order is paid and on its way.',
  released: 'Your order was not paid in time.',
  paid_late: 'We are reviewing your payment, and will write to you. Please do not pay again.',
  in_review: 'We are reviewing your payment, and will write to you. Please do not pay again.',
  rejected: 'The payment was rejected.',
};

/** Returns the state of an order, from the table of orders: no request is sent to the service. */
export async function showOrder(orders: ChargeableOrders, id: string): Promise<ShopResponse> {
  const order = await orders.find(id);
  if (!order) return { status: 404, body: { message: 'There is no such order.' } };
  const status = order.state === 'in_review' ? 202 : 200;
  return { status, body: { state: order.state, message: MESSAGES[order.state] } };
}

/**
 * Charges an order within the request of the customer, who can press the button any number of times. The follow-ups do the
 * rest: they go on if this process is killed at any step of this function.
 */
export async function chargeOrder(
  { payments, journal, orders }: { payments: PaymentsClient; journal: Journal; orders: ChargeableOrders },
  id: string,
): Promise<ShopResponse> {
  const { state } = (await orders.find(id)) ?? {};
  // A person has resolved the key as not charged. No handler is called then, so the button reads the journal.
  if (state === 'in_review' && (await journal.read(id))?.state === 'not_charged') await orders.reopen(id);
  const order = await orders.find(id);
  if (order?.state !== 'placed') return showOrder(orders, id);
  const { amount, currency, customer_email, phone, network } = order;
  try {
    const input = { amount, currency, customer_email, phone, network };
    const { reference } = await payments.chargeMobileMoney(input, { idempotencyKey: id });
    await orders.markCharged(id, reference, Date.now());
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    const refusal = await handleError(orders, id, error);
    if (refusal) return refusal;
  }
  return showOrder(orders, id);
}

/** Changes the order after an error of its charge. Returns the response if the order can be charged again. */
async function handleError(
  orders: ChargeableOrders,
  id: string,
  error: PaymentsError,
): Promise<ShopResponse | undefined> {
  console.error(`The charge of ${id} failed: ${error.code}, ${error.outcome}`);
  // A charge might exist. The key is unresolved, and the follow-ups report it to onAttention, too.
  if (error.outcome === 'unknown') {
    await orders.holdForReview(id, 'unresolved');
    return undefined;
  }
  if (error instanceof InvalidInputError) {
    const fields = error.issues.map(({ path }) => path);
    await orders.reject(id, 'invalid input');
    return { status: 422, body: { state: 'rejected', message: MESSAGES.rejected, fields } };
  }
  if (error.outcome === 'rejected' && !isOurFault(error)) {
    await orders.reject(id, 'rejected by the service');
    return { status: 422, body: { state: 'rejected', message: MESSAGES.rejected } };
  }
  // It does not say "nothing was charged": an earlier call under the key might have charged.
  const delay = (error instanceof APIError && error.retryAfter) || 1_000;
  return {
    status: 503,
    headers: error.retryable ? { 'retry-after': String(Math.ceil(delay / 1_000)) } : {},
    body: { state: 'placed', message: 'Payments are not possible at the moment. Please try again later.' },
  };
}

/** Whether the customer could not correct it: too many requests, or a wrong API key. */
function isOurFault(error: PaymentsError): boolean {
  return error.retryable || error instanceof AuthenticationError || error instanceof PermissionError;
}
