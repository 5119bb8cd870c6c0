import { APIError, ClosedError, InvalidInputError, PaymentsError } from 'payment-collection-client';
import type { Orders } from '../shop/orders.ts';

/** Pauses between the tries to charge, in milliseconds: five minutes, then somebody has to look into it. */
const PAUSES = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000, 60_000, 120_000];

/**
 * How long to pause before the same charge is tried again, under the same key; `null` where it must not be. What is no
 * error of the SDK is a fault of this machine, or of the database of orders.
 */
export function pauseAfter(error: unknown, tries: number): number | null {
  const isPassing = !(error instanceof PaymentsError) || error.retryable;
  const pause = PAUSES[tries];
  if (!isPassing || pause === undefined) return null;
  const retryAfter = error instanceof APIError ? (error.retryAfter ?? 0) : 0;
  return Math.max(pause, retryAfter);
}

/** What an error that ends a charge or a wait means for the order. */
export function settle(orders: Orders, id: string, error: unknown): void {
  // This process is about to end, and the next one carries on.
  if (error instanceof ClosedError) return;
  const { message } = Object(error);
  if (isRefused(error)) orders.refuse(id, message);
  else orders.park(id, message);
}

/** It is proven that no charge exists. Anything else, `OutcomeUnknownError` first, is for a person. */
function isRefused(error: unknown): boolean {
  return (
    error instanceof InvalidInputError || (error instanceof PaymentsError && error.outcome === 'rejected')
  );
}
