import { verify } from '../api/operations.ts';
import type { Transaction } from '../api/transaction.ts';
import {
  APIError,
  NotFoundError,
  PaymentsError,
  RateLimitError,
  TransactionMismatchError,
} from '../errors.ts';
import type { CallResult } from '../http/attempt.ts';
import type { Poll, PollingRules } from '../options.ts';
import { isFinal, nextDelay } from '../schedule.ts';
import type { Abortable } from './abort-listeners.ts';
import type { HeapItem } from './heap.ts';
import { MAX_BACKOFF, pauseFor } from './rate-limiter.ts';

/** A wait that was asked for, checked and with every default filled in. */
export interface ResolvedWait {
  reference: string;
  /** The reference as it may be printed, if that differs. */
  shown?: string;
  rules: PollingRules;
  timeout: number;
  startedAt: number | undefined;
  signal: AbortSignal | undefined;
  headers: Readonly<Record<string, string>> | undefined;
  expect: { amount: number; currency?: string | undefined } | undefined;
  onPoll: ((poll: Poll) => void) | undefined;
  /** End with the first answer, whatever its status. */
  once: boolean;
  /** Hears of each answer that does not end the wait. */
  onTransaction: ((transaction: Transaction) => void) | undefined;
}

/** One caller that waits. In the heap of deadlines by `due`, on the monotonic clock. */
export interface Waiter extends HeapItem, Abortable<Waiter> {
  readonly group: PollGroup;
  readonly request: ResolvedWait;
  /** Its place among the waits of its poll, -1 once it has left. */
  index: number;
  /** When its time began to count, on the monotonic clock and on the wall's. */
  readonly began: number;
  readonly startedAt: number;
  /** The shared attempts that were made before it joined. */
  readonly attemptsBefore: number;
  readonly resolve: (transaction: Transaction) => void;
  readonly reject: (reason: unknown) => void;
}

/** How long the one check of a wait may take whose deadline has passed without it, in milliseconds. */
export const LAST_CHECK = 10_000;

/** When its time is over: `due`, unless it is granted one more check. */
export function deadlineOf({ began, request }: Waiter): number {
  return Math.ceil(began + request.timeout);
}

/** Whether its deadline has passed, and it waits for one check whose result ends it, whatever that is. */
export function isOverdue(wait: Waiter): boolean {
  return wait.dueAt > deadlineOf(wait);
}

/** A wait that has joined a poll, in no heap yet. A poll that is under way counts: its answer will be this wait's too. */
export function createWaiter(
  group: PollGroup,
  request: ResolvedWait,
  own: Pick<Waiter, 'began' | 'startedAt' | 'resolve' | 'reject'>,
): Waiter {
  const { began, startedAt, resolve, reject } = own;
  // Spread out, each would take 32 bytes more.
  return {
    group,
    request,
    index: group.waits.length,
    began,
    startedAt,
    attemptsBefore: group.attempts - (group.inFlight ? 1 : 0),
    resolve,
    reject,
    dueAt: 0,
    heapIndex: -1,
    abortGroup: null,
    previous: null,
    next: null,
  };
}

/** One verify without retries: the schedule is its retry. */
export type PollOnce = (
  reference: string,
  options: { signal: AbortSignal; headers: Readonly<Record<string, string>> | undefined },
) => Promise<CallResult<Transaction>>;

/** How a poll ended. */
export type PollResult =
  | { answer: CallResult<Transaction>; error: undefined }
  | { answer: undefined; error: unknown };

/** A hint brings a poll forward at most this often for each reference. */
export const NOTIFY_INTERVAL = 1_000;

/** One reference that is waited for, by one caller or by many. In the heap of polls by `due`. */
export interface PollGroup extends HeapItem {
  readonly reference: string;
  /** Of the first caller, as is the moment from which the schedule counts. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly startedMono: number;
  waits: Waiter[];
  attempts: number;
  lastTransaction: Transaction | undefined;
  lastError: PaymentsError | undefined;
  /** Since when the service says 404. */
  notFoundSince: number | undefined;
  /** When the last poll ended, and until when its answer asked to wait. */
  answeredAt: number;
  notBefore: number;
  /** When a hint last brought a poll forward, and whether one came during the poll that is under way. */
  notifiedAt: number;
  notified: boolean;
  /** Ends the request that is under way. */
  inFlight: AbortController | undefined;
}

