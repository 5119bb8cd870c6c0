import { printableStatus } from '../api/transaction.ts';
import { PaymentsError, WaitTimeoutError } from '../errors.ts';
import { ignoringErrors, type PollEvent, type WaitEvent } from '../events.ts';
import type { PollGroup, PollResult, Waiter } from './poll-group.ts';
import { cloneTransaction } from './poll-group.ts';

/** Tells one caller about a poll that it shared. */
export function notifyOnPoll(
  wait: Waiter,
  { answer, error }: PollResult,
  now: number,
  nextDelay: number | null,
): void {
  const { onPoll } = wait.request;
  if (!onPoll) return;
  const pollInfo = {
    reference: wait.group.reference,
    attempt: attemptsOf(wait),
    elapsed: elapsedOf(wait, now),
    transaction: answer && cloneTransaction(answer.result),
    error: error instanceof PaymentsError ? error : undefined,
    nextDelay,
  };
  ignoringErrors(() => onPoll(pollInfo));
}

export function pollEvent(
  { reference, attempts }: PollGroup,
  { answer, error }: PollResult,
  late: number,
  delay: number | null,
): PollEvent {
  return {
    type: 'poll',
    reference,
    attempt: attempts,
    ...(answer ? { status: printableStatus(answer.result) } : {}),
    ...(error instanceof PaymentsError ? { error: error.code } : {}),
    lag: late,
    delay,
  };
}

export function waitEvent(wait: Waiter, result: WaitEvent['result'], now: number): WaitEvent {
  const { reference, lastTransaction } = wait.group;
  const elapsed = elapsedOf(wait, now);
  const status = lastTransaction ? { status: printableStatus(lastTransaction) } : {};
  return { type: 'wait', reference, result, ...status, attempts: attemptsOf(wait), elapsed };
}

export function timeoutError(wait: Waiter, now: number): WaitTimeoutError {
  const { reference, lastTransaction, lastError } = wait.group;
  const { startedAt, request } = wait;
  const attempts = attemptsOf(wait);
  return new WaitTimeoutError({
    reference,
    shown: request.shown,
    lastTransaction: lastTransaction && cloneTransaction(lastTransaction),
    lastError,
    attempts,
    elapsed: elapsedOf(wait, now),
    startedAt,
  });
}

const attemptsOf = (wait: Waiter) => wait.group.attempts - wait.attemptsBefore;

const elapsedOf = (wait: Waiter, now: number) => Math.max(0, Math.round(now - wait.began));
