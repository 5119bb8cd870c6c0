import { getPrintableStatus } from '../api/transaction.ts';
import { PaymentsError, WaitTimeoutError } from '../errors.ts';
import { ignoreErrors, type PollEvent, type WaitEvent } from '../events.ts';
import type { PollResult } from './check.ts';
import { cloneTransaction, countAttempts, getElapsed, type PollGroup, type Waiter } from './waiter.ts';

export function createPollEvent(
  { reference, attempts }: PollGroup,
  { callResult, error }: PollResult,
  lag: number,
  delay: number | null,
): PollEvent {
  return {
    type: 'poll',
    reference,
    attempt: attempts,
    ...(callResult ? { status: getPrintableStatus(callResult.result) } : {}),
    ...(error instanceof PaymentsError ? { error: error.code } : {}),
    lag,
    delay,
  };
}

/** Calls `onPoll` of one wait. Nothing that it throws goes further. */
export function callOnPoll(
  waiter: Waiter,
  { callResult, error }: PollResult,
  now: number,
  nextDelay: number | null,
): void {
  const { onPoll } = waiter;
  if (!onPoll) return;
  const poll = {
    reference: waiter.group.reference,
    attempt: countAttempts(waiter),
    elapsed: getElapsed(waiter, now),
    transaction: callResult && cloneTransaction(callResult.result),
    error: error instanceof PaymentsError ? error : undefined,
    nextDelay,
  };
  ignoreErrors(() => onPoll(poll));
}

export function createWaitEvent(waiter: Waiter, result: WaitEvent['result'], now: number): WaitEvent {
  const { reference, lastTransaction } = waiter.group;
  const status = lastTransaction ? { status: getPrintableStatus(lastTransaction) } : {};
  const [attempts, elapsed] = [countAttempts(waiter), getElapsed(waiter, now)];
  return { type: 'wait', reference, result, ...status, attempts, elapsed };
}

export function createTimeoutError(
  waiter: Waiter,
  now: number,
  redactReference: (reference: string) => string,
): WaitTimeoutError {
  const { reference, lastTransaction, lastError } = waiter.group;
  return new WaitTimeoutError({
    reference,
    shown: redactReference(reference),
    lastTransaction: lastTransaction && cloneTransaction(lastTransaction),
    lastError,
    attempts: countAttempts(waiter),
    elapsed: getElapsed(waiter, now),
    startedAt: waiter.startedAt,
  });
}
