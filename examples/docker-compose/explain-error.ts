import {
  AuthenticationError,
  IdempotencyConflictError,
  InvalidInputError,
  NotFoundError,
  type PaymentsError,
  PermissionError,
  TransactionMismatchError,
} from 'payment-collection-client';

/** What the customer reads after an error of a payment. No error of the client is shown: it is written for you. */
export interface Explanation {
  readonly status: 202 | 409 | 422 | 503;
  readonly message: string;
  /** Whether a payment might exist: a person reviews the order before anything else happens to it. */
  readonly needsReview: boolean;
}

/** Explains an error of a call that starts a payment. If a payment might exist, the customer must not pay again. */
export function explainError(error: PaymentsError): Explanation {
  // The error is about an earlier call, which had its own response.
  if (error instanceof IdempotencyConflictError) {
    return { status: 409, message: 'A payment for this order was started before.', needsReview: false };
  }
  if (error.outcome === 'unknown' || error instanceof TransactionMismatchError) {
    const message = 'We are reviewing your payment, and will write to you. Please do not pay again.';
    return { status: 202, message, needsReview: true };
  }
  if (error instanceof InvalidInputError) {
    const fields = error.issues.map(({ path }) => path).join(', ');
    return { status: 422, message: `Please correct: ${fields}.`, needsReview: false };
  }
  if (isOurFault(error)) {
    // It does not say "nothing was charged": an earlier call under the key might have charged.
    const message = 'Payments are not possible at the moment. Please try again later.';
    return { status: 503, message, needsReview: false };
  }
  return { status: 422, message: 'The payment was rejected.', needsReview: false };
}

/** Whether the customer cannot correct it: nothing was sent, a wrong key or address, or too many requests. */
function isOurFault(error: PaymentsError): boolean {
  return (
    error.outcome === 'not_sent' ||
    error.retryable ||
    error instanceof AuthenticationError ||
    error instanceof PermissionError ||
    error instanceof NotFoundError
  );
}
