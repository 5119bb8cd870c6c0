import {
  APIError,
  InvalidInputError,
  NotFoundError,
  type PaymentsError,
  PermissionError,
} from 'payment-collection-client';
import type { OrderStatus } from 'payment-collection-client/orders';

/** The response to a press of "Pay", for every framework. */
export type PressResponse = { readonly url: string } | ErrorResponse;

/** No payment was started. The customer can press again. */
export interface ErrorResponse {
  readonly status: 422 | 503;
  readonly message: string;
  readonly fields: readonly { readonly field: string; readonly message: string }[];
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns where the customer goes after a press: to the checkout page, or to the page of the order. */
export async function respondToPress(
  press: Promise<OrderStatus>,
  returnPath = '/checkout/return',
): Promise<PressResponse> {
  const order = await press.catch((error: unknown) => {
    // The API key is wrong, or the journal failed: a framework would respond with the status of such an error.
    console.error(error);
    return undefined;
  });
  if (!order) return { status: 503, message: UNAVAILABLE, fields: [], headers: {} };
  if (order.state === 'unpaid' && order.error) return explainError(order.error);
  return { url: (order.state === 'processing' && order.payment.checkout_url) || returnPath };
}

const UNAVAILABLE = 'Payments are not possible at the moment. Please try again later.';

/** No error of the client is shown to a customer: it is written for you. */
function explainError(error: PaymentsError): ErrorResponse {
  if (error instanceof InvalidInputError) {
    const fields = error.issues.map(({ path, message }) => ({ field: path, message }));
    return { status: 422, message: 'Please correct these fields.', fields, headers: {} };
  }
  if (error.outcome === 'rejected' && !isOwnFault(error)) {
    const fields = error instanceof APIError ? error.fieldErrors : [];
    return { status: 422, message: 'The payment was rejected.', fields, headers: {} };
  }
  const delay = (error instanceof APIError && error.retryAfter) || 5_000;
  const headers: Record<string, string> = error.retryable
    ? { 'retry-after': String(Math.ceil(delay / 1000)) }
    : {};
  return { status: 503, message: UNAVAILABLE, fields: [], headers };
}

/** Whether the customer cannot correct it: too many requests, or a wrong address. */
function isOwnFault(error: PaymentsError): boolean {
  return error.retryable || error instanceof PermissionError || error instanceof NotFoundError;
}
