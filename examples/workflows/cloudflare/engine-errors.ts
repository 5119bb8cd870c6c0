import type { WorkflowStepConfig } from 'cloudflare:workers';
import { NonRetryableError } from 'cloudflare:workflows';
import { APIError, InvalidInputError, NotFoundError, PaymentsError } from 'payment-collection-client';

/** In milliseconds. A replica of the service might lag, so a 404 counts only once it comes later than this. */
const NOT_FOUND_GRACE = 15_000;

/** Cloudflare retries a charge for eight and a half minutes: a prompt that comes much later would confuse the customer. */
export const chargePolicy = {
  retries: { limit: 9, delay: '1 second', backoff: 'exponential' },
  timeout: '2 minutes',
} satisfies WorkflowStepConfig;

/** Every other step is retried for 14 hours: if it fails for good, the order stays as it is. */
export const stepPolicy = {
  retries: { limit: 100, delay: '10 seconds', backoff: 'linear' },
  timeout: '2 minutes',
} satisfies WorkflowStepConfig;

/** Whether it is proven that no charge exists, and another attempt would be rejected again. */
export function isRejection(error: unknown): boolean {
  return (
    error instanceof InvalidInputError ||
    (error instanceof PaymentsError && error.outcome === 'rejected' && !error.retryable)
  );
}

/**
 * Throws an error of a charge for Cloudflare, which retries every error but a `NonRetryableError`. So all errors of the
 * SDK become one, except those after which no charge exists and another attempt can succeed.
 */
export function throwForCloudflare(error: unknown): never {
  if (error instanceof PaymentsError && !(error.retryable && error.outcome !== 'unknown'))
    throw new NonRetryableError(error.message);
  throw error;
}

/** Whether a person has paused the instance. This error must leave `run`, or Cloudflare does not stop it. */
export function isPause(error: unknown): boolean {
  return error instanceof Error && error.message.includes('Aborting engine');
}

/** Whether a later check can succeed. An error that is not of the SDK comes from D1, and is temporary. */
export function isTemporary(error: unknown, sinceCharge: number): boolean {
  if (error instanceof NotFoundError) return sinceCharge < NOT_FOUND_GRACE;
  return !(error instanceof PaymentsError) || error.retryable;
}

/** Returns the delay that the service asked for, in milliseconds. */
export function readRetryAfter(error: unknown): number | undefined {
  return error instanceof APIError ? error.retryAfter : undefined;
}
