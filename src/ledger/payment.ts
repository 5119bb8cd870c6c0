/** What follows from the facts of one payment. Each conclusion is written here once. */

import { notAfter, type Payment, type Price, type RecordedResolution, type Seen } from './record.ts';

/** How long a 404 must last until the transaction counts as gone, in milliseconds: a replica of the service can lag behind. */
const NOT_FOUND_GRACE = 10_000;
/** How long a payment is followed after it began, and after an end that might not be one, in milliseconds. */
export const FOLLOWED_FOR = 7 * 24 * 60 * 60 * 1000;
/** How long checks must fail for good until a person is needed, in milliseconds. */
const UNREADABLE_AFTER = 24 * 60 * 60 * 1000;

/** How far a process can be behind the store's clock, in milliseconds: longer than a read takes. */
const MAX_LAG = 60_000;

/** A process sends the request, and its lease is not over. It is, if it began later than now: the store's clock was set back. */
export function isSending({ charge }: Payment, now: number): boolean {
  if (charge.is !== 'sending') return false;
  const { until, lease = until } = charge;
  return now < until && until - lease <= now + MAX_LAG;
}

/** A charge might exist, and nothing but a person or the process that sent it can tell. */
export const isUnresolved = (payment: Payment, now: number) =>
  payment.charge.is === 'unknown' || (payment.charge.is === 'sending' && !isSending(payment, now));

/** The money came, as it was asked for or as a person takes it. */
export const isPaid = (payment: Payment) =>
  payment.charge.is === 'made' &&
  (payment.accepted === true || (isSuccess(payment) && seenOf(payment)?.other === undefined));

/** It ended without money. `success` alone is the end of it, so it can still be paid. */
export function isEnded(payment: Payment): boolean {
  const status = seenOf(payment)?.status;
  return (
    payment.charge.is === 'made' &&
    !isPaid(payment) &&
    (status === 'failed' || status === 'abandoned') &&
    payment.finalStatuses.includes(status)
  );
}

/** Nothing has to be known of it any more. */
export const isNone = ({ charge }: Payment) => charge.is === 'none' || charge.is === 'closed';

/** It is under way. */
export const isOpen = (payment: Payment, now: number) =>
  !isNone(payment) && !isUnresolved(payment, now) && !isPaid(payment) && !isEnded(payment);

/** The service said `success`, of whatever amount. */
export const isSuccess = (payment: Payment) => seenOf(payment)?.status === 'success';

export const hasOtherAmount = (payment: Payment, now: number) =>
  isOpen(payment, now) && seenOf(payment)?.other !== undefined;

/** The service does not know its transaction any more. */
export function isGone(payment: Payment, now: number): boolean {
  const { notFoundSince, askedAt } = seenOf(payment) ?? {};
  if (notFoundSince === undefined || askedAt === undefined) return false;
  return isOpen(payment, now) && askedAt - notFoundSince >= NOT_FOUND_GRACE;
}

/** Its checks fail for good. */
export function isUnreadable(payment: Payment): boolean {
  const { failing } = seenOf(payment) ?? {};
  const isFollowable = payment.charge.is === 'made' && !isSuccess(payment);
  return isFollowable && failing !== undefined && failing.at - failing.since >= UNREADABLE_AFTER;
}

/** It is under way for longer than any payment should be, whether it was checked or not. */
export const isOverdue = (payment: Payment, now: number) =>
  payment.charge.is === 'made' &&
  isOpen(payment, now) &&
  now - notAfter(now, payment.createdAt) >= FOLLOWED_FOR;

/** It was still under way when it was checked after its deadline, or several checks since got no answer. */
export function isLate(payment: Payment, now: number): boolean {
  const { createdAt, pace, schedule } = payment;
  const { timeout = Number.POSITIVE_INFINITY } = schedule;
  if (payment.charge.is !== 'made' || !isOpen(payment, now)) return false;
  const askedAt = (pace?.slow ?? 0) > 1 ? now : seenOf(payment)?.askedAt;
  return askedAt !== undefined && notAfter(now, askedAt) - notAfter(now, createdAt) >= timeout;
}

/** So many slow checks a payment that is under way gets at least: a clock that jumps by a week must not end its follow-up. */
export const MIN_SLOW_CHECKS = 12;

/**
 * It is checked on: until a check that was asked 7 days after it began, or after its end. A notification revives it for one
 * check.
 */
export function isFollowed(payment: Payment, now: number): boolean {
  const { charge, pace } = payment;
  const { askedAt, endedAt, other } = seenOf(payment) ?? {};
  const isMade = charge.is === 'made';
  if (payment.accepted || (isSuccess(payment) && !(isMade && other))) return false;
  if ((isMade || charge.is === 'closed') && pace?.notifiedAt !== undefined) return true;
  if (!isMade) return false;
  if (askedAt === undefined) return true;
  const isOver = isEnded(payment);
  const since = isOver && endedAt !== undefined ? endedAt : payment.createdAt;
  const isLong = notAfter(now, askedAt) - notAfter(now, since) >= FOLLOWED_FOR;
  return !isLong || !(isOver || (pace?.slow ?? 0) >= MIN_SLOW_CHECKS);
}

/** A person closed it without having seen that it was paid. */
export const isPaidAfterClosing = (payment: Payment) =>
  payment.charge.is === 'closed' && isSuccess(payment) && findDecision(payment)?.sawSuccess !== true;

/** Returns the decision that holds of an attempt, and can be taken back. */
export function findDecision({ resolutions, attempt }: Payment): RecordedResolution | undefined {
  const holding: RecordedResolution[] = [];
  for (const entry of resolutions)
    if (entry.resolution === 'taken_back') holding.pop();
    else holding.push(entry);
  const last = holding.at(-1);
  return last?.attempt === attempt ? last : undefined;
}

/** Returns the transaction that is that of the payment, or might be. */
export function referenceOf({ charge }: Payment): string | undefined {
  switch (charge.is) {
    case 'made':
      return charge.result.reference;
    case 'sending':
      return charge.named;
    case 'unknown':
    case 'closed':
      return charge.reference;
    default:
      return undefined;
  }
}

/** Whether two references are the same. It is not documented whether the service tells upper and lower case apart. */
export const isSameReference = (one: string | undefined, other: string | undefined) =>
  one !== undefined && other !== undefined && one.toLowerCase() === other.toLowerCase();

/** Whether a payment holds a reference: nobody else can then claim it. */
export const holdsReference = (payment: Payment, reference: string) =>
  isSameReference(referenceOf(payment), reference) || isSameReference(payment.claiming?.reference, reference);

/** Whether the transaction is, or was, that of this payment for certain. */
export const ownsReference = (payment: Payment, reference: string) =>
  (payment.charge.is === 'made' || payment.charge.is === 'closed') &&
  isSameReference(referenceOf(payment), reference);

/** Returns what was seen of the transaction that the payment has now. A check counts for the reference that it asked for. */
export function seenOf(payment: Payment): Seen | undefined {
  const { seen } = payment;
  return seen && ownsReference(payment, seen.reference) ? seen : undefined;
}

export const isSamePrice = (one: Price, other: Price) =>
  one.amount === other.amount && one.currency === other.currency;
