import { NotFoundError } from '../api-errors.ts';
import type { Transaction } from '../contract/transaction.ts';
import { PaymentsError } from '../errors.ts';
import { verify } from '../operations.ts';
import { TransactionMismatchError } from '../request-errors.ts';
import { isFinal } from './schedule.ts';
import type { Outcome, SharedPoll } from './shared-poll.ts';
import { isOverdue, type Wait } from './wait.ts';

/** A replica may lag behind: only a 404 that has lasted this long is believed. */
const MISSING_IS_BELIEVED_AFTER = 10_000;

/** Which waits end with this, and how: all is judged before any caller hears of it. */
export function endingsOf(poll: SharedPoll, outcome: Outcome, now: number): { wait: Wait; how: Ending }[] {
  const transaction = outcome.answer?.result;
  const over = !transaction && !isPassing(poll, outcome.error, now);
  return poll.waits
    .filter((wait) => over || isOverdue(wait) || (transaction && ends(wait, transaction)))
    .map((wait) => ({ wait, how: endingOf(wait, outcome, over) }));
}

function ends({ request }: Wait, { status }: Transaction): boolean {
  return request.oneLook || isFinal(status, request.rules.finalStatuses);
}

/** How a wait ends: with a copy of the transaction, with what is wrong, or because its time is over. */
export type Ending =
  | { result: 'final'; transaction: Transaction }
  | { result: 'failed'; reason: unknown }
  | { result: 'timeout'; transaction: Transaction | undefined };

/** Each wait has its own expectation. */
function endingOf(wait: Wait, { answer, error }: Outcome, over: boolean): Ending {
  if (over) return { result: 'failed', reason: error };
  const transaction = answer && copyOf(answer.result);
  if (!transaction || !ends(wait, transaction)) return { result: 'timeout', transaction };
  const wrong = contradiction(wait, transaction);
  return wrong ? { result: 'failed', reason: wrong } : { result: 'final', transaction };
}

/** One for each who is told: what one of them changes is no other's transaction, and not the one that is judged. */
export function copyOf(transaction: Transaction): Transaction {
  return { ...transaction };
}

function contradiction(
  { request, poll }: Wait,
  transaction: Transaction,
): TransactionMismatchError | undefined {
  if (!request.expect) return undefined;
  const mismatches = verify.mismatches(transaction, { reference: poll.reference, expect: request.expect });
  if (mismatches.length === 0) return undefined;
  return new TransactionMismatchError(transaction, mismatches, { operation: 'verify', outcome: null });
}

/** Whether anybody waits for it whose time is not over. Those whose time is are told of that in a moment. */
export function isWanted({ waits }: SharedPoll, now: number): boolean {
  return waits.some(({ due }) => due > now);
}

/** Whether the polls go on after this fault. */
function isPassing({ missingSince }: SharedPoll, error: unknown, now: number): boolean {
  if (error instanceof NotFoundError) return now - (missingSince ?? now) < MISSING_IS_BELIEVED_AFTER;
  return error instanceof PaymentsError && error.retryable;
}
