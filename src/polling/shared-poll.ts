import { APIError, NotFoundError, RateLimitError } from '../api-errors.ts';
import type { Transaction } from '../contract/transaction.ts';
import { PaymentsError } from '../errors.ts';
import type { CallResult } from '../transport/attempt.ts';
import type { HeapItem } from './heap.ts';
import { MAX_BACKOFF, pauseFor } from './pace.ts';
import { nextDelay } from './schedule.ts';
import type { ResolvedWait, Waiter } from './wait.ts';

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
