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

/** What the customer is answered when something failed, whatever the framework. */
export interface Answer {
  readonly status: 202 | 409 | 422 | 503;
  readonly message: string;
  readonly fields: readonly { readonly field: string; readonly message: string }[];
  readonly headers: Readonly<Record<string, string>>;
  /** A person has to find out before anything more is done about the order. */
  readonly review: boolean;
}

const plain = { fields: [], headers: {}, review: false };

/** One answer for each outcome. Only where no charge can exist may the customer be told to try again. */
export function answerTo(error: PaymentsError): Answer {
  // It is about an earlier call, whose own answer told what became of it.
  if (error instanceof IdempotencyConflictError) {
    return { ...plain, status: 409, message: 'A payment for this order was started before.' };
  }
  if (error.outcome === 'unknown' || error instanceof TransactionMismatchError) {
    const message = 'We are looking into your payment, and will write to you. Please do not pay again.';
    return { ...plain, status: 202, message, review: true };
  }
  if (error.outcome === null) {
    const message =
      'We could not ask how your payment stands. Please do not pay again: this page asks again.';
    return { ...plain, status: 503, message, headers: retryAfter(error) };
  }
  if (error instanceof InvalidInputError) {
    const fields = error.issues.map(({ path, message }) => ({ field: path, message }));
    return { ...plain, status: 422, message: 'Please mend what is marked. Nothing was charged.', fields };
  }
  if (isTheShopsFault(error)) {
    const message = 'Payments are not possible at the moment. Nothing was charged.';
    return { ...plain, status: 503, message, headers: error.retryable ? retryAfter(error) : {} };
  }
  const fields = error instanceof APIError ? error.fieldErrors : [];
  return { ...plain, status: 422, message: 'The payment was refused. Nothing was charged.', fields };
}

/** Nothing that the customer could mend: not sent, a wrong key or address, or too many requests. */
function isTheShopsFault(error: PaymentsError): boolean {
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
