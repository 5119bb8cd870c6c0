/** What comes after a check: pure functions of their arguments. */

import type { Transaction } from '../api/transaction.ts';
import { APIError, NotFoundError, PaymentsError, TransactionMismatchError } from '../errors.ts';
import type { AttentionReason } from '../events.ts';
import { type FollowUp, type JournalRecord, NO_FOLLOW_UP } from '../journal/record.ts';
import type { PollingRules } from '../options.ts';
import type { CheckedTransaction } from '../polling/follow-up-access.ts';
import { isFinal, nextDelay } from '../schedule.ts';

/** How a check ended. */
export type CheckEnd = { checked: CheckedTransaction } | { error: unknown };

/** What follows a check. */
export type CheckPlan =
  | { final: Transaction; followUp: FollowUp }
  | {
      final: undefined;
      followUp: FollowUp;
      /** What `onAttention` is called for, if that has not been done. */
      attention: AttentionReason | undefined;
      /** When the next check is due, in milliseconds. `null`: never, once `attention` was delivered. */
      dueIn: number | null;
    };

/** A time and a random number from 0 to 1. */
interface PlanInput {
  rules: PollingRules;
  now: number;
  random: number;
}

/** How long payments are checked after the deadline, in milliseconds: 7 days. */
export const OVERDUE_PERIOD = 7 * 24 * 60 * 60 * 1000;

/** A replica of the service can lag behind: a 404 needs a person once it has lasted this long, in milliseconds. */
const NOT_FOUND_GRACE = 10_000;

/** Decides what follows a check of a completed record. */
export function planAfterCheck(record: JournalRecord, end: CheckEnd, input: PlanInput): CheckPlan {
  const { rules, now } = input;
  const before = record.followUp ?? NO_FOLLOW_UP;
  const error = 'error' in end ? end.error : undefined;
  const transaction = 'checked' in end ? end.checked.transaction : undefined;
  const notFoundSince = error instanceof NotFoundError ? (before.notFoundSince ?? now) : undefined;
  const checks = before.checks + 1;
  const followUp = { ...before, checks, checkedAt: now, notFoundSince, notified: undefined };
  if (transaction && isFinal(transaction.status, rules.finalStatuses)) {
    const { status, paid_at } = transaction;
    return { final: transaction, followUp: { ...followUp, final: { status, paid_at }, failures: undefined } };
  }

  const problem = findProblem(error, notFoundSince, now);
  const delay = problem ? null : planDelay(record, end, input);
  if (delay !== null) {
    const next = { ...followUp, slowChecks: undefined };
    return { final: undefined, followUp: next, attention: undefined, dueIn: delay };
  }
  return planSlowCheck(record, followUp, { ...input, end, problem });
}

function findProblem(
  error: unknown,
  notFoundSince: number | undefined,
  now: number,
): 'mismatch' | 'gone' | undefined {
  if (error instanceof TransactionMismatchError) return 'mismatch';
  return notFoundSince !== undefined && now - notFoundSince >= NOT_FOUND_GRACE ? 'gone' : undefined;
}

/** Returns the delay by the client's own schedule, or `null` after the deadline. */
function planDelay({ createdAt }: JournalRecord, end: CheckEnd, { rules, now, random }: PlanInput) {
  return nextDelay({ ...rules, elapsed: now - createdAt, retryAfter: getRetryAfter(end), random });
}

/** The schedule has ended, or there is a problem that a later check is not likely to solve. */
function planSlowCheck(
  { createdAt, followUp: before = NO_FOLLOW_UP }: JournalRecord,
  followUp: FollowUp,
  {
    rules,
    now,
    random,
    end,
    problem,
  }: PlanInput & { end: CheckEnd; problem: 'mismatch' | 'gone' | undefined },
): CheckPlan {
  const earlier = before.slowChecks ?? 0;
  // Anyone can send a notification: it must not make the pauses longer.
  const slowChecks = before.notified ? Math.max(1, earlier) : earlier + 1;
  const reason = problem ?? 'overdue';
  // Right after an outage, one more check is made before anything is said about a payment that nobody has looked at.
  const isKnown = !('error' in end) || !isTemporary(end.error);
  const isNew = !followUp.reported.includes(reason) && (isKnown || earlier > 0);
  const hasEnded = isKnown && now - createdAt >= rules.timeout + OVERDUE_PERIOD;
  const pause = Math.max(getSlowPause(slowChecks, random), getRetryAfter(end) ?? 0);
  return {
    final: undefined,
    followUp: { ...followUp, slowChecks },
    attention: isNew ? reason : undefined,
    dueIn: hasEnded ? null : pause,
  };
}

function isTemporary(error: unknown): boolean {
  return error instanceof PaymentsError && error.retryable;
}

/** A `Retry-After` of a day must not keep a payment from its next check for a day. */
function getRetryAfter(end: CheckEnd): number | undefined {
  const asked =
    'checked' in end
      ? end.checked.retryAfter
      : end.error instanceof APIError
        ? end.error.retryAfter
        : undefined;
  return asked === undefined ? undefined : Math.min(asked, MAX_PAUSE);
}

const MIN_PAUSE = 30_000;
/** The longest pause between two checks, and the longest delay of a schedule, in milliseconds: an hour. */
export const MAX_PAUSE = 60 * 60 * 1000;

/** Returns a pause that doubles from 30 s to an hour, with 10 % of jitter. `count` is 1 for the first. */
export function getSlowPause(count: number, random: number): number {
  return Math.round(Math.min(MAX_PAUSE, MIN_PAUSE * 2 ** (count - 1)) * (0.9 + 0.2 * random));
}
