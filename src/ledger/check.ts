/** A check: what the service said of a transaction, and when the next one is due. */

import { nextDelay } from '../schedule.ts';
import { recordWinner } from './order.ts';
import { hasOtherAmount, isEnded, isGone, isPaid, ownsReference, seenOf } from './payment.ts';
import { type LedgerRecord, notAfter, type Payment, type Price, putPayment, type Seen } from './record.ts';

export type Finding =
  | {
      readonly is: 'answered';
      readonly status: string;
      readonly paid_at: string | null;
      /** The price of the transaction, if it is not that of the payment. */
      readonly other?: Price | undefined;
    }
  | { readonly is: 'not_found' }
  /** Another permanent error. */
  | { readonly is: 'failed' }
  /** An error that says nothing about the payment. */
  | { readonly is: 'temporary' };

export interface CheckTimes {
  readonly askedAt: number;
  readonly now: number;
  /** From 0 to 1. */
  readonly random: number;
  /** In milliseconds. */
  readonly retryAfter?: number | undefined;
}

const MIN_PAUSE = 30_000;
/** The longest pause of a payment that is under way, and of a handler that fails, in milliseconds. */
export const MAX_PAUSE = 60 * 60 * 1000;
/** The longest pause after an end, in milliseconds. */
const MAX_PAUSE_AFTER_END = 24 * 60 * 60 * 1000;

/** Returns a pause that doubles from 30 s, with 10 % of jitter. `count` is 1 for the first. */
export function getPause(count: number, random: number, longest = MAX_PAUSE): number {
  return Math.round(Math.min(longest, MIN_PAUSE * 2 ** (count - 1)) * (0.9 + 0.2 * random));
}

/**
 * Records a check: for the reference that it asked for, at the payment that still has it, and for the time at which it was
 * asked. One that is older than the last counts for nothing, unless it found a success, which no later check takes back.
 */
export function check(
  before: LedgerRecord | null,
  reference: string,
  finding: Finding,
  times: CheckTimes,
): LedgerRecord | null {
  const payment = before?.payments.find((item) => ownsReference(item, reference));
  if (!before || !payment) return before;
  const seen = seenOf(payment) ?? { reference };
  const isNews = finding.is === 'answered' && finding.status === 'success';
  // A time later than now is that of a clock that was set back: no check is older than that.
  const { askedAt: last = 0 } = seen;
  const isOld = last <= times.now && times.askedAt < last;
  if (isPaid(payment) || (isOld && !isNews)) return before;
  const checked = { ...payment, seen: see(seen, finding, times) };
  const next = planNext(payment, checked, finding, times);
  const { notifiedAt } = getPending(payment, finding, times) ?? {};
  // A notification that came since the check was asked wants one more, soon.
  const isWanted = notifiedAt !== undefined && notifiedAt > times.askedAt;
  const nextAt = isWanted ? Math.min(next.nextAt, Math.max(notifiedAt, times.now)) : next.nextAt;
  const pace = { ...next, nextAt, ...(notifiedAt !== undefined && { notifiedAt }) };
  return recordWinner(putPayment(before, before.payments.indexOf(payment) + 1, { ...checked, pace }));
}

/** Returns what was seen, with one more check. A success stays. */
function see(seen: Seen, finding: Finding, times: CheckTimes): Seen {
  const askedAt = notAfter(times.now, times.askedAt);
  if (seen.status === 'success' && !(finding.is === 'answered' && finding.status === 'success'))
    return finding.is === 'answered' || finding.is === 'not_found' ? { ...seen, askedAt } : seen;
  switch (finding.is) {
    case 'temporary':
      return seen;
    case 'failed':
      return { ...seen, failing: { since: seen.failing?.since ?? askedAt, at: askedAt } };
    case 'not_found': {
      const { failing: _, ...rest } = seen;
      return { ...rest, askedAt, notFoundSince: seen.notFoundSince ?? askedAt };
    }
    case 'answered': {
      const { status, paid_at, other } = finding;
      const isEnd = status === 'failed' || status === 'abandoned';
      return {
        reference: seen.reference,
        status,
        paid_at,
        ...(other && { other }),
        askedAt: Math.max(askedAt, notAfter(times.now, seen.askedAt ?? askedAt)),
        ...(isEnd && { endedAt: seen.endedAt ?? askedAt }),
      };
    }
  }
}

/** A notification is heeded by an answer. One that came after the check was asked might be about what happened since. */
function getPending(
  { pace }: Payment,
  finding: Finding,
  { askedAt }: CheckTimes,
): { notifiedAt: number } | undefined {
  const { notifiedAt } = pace ?? {};
  const isPending = notifiedAt !== undefined && (finding.is === 'temporary' || notifiedAt > askedAt);
  return isPending ? { notifiedAt } : undefined;
}

/** Anyone can send a notification, so it makes the pauses no longer, and the follow-up no shorter. */
function planNext(
  before: Payment,
  checked: Payment,
  finding: Finding,
  { now, random, retryAfter = 0 }: CheckTimes,
): Pick<NonNullable<Payment['pace']>, 'nextAt' | 'slow'> {
  const { slow: slowBefore = 0, notifiedAt } = before.pace ?? {};
  const wait = Math.min(retryAfter, MAX_PAUSE);
  const { schedule, createdAt } = checked;
  const { timeout = Number.POSITIVE_INFINITY } = schedule;
  const elapsed = now - notAfter(now, createdAt);
  const isSlow =
    finding.is === 'failed' || isEnded(checked) || hasOtherAmount(checked, now) || isGone(checked, now);
  const delay = isSlow ? null : nextDelay({ ...schedule, timeout, elapsed, retryAfter: wait, random });
  if (delay !== null) return { nextAt: now + delay, slow: 0 };
  const longest = isEnded(checked) ? MAX_PAUSE_AFTER_END : MAX_PAUSE;
  const earlier = isEnded(before) === isEnded(checked) ? slowBefore : 0;
  const slow = notifiedAt === undefined ? earlier + 1 : Math.max(1, earlier);
  return { nextAt: now + Math.max(getPause(slow, random, longest), wait), slow };
}
