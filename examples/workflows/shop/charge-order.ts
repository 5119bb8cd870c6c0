import { APIError, InvalidInputError, type PaymentsError, PermissionError } from 'payment-collection-client';
import type { OrderPayments, OrderStatus } from 'payment-collection-client/orders';
import type { NewOrder, Order } from './order.ts';

/** An order, as a charge needs it. */
export type ChargeableOrder = NewOrder & Pick<Order, 'state'>;

/** What the button and the customer's page need. */
export interface OrderShop {
  readonly orderPayments: OrderPayments;
  readonly orders: { find(id: string): ChargeableOrder | undefined | Promise<ChargeableOrder | undefined> };
}

/** A response to the customer's page, as JSON. */
export interface ShopResponse {
  readonly status: number;
  readonly body: {
    readonly state?: Order['state'] | OrderStatus['state'];
    readonly message: string;
    readonly fields?: readonly string[];
  };
  readonly headers?: Readonly<Record<string, string>>;
}

const REVIEWING = 'We are reviewing your payment, and will write to you. Please do not pay again.';

/** What a customer reads about an order. No error of the client is shown: it is written for you. */
const MESSAGES: Readonly<Record<string, string>> = {
  unpaid: 'Your order is not paid yet.',
  processing: 'Approve the payment on your phone.',
  paid: 'Thank you. Your order is paid.',
  fulfilled: 'Thank you. Your order is paid and on its way.',
  released: 'Your order was not paid in time.',
  paid_late: REVIEWING,
  in_review: REVIEWING,
};

/** Returns the state of an order, from the shop's table and the journal: no request is sent to the service. */
export async function showOrder({ orderPayments, orders }: OrderShop, id: string): Promise<ShopResponse> {
  const order = await orders.find(id);
  if (!order) return { status: 404, body: { message: 'There is no such order.' } };
  return respond(order.state === 'placed' ? (await orderPayments.read(id)).state : order.state);
}

/**
 * Charges an order within the request of the customer, who can press the button any number of times. The sweeps do the
 * rest: they go on if this process is killed at any step of this function.
 */
export async function chargeOrder(shop: OrderShop, id: string): Promise<ShopResponse> {
  const order = await shop.orders.find(id);
  // The goods are shipped, or for sale again.
  if (order?.state !== 'placed') return showOrder(shop, id);
  const { amount, currency, customer_email, phone, network } = order;
  const status = await shop.orderPayments.charge(id, { amount, currency, customer_email, phone, network });
  return status.state === 'unpaid' && status.error ? explainError(id, status.error) : respond(status.state);
}

function respond(state: Order['state'] | OrderStatus['state']): ShopResponse {
  return {
    status: state === 'in_review' ? 202 : 200,
    body: { state, message: MESSAGES[state] ?? REVIEWING },
  };
}

/** The press started no payment. The customer can press again, after a correction if one is needed. */
function explainError(id: string, error: PaymentsError): ShopResponse {
  console.error(`The charge of ${id} failed: ${error.code}, ${error.nextStep}`);
  const message = 'The payment was rejected.';
  if (error instanceof InvalidInputError) {
    const fields = error.issues.map(({ path }) => path);
    return { status: 422, body: { state: 'unpaid', message, fields } };
  }
  if (error.outcome === 'rejected' && !isOurFault(error))
    return { status: 422, body: { state: 'unpaid', message } };
  const delay = (error instanceof APIError && error.retryAfter) || 1_000;
  return {
    status: 503,
    headers: error.retryable ? { 'retry-after': String(Math.ceil(delay / 1_000)) } : {},
    body: { state: 'unpaid', message: 'Payments are not possible at the moment. Please try again later.' },
  };
}

/** Whether the customer could not correct it: too many requests, or an API key that is not allowed to charge. */
function isOurFault(error: PaymentsError): boolean {
  return error.retryable || error instanceof PermissionError;
}
