import { APIError, NotFoundError } from '../api-errors.ts';
import type { Transaction } from '../contract/transaction.ts';
import { PaymentsError } from '../errors.ts';
import type { PollingRules } from '../polling-options.ts';
import type { Answer } from '../transport/attempt.ts';
import type { Timed } from './heap.ts';
import { LONGEST_PAUSE } from './pace.ts';
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

/** One reference that is waited for, by one caller or by many. In the heap of polls by `due`. */
export interface SharedPoll extends Timed {
  readonly reference: string;
  /** Of the first caller, as are the rules and the moment from which the schedule counts. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly rules: PollingRules;
  readonly began: number;
  readonly waits: Wait[];
  attempts: number;
  lastTransaction: Transaction | undefined;
  lastError: PaymentsError | undefined;
  /** Since when the service says 404. */
  missingSince: number | undefined;
  /** When a hint last brought a poll forward, and whether one came during the poll that is under way. */
  hintedAt: number;
  hinted: boolean;
  /** Ends the request that is under way. */
  inFlight: AbortController | undefined;
}

export function sharedPoll({ reference, headers, rules }: WaitRequest, began: number): SharedPoll {
  return {
    reference,
    headers,
    rules,
    began,
    waits: [],
    attempts: 0,
    lastTransaction: undefined,
    lastError: undefined,
    missingSince: undefined,
    hintedAt: Number.NEGATIVE_INFINITY,
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
}

/** The last poll leaves a little before the deadline, so that its answer can still come in time. */
const LAST_LOOK = 500;

export function lastLook({ due, request }: Wait): number {
  return due - Math.min(LAST_LOOK, request.timeout / 10);
}

/** When to ask next for those who stay, or `null` where the deadline is too near to ask again. */
export function nextMoment(
  poll: SharedPoll,
  ending: Set<Wait>,
  { answer, error }: Outcome,
  now: number,
): number | null {
  const elapsed = Math.max(0, now - poll.began);
  const asked = answer ? answer.retryAfter : error instanceof APIError ? error.retryAfter : undefined;
  const delay = nextDelay({
    ...poll.rules,
    elapsed,
    retryAfter: Math.min(asked ?? 0, LONGEST_PAUSE),
    random: Math.random(),
    timeout: elapsed + untilNextLook(poll.waits, ending, now),
  });
  return delay === null ? null : now + delay;
}

function untilNextLook(waits: Wait[], ending: Set<Wait>, now: number): number {
  let nearest = Number.POSITIVE_INFINITY;
  for (const wait of waits) {
    const ahead = lastLook(wait) - now;
    if (ahead >= 1 && ahead < nearest && !ending.has(wait)) nearest = ahead;
  }
  return nearest;
}
