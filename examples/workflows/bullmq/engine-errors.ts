import { type BackoffStrategy, UnrecoverableError } from 'bullmq';
import { APIError, InvalidInputError, NotFoundError, PaymentsError } from 'payment-collection-client';
import { nextDelay } from 'payment-collection-client/schedule';
import { looks } from '../shop/settings.ts';

/** A replica of the service may lag behind: only then is it believed that there is no such transaction. */
const MISSING_IS_BELIEVED_AFTER = 10_000;
const LONGEST_PAUSE = 60_000;

/**
 * What an error of a charge or of a look is to BullMQ: an `UnrecoverableError` is not tried again; whatever else is thrown
 * is, when {@link backoffStrategy} says so.
 */
export function engineError(error: unknown, sinceCharge = Number.POSITIVE_INFINITY): unknown {
  if (!(error instanceof PaymentsError) || error.retryable) return error;
  if (error instanceof NotFoundError && sinceCharge < MISSING_IS_BELIEVED_AFTER) return error;
  return new UnrecoverableError(error.message);
}

/** Whether it is certain that no charge came of it. */
export function isRefusal(error: unknown): boolean {
  return (
    error instanceof InvalidInputError || (error instanceof PaymentsError && error.outcome === 'rejected')
  );
}

/** When to try again after a passing fault: as long as it lasts, and not before the service wishes. */
export const backoffStrategy: BackoffStrategy = (_attempts, _type, error, job) => {
  const now = Date.now();
  const delay = nextDelay({
    ...looks.soon,
    elapsed: now - (job?.timestamp ?? now),
    retryAfter: error instanceof APIError ? error.retryAfter : undefined,
    random: Math.random(),
    maxDelay: LONGEST_PAUSE,
    timeout: Number.POSITIVE_INFINITY,
  });
  return delay ?? LONGEST_PAUSE;
};
