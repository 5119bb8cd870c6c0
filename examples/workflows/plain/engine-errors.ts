import { APIError, ClosedError, InvalidInputError, PaymentsError } from 'payment-collection-client';
import type { Orders } from '../shop/orders.ts';

/** Delays before each retry of a charge, in milliseconds: five minutes in all. Then the order goes to a manual review. */
const RETRY_DELAYS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000, 60_000, 120_000];

/**
 * Returns the delay before the charge is retried under the same key, or `null` if it must not be retried. An error that is
 * not of the SDK comes from this machine or from the database of orders, and is temporary.
 */
export function retryDelay(error: unknown, retries: number): number | null {
  const isTemporary = !(error instanceof PaymentsError) || error.retryable;
  const delay = RETRY_DELAYS[retries];
  if (!isTemporary || delay === undefined) return null;
  const retryAfter = error instanceof APIError ? (error.retryAfter ?? 0) : 0;
  return Math.max(delay, retryAfter);
}

/** Changes the order after an error that ended its charge or its wait. */
export function recordFailure(orders: Orders, id: string, error: unknown): void {
  // This process is about to end. The next one continues the order.
  if (error instanceof ClosedError) return;
  const { message } = Object(error);
  if (isRejection(error)) orders.reject(id, message);
  else orders.holdForReview(id, message);
}

/** Whether it is proven that no charge exists. Any other error, such as `OutcomeUnknownError`, needs a manual review. */
function isRejection(error: unknown): boolean {
  return (
    error instanceof InvalidInputError || (error instanceof PaymentsError && error.outcome === 'rejected')
  );
}
