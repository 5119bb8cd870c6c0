import { printableStatus } from '../contract/transaction.ts';
import { PaymentsError } from '../errors.ts';
import { type PollEvent, shielded, type WaitEvent } from '../events.ts';
import { WaitTimeoutError } from '../wait-timeout-error.ts';
import { copyOf } from './judge.ts';
import type { Outcome, SharedPoll } from './shared-poll.ts';
import type { Wait } from './wait.ts';

/** Tells one caller about a poll that it shared. */
export function tell(wait: Wait, { answer, error }: Outcome, now: number, nextDelay: number | null): void {
  const { onPoll } = wait.request;
  if (!onPoll) return;
  const told = {
    reference: wait.poll.reference,
    attempt: attemptsOf(wait),
    elapsed: elapsedOf(wait, now),
    transaction: answer && copyOf(answer.result),
    error: error instanceof PaymentsError ? error : undefined,
    nextDelay,
  };
  shielded(() => onPoll(told));
}

export function pollEvent(
  { reference, attempts }: SharedPoll,
  { answer, error }: Outcome,
  late: number,
  delay: number | null,
): PollEvent {
  return {
    type: 'poll',
    reference,
    attempt: attempts,
    ...(answer ? { status: printableStatus(answer.result) } : {}),
    ...(error instanceof PaymentsError ? { error: error.code } : {}),
    late,
    delay,
  };
}

export function waitEvent(wait: Wait, result: WaitEvent['result'], now: number): WaitEvent {
  const { reference, lastTransaction } = wait.poll;
  const elapsed = elapsedOf(wait, now);
  const status = lastTransaction ? { status: printableStatus(lastTransaction) } : {};
  return { type: 'wait', reference, result, ...status, attempts: attemptsOf(wait), elapsed };
}

export function timeoutError(wait: Wait, now: number): WaitTimeoutError {
  const { reference, lastTransaction, lastError } = wait.poll;
  const { startedAt } = wait;
  const attempts = attemptsOf(wait);
  return new WaitTimeoutError({
    reference,
    lastTransaction: lastTransaction && copyOf(lastTransaction),
    lastError,
    attempts,
    elapsed: elapsedOf(wait, now),
    startedAt,
  });
}

const attemptsOf = (wait: Wait) => wait.poll.attempts - wait.attemptsBefore;

const elapsedOf = (wait: Wait, now: number) => Math.max(0, Math.round(now - wait.began));
