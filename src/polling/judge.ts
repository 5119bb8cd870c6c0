import { NotFoundError } from '../api-errors.ts';
import type { Transaction } from '../contract/transaction.ts';
import { PaymentsError } from '../errors.ts';
import { verify } from '../operations.ts';
import { TransactionMismatchError } from '../request-errors.ts';
import { isFinal } from './schedule.ts';
import type { PollGroup, PollResult } from './shared-poll.ts';
import { isOverdue, type Waiter } from './wait.ts';

/** A replica may lag behind: only a 404 that has lasted this long is believed. */
const NOT_FOUND_GRACE = 10_000;

/** Which waits end with this, and how: all is judged before any caller hears of it. */
export function completedWaiters(
  poll: PollGroup,
  outcome: PollResult,
  now: number,
): { wait: Waiter; how: WaitResult }[] {
  const transaction = outcome.answer?.result;
  const over = !transaction && !isTransient(poll, outcome.error, now);
  return poll.waits
    .filter((wait) => over || isOverdue(wait) || (transaction && isTerminalFor(wait, transaction)))
    .map((wait) => ({ wait, how: resultFor(wait, outcome, over) }));
}

function isTerminalFor({ request }: Waiter, { status }: Transaction): boolean {
  return request.once || isFinal(status, request.rules.finalStatuses);
}

/** How a wait ends: with a copy of the transaction, with what is wrong, or because its time is over. */
export type WaitResult =
  | { result: 'final'; transaction: Transaction }
  | { result: 'failed'; reason: unknown }
  | { result: 'timeout'; transaction: Transaction | undefined };

/** Each wait has its own expectation. */
function resultFor(wait: Waiter, { answer, error }: PollResult, over: boolean): WaitResult {
  if (over) return { result: 'failed', reason: error };
  const transaction = answer && cloneTransaction(answer.result);
  if (!transaction || !isTerminalFor(wait, transaction)) return { result: 'timeout', transaction };
  const wrong = mismatchError(wait, transaction, answer.requestId);
  return wrong ? { result: 'failed', reason: wrong } : { result: 'final', transaction };
}

/** One for each who is told: what one of them changes is no other's transaction, and not the one that is judged. */
export function cloneTransaction(transaction: Transaction): Transaction {
  return { ...transaction };
}

function mismatchError(
  { request, group: poll }: Waiter,
  transaction: Transaction,
  requestId: string,
): TransactionMismatchError | undefined {
  if (!request.expect) return undefined;
  const mismatches = verify.mismatches(transaction, { reference: poll.reference, expect: request.expect });
  if (mismatches.length === 0) return undefined;
  const { shown } = request;
  const redact = shown === undefined ? {} : { redact: { id: () => shown } };
  return new TransactionMismatchError(transaction, mismatches, {
    operation: 'verify',
    outcome: null,
    requestId,
    ...redact,
  });
}

/** Whether anybody waits for it whose time is not over. Those whose time is are told of that in a moment. */
export function hasLiveWaiters({ waits }: PollGroup, now: number): boolean {
  return waits.some(({ dueAt: due }) => due > now);
}

/** Whether the polls go on after this fault. */
function isTransient({ notFoundSince: missingSince }: PollGroup, error: unknown, now: number): boolean {
  if (error instanceof NotFoundError) return now - (missingSince ?? now) < NOT_FOUND_GRACE;
  return error instanceof PaymentsError && error.retryable;
}
