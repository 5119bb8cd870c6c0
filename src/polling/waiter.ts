import { verify } from '../api/operations.ts';
import { getPrintableStatus, type Transaction } from '../api/transaction.ts';
import { PaymentsError, TransactionMismatchError, WaitTimeoutError } from '../errors.ts';
import { ignoreErrors, type PollEvent, type WaitEvent } from '../events.ts';
import type { CallResult } from '../http/attempt.ts';
import { isFinal } from '../schedule.ts';
import type { Abortable } from '../support/abort-listeners.ts';
import type { HeapItem } from '../support/heap.ts';
import type { NormalizedWait } from './normalize-wait.ts';

/**
 * One caller's wait. `dueAt` is its place in the heap of deadlines. One client can hold a million of these, so the object
 * is flat and holds only what the wait needs later.
 */
export interface Waiter
  extends HeapItem,
    Abortable<Waiter>,
    Readonly<Pick<NormalizedWait, 'rules' | 'expect' | 'onPoll' | 'onTransaction' | 'until'>> {
  readonly group: PollGroup;
  /** Its index among the waiters of its group, -1 after it has left. */
  index: number;
  /** The start of the wait: on the monotonic clock, and in milliseconds since 1970. */
  readonly startedMono: number;
  readonly startedAt: number;
  /** The end of the wait, on the monotonic clock. `dueAt` is the same, or later if one more check was granted. */
  readonly deadline: number;
  /** The polls of the group that ended before this wait joined. */
  readonly attemptsBefore: number;
  readonly resolve: ResolveWaiter;
}

/** All waits on one reference: they share each poll. `dueAt` is when the next poll is due. */
export interface PollGroup extends HeapItem {
  readonly reference: string;
  /** The headers of the first wait. The schedule counts from its start too, on the monotonic clock. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly startedMono: number;
  waiters: Waiter[];
  attempts: number;
  lastTransaction: Transaction | undefined;
  lastError: PaymentsError | undefined;
  /** The time of the first 404 in a row. */
  notFoundSince: number | undefined;
  /** When the last poll ended, and until when the service asked to wait then. */
  lastPollAt: number;
  notBefore: number;
  /** When `notify` last brought a poll forward, and whether it was called during the poll in flight. */
  notifiedAt: number;
  isNotified: boolean;
  inFlight: AbortController | undefined;
}

/**
 * Resolves the caller's promise. It rejects that promise if it is given a rejected one: a second function for that would
 * take 64 bytes more for each wait. `retryAfter` is that of the response, and `age` is how long ago it was asked for, in milliseconds.
 */
export type ResolveWaiter = (
  transaction: Transaction | Promise<never>,
  retryAfter?: number | undefined,
  age?: number | undefined,
) => void;

/** When a wait started: on the monotonic clock, and in milliseconds since 1970. */
export type WaitStart = Pick<Waiter, 'startedMono' | 'startedAt'>;

/**
 * Creates a waiter that is in no heap yet. A poll in flight counts as its own: it gets that poll's result too. A single check does not
 * take it: what it asks for is the status from now on.
 */
export function createWaiter(
  group: PollGroup,
  request: NormalizedWait,
  { startedMono, startedAt }: WaitStart,
  resolve: ResolveWaiter,
): Waiter {
  const { rules, timeout, expect, onPoll, onTransaction, until } = request;
  // Each property by its name: an object made with a spread takes 32 bytes more.
  return {
    group,
    index: group.waiters.length,
    rules,
    expect,
    onPoll,
    onTransaction,
    until,
    startedMono,
    startedAt,
    deadline: Math.ceil(startedMono + timeout),
    attemptsBefore: group.attempts - (group.inFlight && until !== 'response' ? 1 : 0),
    resolve,
    dueAt: 0,
    heapIndex: -1,
    abortGroup: null,
    previous: null,
    next: null,
  };
}

/** Whether the deadline has passed and the wait got one more check, whose result ends it. */
export function isPastDeadline({ dueAt, deadline }: Waiter): boolean {
  return dueAt > deadline;
}

/** The last poll leaves this long before the deadline, so that its result can still arrive. In milliseconds. */
const FINAL_POLL_MARGIN = 500;

export function getFinalPollTime({ dueAt, deadline, startedMono }: Waiter): number {
  return dueAt - Math.min(FINAL_POLL_MARGIN, (deadline - startedMono) / 10);
}

/** Returns how many polls the wait took part in. */
export function countAttempts({ group, attemptsBefore }: Waiter): number {
  return group.attempts - attemptsBefore;
}

/** Returns the milliseconds since the start of the wait. */
function getElapsed({ startedMono }: Waiter, now: number): number {
  return Math.max(0, Math.round(now - startedMono));
}

export type PollResult =
  | { callResult: CallResult<Transaction>; error: undefined }
  | { callResult: undefined; error: unknown };

/** How a wait ends after a poll: with its own copy of the transaction, with an error, or at its deadline. */
export type WaitResult =
  | { result: 'final'; transaction: Transaction; retryAfter: number | undefined }
  | { result: 'failed'; reason: unknown }
  | { result: 'timeout'; transaction: Transaction | undefined };

/**
 * Returns how this poll ends the wait, or `undefined` if the wait goes on. `isTemporary` tells whether the poll's error
 * is temporary. Each wait has its own final statuses and its own `expect`.
 */
export function getWaitResult(
  waiter: Waiter,
  { callResult, error }: PollResult,
  isTemporary: boolean,
  redactReference: (reference: string) => string,
): WaitResult | undefined {
  if (waiter.until === 'response' && countAttempts(waiter) === 0) return undefined;
  if (!callResult && (!isTemporary || waiter.until === 'response'))
    return { result: 'failed', reason: error };
  if (callResult && isFinalFor(waiter, callResult.result)) {
    const { requestId, retryAfter } = callResult;
    const transaction = cloneTransaction(callResult.result);
    const mismatch = findMismatch(waiter, transaction, requestId, redactReference);
    return mismatch ? { result: 'failed', reason: mismatch } : { result: 'final', transaction, retryAfter };
  }
  if (!isPastDeadline(waiter)) return undefined;
  return { result: 'timeout', transaction: callResult && cloneTransaction(callResult.result) };
}

function isFinalFor({ until, rules }: Waiter, { status }: Transaction): boolean {
  return until !== 'final' || isFinal(status, rules.finalStatuses);
}

function findMismatch(
  { group: { reference }, expect }: Waiter,
  transaction: Transaction,
  requestId: string,
  redactReference: (reference: string) => string,
): TransactionMismatchError | undefined {
  const mismatches = expect ? verify.findMismatches(transaction, { reference, expect }) : [];
  if (mismatches.length === 0) return undefined;
  return new TransactionMismatchError(transaction, mismatches, {
    operation: 'verify',
    outcome: null,
    requestId,
    redact: { id: redactReference },
  });
}

/** Copies a transaction for one caller: a caller's changes must not reach another caller, nor the poller. */
export function cloneTransaction(transaction: Transaction): Transaction {
  return { ...transaction };
}

// What callers learn of a poll, and of the end of a wait.

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
