import * as restate from '@restatedev/restate-sdk';
import {
  APIError,
  ClosedError,
  InvalidInputError,
  NotFoundError,
  PaymentsError,
} from 'payment-collection-client';

/** In milliseconds. A replica of the service might lag, so a 404 counts only once it comes later than this. */
const NOT_FOUND_GRACE = 15_000;

/**
 * Throws the error for Restate. After a `RetryableError` Restate runs the step again, not before the delay that the service
 * asked for. After a `TerminalError` it does not.
 */
export function throwForRestate(error: unknown, sinceCharge = Number.POSITIVE_INFINITY): never {
  if (!(error instanceof PaymentsError)) throw error;
  if (isTemporary(error, sinceCharge)) throw restate.RetryableError.from(error, readRetryAfter(error));
  const isRejected = error.outcome === 'rejected' || error instanceof InvalidInputError;
  throw new restate.TerminalError(error.message, {
    metadata: { code: error.code, outcome: isRejected ? 'rejected' : 'unknown' },
  });
}

/** Whether it is proven that no charge exists. A cancelled invocation proves nothing. */
export function isRejection({ metadata }: restate.TerminalError): boolean {
  return metadata?.outcome === 'rejected';
}

function isTemporary(error: PaymentsError, sinceCharge: number): boolean {
  if (error instanceof NotFoundError) return sinceCharge < NOT_FOUND_GRACE;
  // The client is closed because this worker is about to end. The next worker continues.
  return error.retryable || error instanceof ClosedError;
}

function readRetryAfter(error: PaymentsError): { retryAfter: number } | undefined {
  return error instanceof APIError && error.retryAfter !== undefined
    ? { retryAfter: error.retryAfter }
    : undefined;
}
