import { NotFoundError } from '../api-errors.ts';
import type { Transaction } from '../contract/transaction.ts';
import { PaymentsError } from '../errors.ts';
import { verify } from '../operations.ts';
import { TransactionMismatchError } from '../request-errors.ts';
import { isFinal } from './schedule.ts';
import type { SharedPoll } from './shared-poll.ts';
import type { Wait } from './wait.ts';

/** A replica may lag behind: only a 404 that has lasted this long is believed. */
const MISSING_IS_BELIEVED_AFTER = 10_000;

/** Whether a wait ends with this answer. */
export function ends({ request }: Wait, { status }: Transaction): boolean {
  return request.oneLook || isFinal(status, request.rules.finalStatuses);
}

/** What is wrong with the answer that ends a wait, if anything is: each wait has its own expectation. */
export function contradiction(
  { request, poll }: Wait,
  transaction: Transaction,
): TransactionMismatchError | undefined {
  if (!request.expect) return undefined;
  const mismatches = verify.mismatches(transaction, { reference: poll.reference, expect: request.expect });
  if (mismatches.length === 0) return undefined;
  return new TransactionMismatchError(transaction, mismatches, { operation: 'verify', outcome: null });
}

/** Whether the polls go on after this fault. */
export function isPassing({ missingSince }: SharedPoll, error: unknown, now: number): boolean {
  if (error instanceof NotFoundError) return now - (missingSince ?? now) < MISSING_IS_BELIEVED_AFTER;
  return error instanceof PaymentsError && error.retryable;
}
