import { type BackoffStrategy, UnrecoverableError } from 'bullmq';
import { APIError, InvalidInputError, NotFoundError, PaymentsError } from 'payment-collection-client';
import { nextDelay } from 'payment-collection-client/schedule';
import { checkSchedule } from '../shop/settings.ts';

/** In milliseconds. A replica of the service might lag, so a 404 counts only once it comes later than this. */
const NOT_FOUND_GRACE = 10_000;
const MAX_RETRY_DELAY = 60_000;

/**
 * Returns the error for BullMQ. BullMQ does not retry an `UnrecoverableError`. It retries any other error after the delay of
 * {@link backoffStrategy}.
 */
export function toEngineError(error: unknown, sinceCharge = Number.POSITIVE_INFINITY): unknown {
  if (!(error instanceof PaymentsError) || error.retryable) return error;
  if (error instanceof NotFoundError && sinceCharge < NOT_FOUND_GRACE) return error;
  return new UnrecoverableError(error.message);
}

/** Whether it is proven that no charge exists. */
export function isRejection(error: unknown): boolean {
  return (
    error instanceof InvalidInputError || (error instanceof PaymentsError && error.outcome === 'rejected')
  );
}

/** Returns the delay before a retry after a temporary error: without an end, and never less than the service asked for. */
export const backoffStrategy: BackoffStrategy = (_attempts, _type, error, job) => {
  const now = Date.now();
  const delay = nextDelay({
    ...checkSchedule.beforeDeadline,
    elapsed: now - (job?.timestamp ?? now),
    retryAfter: error instanceof APIError ? error.retryAfter : undefined,
    random: Math.random(),
    maxDelay: MAX_RETRY_DELAY,
    timeout: Number.POSITIVE_INFINITY,
  });
  return delay ?? MAX_RETRY_DELAY;
};
