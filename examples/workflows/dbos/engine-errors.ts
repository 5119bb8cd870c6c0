import { DBOS, type StepConfig } from '@dbos-inc/dbos-sdk';
import { APIError, InvalidInputError, NotFoundError, PaymentsError } from 'payment-collection-client';
import type { Orders } from '../shop/orders.ts';

/**
 * Whether the same step may succeed later. What is no error of the SDK is a fault of this machine, or of the database
 * of orders.
 */
export function isPassing(error: unknown): boolean {
  return !(error instanceof PaymentsError) || error.retryable;
}

/** A part of the service may learn of a charge a little later than the one that took it. */
export function isNotKnownYet(error: unknown, elapsed: number): boolean {
  return error instanceof NotFoundError && elapsed < 15_000;
}

/** DBOS runs a step again while `shouldRetry` says so: here for eight minutes and a half. */
export const retries: StepConfig = {
  retriesAllowed: true,
  shouldRetry: isPassing,
  intervalSeconds: 1,
  backoffRate: 2,
  maxAttempts: 10,
};

/** What the service asked for before the next request. DBOS's own pauses do not know of it. */
export function retryAfter(error: unknown): number | undefined {
  return error instanceof APIError ? error.retryAfter : undefined;
}

/**
 * What an error means for an order where it is fatal, or has lasted. It is settled within the step, since an error that leaves one comes back as a
 * plain `Error` when DBOS replays the workflow: `instanceof` would not hold.
 */
export function settle(orders: Orders, id: string, error: unknown): void {
  if (isPassing(error) && !isLastAttempt()) throw error;
  const { message } = Object(error);
  if (isRefused(error)) orders.refuse(id, message);
  else orders.park(id, message);
}

function isLastAttempt(): boolean {
  const { currentAttempt, maxAttempts } = DBOS.stepStatus ?? {};
  return currentAttempt === maxAttempts;
}

/** It is proven that no charge exists. Anything else, `OutcomeUnknownError` first, is for a person. */
function isRefused(error: unknown): boolean {
  return (
    error instanceof InvalidInputError || (error instanceof PaymentsError && error.outcome === 'rejected')
  );
}
