import {
  APIError,
  AuthenticationError,
  IdempotencyConflictError,
  InvalidInputError,
  NotFoundError,
  type PaymentsError,
  PermissionError,
  TransactionMismatchError,
} from 'payment-collection-client';

/** The response to the customer after an error, for every framework. */
export interface ErrorResponse {
  readonly status: 202 | 409 | 422 | 503;
  readonly message: string;
  readonly fields: readonly { readonly field: string; readonly message: string }[];
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the order needs a manual review before anything else happens to it. */
  readonly review: boolean;
}

const plain = { fields: [], headers: {}, review: false };

/** Returns one response for each outcome. If a charge might exist, it says that the customer must not pay again. */
export function toErrorResponse(error: PaymentsError): ErrorResponse {
  // The error is about an earlier call, which had its own response.
  if (error instanceof IdempotencyConflictError) {
    return { ...plain, status: 409, message: 'A payment for this order was started before.' };
  }
  if (error.outcome === 'unknown' || error instanceof TransactionMismatchError) {
    const message = 'We are reviewing your payment, and will write to you. Please do not pay again.';
    return { ...plain, status: 202, message, review: true };
  }
  if (error.outcome === null) {
    const message = 'We could not check your payment. Please do not pay again: this page checks again.';
    return { ...plain, status: 503, message, headers: retryAfter(error) };
  }
  if (error instanceof InvalidInputError) {
    const fields = error.issues.map(({ path, message }) => ({ field: path, message }));
    return { ...plain, status: 422, message: 'Please correct these fields.', fields };
  }
  if (isOwnFault(error)) {
    // It does not say "nothing was charged": an earlier call under the key might have charged.
    const message = 'Payments are not possible at the moment. Please try again later.';
    return { ...plain, status: 503, message, headers: error.retryable ? retryAfter(error) : {} };
  }
  const fields = error instanceof APIError ? error.fieldErrors : [];
  return { ...plain, status: 422, message: 'The payment was rejected.', fields };
}

/** Whether the customer cannot correct it: nothing was sent, a wrong key or address, or too many requests. */
function isOwnFault(error: PaymentsError): boolean {
  return (
    error.outcome === 'not_sent' ||
    error.retryable ||
    error instanceof AuthenticationError ||
    error instanceof PermissionError ||
    error instanceof NotFoundError
  );
}

function retryAfter(error: PaymentsError): Record<string, string> {
  const delay = (error instanceof APIError && error.retryAfter) || 5_000;
  return { 'retry-after': String(Math.ceil(delay / 1000)) };
}
