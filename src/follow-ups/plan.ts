/** What comes after a check: pure functions of their arguments. */

import type { Transaction } from '../api/transaction.ts';
import type { CheckedTransaction } from '../client-access.ts';
import {
  APIError,
  NotFoundError,
  PaymentsError,
  PermissionError,
  TransactionMismatchError,
} from '../errors.ts';
import type { AttentionReason } from '../events.ts';
import { type FollowUp, type JournalRecord, NO_FOLLOW_UP } from '../journal/record.ts';
import type { PollingRules } from '../options.ts';
import { isFinal, nextDelay } from '../schedule.ts';
import { NOT_FOUND_GRACE } from '../timing.ts';

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

/**
 * How long payments are checked after the deadline, in milliseconds: 7 days. The slow pauses count, which the store measures:
 * a clock that is wrong by a month must not end a follow-up.
 */
const OVERDUE_PERIOD = 7 * 24 * 60 * 60 * 1000;

/** Decides what follows a check of a completed record. */
export function planAfterCheck(record: JournalRecord, end: CheckEnd, input: PlanInput): CheckPlan {
  const { rules, now } = input;
  const before = record.followUp ?? NO_FOLLOW_UP;
  const error = 'error' in end ? end.error : undefined;
  const transaction = 'checked' in end ? end.checked.transaction : undefined;
  const notFoundSince =
    error instanceof NotFoundError ? Math.min(before.notFoundSince ?? now, now) : undefined;
  const checks = before.checks + 1;
  const problem = findCheckProblem(error, notFoundSince, now);
  const denied = error instanceof PermissionError ? (true as const) : undefined;
  const checkedAt = getCheckedAt(before, end, now);
  const found = { checks, checkedAt, notFoundSince, problem, denied };
  const checked = { ...before, ...found, notified: undefined, ended: undefined };
  if (transaction && isNews(transaction, before, rules)) {
    const { status, paid_at } = transaction;
    const followUp = { ...checked, final: { status, paid_at }, failures: undefined, ...NO_SLOW_CHECKS };
    return { final: transaction, followUp };
  }

  const delay = planDelay(record, end, input);
  const isSlow = problem !== undefined || denied || before.delivered !== undefined;
  if (delay !== null && !isSlow) {
    const followUp = { ...checked, ...NO_SLOW_CHECKS };
    return { final: undefined, followUp, attention: undefined, dueIn: delay };
  }
  const reason = problem ?? (delay === null ? 'overdue' : undefined);
  // Of a payment that was abandoned, a person needs to know only that another amount was paid.
  const isNeeded = before.delivered === undefined || reason === 'mismatch';
  return planSlowCheck(before, checked, { ...input, end, reason: isNeeded ? reason : undefined });
}

/** A check that failed shows nothing about its payment, and a press of an order must not rely on it. */
function getCheckedAt({ checkedAt }: FollowUp, end: CheckEnd, now: number): number | undefined {
  if ('checked' in end) return now;
  const isAboutPayment = end.error instanceof NotFoundError || end.error instanceof TransactionMismatchError;
  return isAboutPayment ? now : checkedAt;
}

const NO_SLOW_CHECKS = { slowChecks: undefined, slowFor: undefined };

/** Whether a transaction is final, and `onFinal` has not been called for that. */
function isNews({ status }: Transaction, { delivered }: FollowUp, { finalStatuses }: PollingRules): boolean {
  return isFinal(status, finalStatuses) && (delivered === undefined || status === 'success');
}

function findCheckProblem(
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
  before: FollowUp,
  checked: FollowUp,
  { random, end, reason }: PlanInput & { end: CheckEnd; reason: AttentionReason | undefined },
): CheckPlan {
  const earlier = before.slowChecks ?? 0;
  // Anyone can send a notification: it must make the pauses no longer, and the follow-up no shorter.
  const slowChecks = before.notified ? Math.max(1, earlier) : earlier + 1;
  // Right after an outage, one more check is made before anything is said about a payment that nobody has looked at.
  const isKnown = !('error' in end) || !isUnknown(end.error);
  const isNew = reason !== undefined && !checked.reported.includes(reason) && (isKnown || earlier > 0);
  const pause = Math.max(getSlowPause(slowChecks, random), getRetryAfter(end) ?? 0);
  const isCounted = isKnown && !before.notified;
  const slowFor = (before.slowFor ?? 0) + (isCounted ? pause : 0);
  return {
    final: undefined,
    followUp: { ...checked, slowChecks, slowFor },
    attention: isNew ? reason : undefined,
    dueIn: isKnown && hasEnded(before) ? null : pause,
  };
}

/** Whether the slow pauses until now have lasted for long enough. */
export function hasEnded({ slowFor = 0 }: FollowUp): boolean {
  return slowFor >= OVERDUE_PERIOD;
}

/** Whether a check says nothing about its payment. */
function isUnknown(error: unknown): boolean {
  return error instanceof PermissionError || (error instanceof PaymentsError && error.retryable);
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
