import { ApplicationFailure } from '@temporalio/activity';
import { APIError, InvalidInputError, NotFoundError, PaymentsError } from 'payment-collection-client';

/** A replica of the service may not know a new payment yet: only a 404 that comes later than this is believed. */
const MISSING_IS_BELIEVED_AFTER = 15_000;

/**
 * The one place where an error of the client becomes Temporal's. A passing one runs the activity again, after the pause
 * that the service asked for; a fatal one never does. The workflow goes by its `type`.
 */
export function throwForTemporal(error: unknown, sinceCharge = Number.POSITIVE_INFINITY): never {
  if (!(error instanceof PaymentsError)) throw error;
  if (isPassing(error, sinceCharge)) {
    const pause = error instanceof APIError ? error.retryAfter : undefined;
    throw ApplicationFailure.create({
      message: error.message,
      type: error.name,
      ...(pause === undefined ? {} : { nextRetryDelay: pause }),
    });
  }
  const noCharge = error.outcome === 'rejected' || error instanceof InvalidInputError;
  throw ApplicationFailure.nonRetryable(error.message, noCharge ? 'Refused' : 'InDoubt', error.code);
}

function isPassing(error: PaymentsError, sinceCharge: number): boolean {
  if (error instanceof NotFoundError) return sinceCharge < MISSING_IS_BELIEVED_AFTER;
  return error.retryable;
}
