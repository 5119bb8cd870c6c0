import { ApplicationFailure } from '@temporalio/activity';
import { APIError, InvalidInputError, NotFoundError, PaymentsError } from 'payment-collection-client';

/** In milliseconds. A replica of the service might lag, so a 404 counts only once it comes later than this. */
const NOT_FOUND_GRACE = 15_000;

/**
 * Throws the error for Temporal. After a temporary error Temporal runs the activity again, not before the delay that the
 * service asked for. After a permanent error it does not. The workflow reads the `type`.
 */
export function throwForTemporal(error: unknown, sinceCharge = Number.POSITIVE_INFINITY): never {
  if (!(error instanceof PaymentsError)) throw error;
  if (isTemporary(error, sinceCharge)) {
    const retryAfter = error instanceof APIError ? error.retryAfter : undefined;
    throw ApplicationFailure.create({
      message: error.message,
      type: error.name,
      ...(retryAfter === undefined ? {} : { nextRetryDelay: retryAfter }),
    });
  }
  const isRejected = error.outcome === 'rejected' || error instanceof InvalidInputError;
  throw ApplicationFailure.nonRetryable(error.message, isRejected ? 'Rejected' : 'Unknown', error.code);
}

function isTemporary(error: PaymentsError, sinceCharge: number): boolean {
  if (error instanceof NotFoundError) return sinceCharge < NOT_FOUND_GRACE;
  return error.retryable;
}
