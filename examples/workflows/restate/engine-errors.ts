import * as restate from '@restatedev/restate-sdk';
import {
  APIError,
  ClosedError,
  InvalidInputError,
  NotFoundError,
  PaymentsError,
} from 'payment-collection-client';

/** A replica of the service may not know a new payment yet: only a 404 that comes later than this is believed. */
const MISSING_IS_BELIEVED_AFTER = 15_000;

/**
 * The one place where an error of the client becomes Restate's. A `RetryableError` runs the step again, after the pause
 * that the service asked for; a `TerminalError` never does.
 */
export function throwForRestate(error: unknown, sinceCharge = Number.POSITIVE_INFINITY): never {
  if (!(error instanceof PaymentsError)) throw error;
  if (isPassing(error, sinceCharge)) throw restate.RetryableError.from(error, pauseOf(error));
  const noCharge = error.outcome === 'rejected' || error instanceof InvalidInputError;
  throw new restate.TerminalError(error.message, {
    metadata: { code: error.code, outcome: noCharge ? 'refused' : 'in doubt' },
  });
}

/** Whether it is certain that no charge exists. An invocation that is cancelled proves nothing. */
export function isRefusal({ metadata }: restate.TerminalError): boolean {
  return metadata?.outcome === 'refused';
}

function isPassing(error: PaymentsError, sinceCharge: number): boolean {
  if (error instanceof NotFoundError) return sinceCharge < MISSING_IS_BELIEVED_AFTER;
  // A worker that is closed is about to end: the next one carries on.
  return error.retryable || error instanceof ClosedError;
}

function pauseOf(error: PaymentsError): { retryAfter: number } | undefined {
  return error instanceof APIError && error.retryAfter !== undefined
    ? { retryAfter: error.retryAfter }
    : undefined;
}
