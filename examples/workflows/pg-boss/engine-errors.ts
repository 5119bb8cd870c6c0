import { APIError, InvalidInputError, NotFoundError, PaymentsError } from 'payment-collection-client';

/** In milliseconds. A replica of the service might lag, so a 404 counts only once it comes later than this. */
const NOT_FOUND_GRACE = 10_000;

/** Whether a job can run again. An error of the shop's own code might end too: with a release, or with the database. */
export function isTemporary(error: unknown, sinceCharge = Number.POSITIVE_INFINITY): boolean {
  if (!(error instanceof PaymentsError) || error.retryable) return true;
  return error instanceof NotFoundError && sinceCharge < NOT_FOUND_GRACE;
}

/** Whether it is proven that no charge exists. */
export function isRejection(error: unknown): boolean {
  return (
    error instanceof InvalidInputError || (error instanceof PaymentsError && error.outcome === 'rejected')
  );
}

/** Returns the delay that the service asked for, in milliseconds. */
export function readRetryAfter(error: unknown): number | undefined {
  return error instanceof APIError ? error.retryAfter : undefined;
}
