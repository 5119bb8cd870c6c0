import { DBOS, type StepConfig } from '@dbos-inc/dbos-sdk';
import { APIError, InvalidInputError, NotFoundError, PaymentsError } from 'payment-collection-client';
import type { Orders } from '../shop/orders.ts';

/**
 * Whether the same step can succeed later. An error that is not of the SDK comes from this machine or from the database of
 * orders, and is temporary.
 */
export function isTemporary(error: unknown): boolean {
  return !(error instanceof PaymentsError) || error.retryable;
}

/** Whether a 404 is so early that a lagging replica of the service might have caused it. */
export function mightAppearLater(error: unknown, elapsed: number): boolean {
  return error instanceof NotFoundError && elapsed < 15_000;
}

/** DBOS retries a step while `shouldRetry` is true: here for eight and a half minutes. */
export const retryPolicy: StepConfig = {
  retriesAllowed: true,
  shouldRetry: isTemporary,
  intervalSeconds: 1,
  backoffRate: 2,
  maxAttempts: 10,
};

/** Returns the delay that the service asked for. DBOS's own delays do not include it. */
export function readRetryAfter(error: unknown): number | undefined {
  return error instanceof APIError ? error.retryAfter : undefined;
}

/**
 * Changes the order after an error that is permanent, or that every attempt had. It runs inside the step: an error that
 * leaves a step is a plain `Error` when DBOS replays the workflow, and `instanceof` no longer works.
 */
export function recordFailure(orders: Orders, id: string, error: unknown): void {
  if (isTemporary(error) && !isLastAttempt()) throw error;
  const { message } = Object(error);
  if (isRejection(error)) orders.reject(id, message);
  else orders.holdForReview(id, message);
}

function isLastAttempt(): boolean {
  const { currentAttempt, maxAttempts } = DBOS.stepStatus ?? {};
  return currentAttempt === maxAttempts;
}

/** Whether it is proven that no charge exists. Any other error, such as `OutcomeUnknownError`, needs a manual review. */
function isRejection(error: unknown): boolean {
  return (
    error instanceof InvalidInputError || (error instanceof PaymentsError && error.outcome === 'rejected')
  );
}
