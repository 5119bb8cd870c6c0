import { APIError, NotFoundError, RateLimitError } from '../api-errors.ts';
import type { Transaction } from '../contract/transaction.ts';
import { PaymentsError } from '../errors.ts';
import type { Answer } from '../transport/attempt.ts';
import type { Timed } from './heap.ts';
import { LONGEST_PAUSE, pauseFor } from './pace.ts';
import { nextDelay } from './schedule.ts';
import type { Wait, WaitRequest } from './wait.ts';

/** One verify without retries: the schedule is its retry. */
export type PollOnce = (
  reference: string,
  options: { signal: AbortSignal; headers: Readonly<Record<string, string>> | undefined },
) => Promise<Answer<Transaction>>;

/** How a poll ended. */
export type Outcome =
  | { answer: Answer<Transaction>; error: undefined }
  | { answer: undefined; error: unknown };

/** A hint brings a poll forward at most this often for each reference. */
export const HINT_INTERVAL = 1_000;

/** One reference that is waited for, by one caller or by many. In the heap of polls by `due`. */
export interface SharedPoll extends Timed {
  readonly reference: string;
  /** Of the first caller, as is the moment from which the schedule counts. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly began: number;
  waits: Wait[];
  attempts: number;
  lastTransaction: Transaction | undefined;
  lastError: PaymentsError | undefined;
  /** Since when the service says 404. */
  missingSince: number | undefined;
  /** When the last poll ended, and until when its answer asked to wait. */
  answeredAt: number;
  notBefore: number;
  /** When a hint last brought a poll forward, and whether one came during the poll that is under way. */
  hintedAt: number;
  hinted: boolean;
  /** Ends the request that is under way. */
  inFlight: AbortController | undefined;
}

export function sharedPoll({ reference, headers }: WaitRequest, began: number): SharedPoll {
  return {
    reference,
    headers,
    began,
    waits: [],
    attempts: 0,
    lastTransaction: undefined,
    lastError: undefined,
    missingSince: undefined,
    // Whole numbers throughout: as doubles, each would take 16 bytes more.
    answeredAt: -1,
    notBefore: -1,
    hintedAt: -HINT_INTERVAL,
    hinted: false,
    inFlight: undefined,
    due: 0,
    slot: -1,
  };
}

/** Remembers how a poll ended. */
export function note(poll: SharedPoll, { answer, error }: Outcome, now: number): void {
  if (answer) poll.lastTransaction = answer.result;
  poll.lastError = error instanceof PaymentsError ? error : undefined;
  poll.missingSince = error instanceof NotFoundError ? (poll.missingSince ?? now) : undefined;
  poll.answeredAt = Math.ceil(now);
  poll.notBefore = Math.ceil(now + askedPause(answer, error));
}

/** How long the service asked to leave this reference alone. */
function askedPause(answer: Outcome['answer'], error: unknown): number {
  if (error instanceof RateLimitError) return pauseFor(error.retryAfter);
  const asked = answer ? answer.retryAfter : error instanceof APIError ? error.retryAfter : undefined;
  return Math.min(asked ?? 0, LONGEST_PAUSE);
}

/** Whether this answer, or this refusal, shows that the service's limit let the request through. */
export function isAccepted({ answer, error }: Outcome): boolean {
  if (answer) return true;
  return error instanceof APIError && !(error instanceof RateLimitError) && error.status < 500;
}

/** The last poll leaves a little before the deadline, so that its answer can still come in time. */
const LAST_LOOK = 500;

function lastLook({ due, request }: Wait): number {
  return due - Math.min(LAST_LOOK, request.timeout / 10);
}

/**
 * When to ask for a wait that joins: the first poll when it asks for it, a later one in time for its last look, and no
 * later than it would ask alone.
 */
export function momentFor(poll: SharedPoll, wait: Wait, now: number): number {
  const { request, began } = wait;
  const { rules } = request;
  if (poll.attempts === 0) {
    const firstLook = request.startedAt === undefined ? now : began + rules.initialDelay;
    return Math.max(now, Math.min(firstLook, lastLook(wait)));
  }
  const { answeredAt, notBefore, due } = poll;
  const elapsed = Math.max(0, answeredAt - poll.began);
  // The longest that chance may make it: one like those who wait already brings nothing forward.
  const pause = nextDelay({ ...rules, elapsed, random: 1, timeout: Number.POSITIVE_INFINITY });
  const alone = Math.max(notBefore, answeredAt + (pause ?? rules.minDelay));
  const moment = Math.max(now, Math.min(alone, Math.max(lastLook(wait), answeredAt + rules.minDelay)));
  return moment < wait.due ? moment : due;
}

/** When to ask next for those who wait: as soon as the first of them would ask alone. */
export function nextMoment({ began, notBefore, waits }: SharedPoll, now: number): number {
  const all = new Set(waits.map(({ request }) => request.rules));
  let minDelay = Number.POSITIVE_INFINITY;
  for (const rules of all) minDelay = Math.min(minDelay, rules.minDelay);
  const elapsed = Math.max(0, now - began);
  const timeout = elapsed + untilLastLook(waits, minDelay, now);
  const shared = { elapsed, timeout, retryAfter: notBefore - now, random: Math.random() };
  let next = Number.POSITIVE_INFINITY;
  for (const rules of all) next = Math.min(next, nextDelay({ ...rules, ...shared }) ?? minDelay);
  return now + next;
}

/**
 * The next last look that is due. Those nearer than `minDelay` have just had theirs, so that many deadlines one after
 * another make no burst of polls; only where all are that near does the very last still bring one.
 */
function untilLastLook(waits: readonly Wait[], minDelay: number, now: number): number {
  let next = Number.POSITIVE_INFINITY;
  let last = 0;
  for (const wait of waits) {
    const ahead = lastLook(wait) - now;
    if (ahead >= minDelay && ahead < next) next = ahead;
    if (ahead > last) last = ahead;
  }
  return last >= 1 && last < minDelay ? last : next;
}