export function createPollGroup({ reference, headers }: ResolvedWait, startedMono: number): PollGroup {
  return {
    reference,
    headers,
    startedMono,
    waits: [],
    attempts: 0,
    lastTransaction: undefined,
    lastError: undefined,
    notFoundSince: undefined,
    // Whole numbers throughout: as doubles, each would take 16 bytes more.
    answeredAt: -1,
    notBefore: -1,
    notifiedAt: -NOTIFY_INTERVAL,
    notified: false,
    inFlight: undefined,
    dueAt: 0,
    heapIndex: -1,
  };
}

/** Remembers how a poll ended. */
export function recordResult(poll: PollGroup, { answer, error }: PollResult, now: number): void {
  if (answer) poll.lastTransaction = answer.result;
  poll.lastError = error instanceof PaymentsError ? error : undefined;
  poll.notFoundSince = error instanceof NotFoundError ? (poll.notFoundSince ?? now) : undefined;
  poll.answeredAt = Math.ceil(now);
  poll.notBefore = Math.ceil(now + askedPause(answer, error));
}

/** How long the service asked to leave this reference alone. */
function askedPause(answer: PollResult['answer'], error: unknown): number {
  if (error instanceof RateLimitError) return pauseFor(error.retryAfter);
  const asked = answer ? answer.retryAfter : error instanceof APIError ? error.retryAfter : undefined;
  return Math.min(asked ?? 0, MAX_BACKOFF);
}

/** Whether this answer, or this refusal, shows that the service's limit let the request through. */
export function isAccepted({ answer, error }: PollResult): boolean {
  if (answer) return true;
  return error instanceof APIError && !(error instanceof RateLimitError) && error.status < 500;
}

/** The last poll leaves a little before the deadline, so that its answer can still come in time. */
const FINAL_POLL_MARGIN = 500;

function finalPollAt({ dueAt: due, request }: Waiter): number {
  return due - Math.min(FINAL_POLL_MARGIN, request.timeout / 10);
}

/**
 * When to ask for a wait that joins: the first poll when it asks for it, a later one in time for its last look, and no
 * later than it would ask alone.
 */
export function nextPollForNewWaiter(poll: PollGroup, wait: Waiter, now: number): number {
  const { request, began: startedMono } = wait;
  const { rules } = request;
  if (poll.attempts === 0) {
    const firstLook = request.startedAt === undefined ? now : startedMono + rules.initialDelay;
    return Math.max(now, Math.min(firstLook, finalPollAt(wait)));
  }
  const { answeredAt, notBefore, dueAt: due } = poll;
  const elapsed = Math.max(0, answeredAt - poll.startedMono);
  // The longest that chance may make it: one like those who wait already brings nothing forward.
  const pause = nextDelay({ ...rules, elapsed, random: 1, timeout: Number.POSITIVE_INFINITY });
  const alone = Math.max(notBefore, answeredAt + (pause ?? rules.minDelay));
  const moment = Math.max(now, Math.min(alone, Math.max(finalPollAt(wait), answeredAt + rules.minDelay)));
  return moment < wait.dueAt ? moment : due;
}

/** When to ask next for those who wait: as soon as the first of them would ask alone. */
export function nextPollAt({ startedMono, notBefore, waits }: PollGroup, now: number): number {
  const all = new Set(waits.map(({ request }) => request.rules));
  let minDelay = Number.POSITIVE_INFINITY;
  for (const rules of all) minDelay = Math.min(minDelay, rules.minDelay);
  const elapsed = Math.max(0, now - startedMono);
  const timeout = elapsed + msUntilFinalPoll(waits, minDelay, now);
  const shared = { elapsed, timeout, retryAfter: notBefore - now, random: Math.random() };
  let next = Number.POSITIVE_INFINITY;
  for (const rules of all) next = Math.min(next, nextDelay({ ...rules, ...shared }) ?? minDelay);
  return now + next;
}

/**
 * The next last look that is due. Those nearer than `minDelay` have just had theirs, so that many deadlines one after
 * another make no burst of polls; only where all are that near does the very last still bring one.
 */
function msUntilFinalPoll(waits: readonly Waiter[], minDelay: number, now: number): number {
  let next = Number.POSITIVE_INFINITY;
  let last = 0;
  for (const wait of waits) {
    const ahead = finalPollAt(wait) - now;
    if (ahead >= minDelay && ahead < next) next = ahead;
    if (ahead > last) last = ahead;
  }
  return last >= 1 && last < minDelay ? last : next;
}

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
  const mismatches = verify.findMismatches(transaction, {
    reference: poll.reference,
    expect: request.expect,
  });
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
