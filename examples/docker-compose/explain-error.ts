import {
  InvalidInputError,
  NotFoundError,
  type PaymentsError,
  PermissionError,
} from 'payment-collection-client';

/** Returns what the customer reads if a press started no payment. No error of the client is shown: it is written for you. */
export function explainError(error: PaymentsError): { status: 422 | 503; message: string } {
  if (error instanceof InvalidInputError) {
    const fields = error.issues.map(({ path }) => path).join(', ');
    return { status: 422, message: `Please correct: ${fields}.` };
  }
  if (error.outcome === 'rejected' && !isOurFault(error))
    return { status: 422, message: 'The payment was rejected.' };
  return { status: 503, message: 'Payments are not possible at the moment. Please try again later.' };
}

/** Whether the customer cannot correct it: too many requests, or a wrong address. */
function isOurFault(error: PaymentsError): boolean {
  return error.retryable || error instanceof PermissionError || error instanceof NotFoundError;
}
