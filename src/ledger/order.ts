/** What follows from the facts of an order: its state, what needs a person, which handler call is owed. */

import {
  FOLLOWED_FOR,
  hasOtherAmount,
  holdsReference,
  isEnded,
  isFollowed,
  isGone,
  isLate,
  isNone,
  isOpen,
  isOverdue,
  isPaid,
  isPaidAfterClosing,
  isSamePrice,
  isSending,
  isSuccess,
  isUnreadable,
  isUnresolved,
  referenceOf,
  seenOf,
} from './payment.ts';
import { type LedgerRecord, notAfter, type Payment, toPlannedTime } from './record.ts';

export type OrderState = 'paid' | 'in_review' | 'processing' | 'unpaid';

/** Why a person has to decide about a payment. */
export type AttentionReason =
  | 'unresolved'
  | 'shared_reference'
  | 'paid_twice'
  | 'price_changed'
  | 'mismatch'
  | 'gone'
  | 'unreadable'
  | 'overdue';

/** What a person has to decide about one payment. */
export interface Attention {
  readonly number: number;
  readonly reason: AttentionReason;
  /** In milliseconds since 1970. */
  readonly since: number;
}

/** A call of a handler that has not been made. It belongs to one attempt of a payment. */
export interface OwedCall {
  readonly handler: 'onPaid' | 'onUnpaid' | 'onFinal' | 'onAttention';
  readonly number: number;
  readonly attempt: string;
  /** Of `onAttention` the reason, of `onFinal` how the payment ended. */
  readonly what?: AttentionReason | 'success' | 'ended';
}

/**
 * Ends every change: records the winner, if there is none and one is due. It is the first payment that was paid at the price
 * last asked for, or that a person accepted. It never changes, and is recorded before anybody hears of it.
 */
export function recordWinner(record: LedgerRecord): LedgerRecord {
  if (record.winner !== undefined) return record;
  const index = record.payments.findIndex(
    (payment) => isPaid(payment) && (payment.accepted || isSamePrice(payment, record.price)),
  );
  return index < 0 ? record : { ...record, winner: index + 1 };
}

export function getState(record: LedgerRecord, now: number): OrderState {
  if (record.winner !== undefined) return 'paid';
  if (findReviewed(record, now)) return 'in_review';
  return findShown(record, now) ? 'processing' : 'unpaid';
}

/** Returns the payment that a person has to decide about before anything else of the order goes on. */
function findReviewed(record: LedgerRecord, now: number): Payment | undefined {
  const { payments } = record;
  const shown = findShown(record, now);
  return (
    payments.find((payment) => isUnresolved(payment, now)) ??
    payments.find(isPaid) ??
    payments.find((payment) => hasOtherAmount(payment, now) && isSuccess(payment)) ??
    (shown && (hasOtherAmount(shown, now) || isGone(shown, now)) ? shown : undefined)
  );
}

export function findReview(record: LedgerRecord, now: number): Attention | undefined {
  const reviewed = record.winner === undefined ? findReviewed(record, now) : undefined;
  const number = reviewed && record.payments.indexOf(reviewed) + 1;
  return listAttention(record, now).find((item) => item.number === number);
}

/** The most payments that presses give an order. What a response or a person adds is never stopped. */
const MAX_PAYMENTS = 50;

/** Whether a press can add a payment, or use the last one again. */
export const hasRoom = ({ payments }: LedgerRecord) =>
  payments.length < MAX_PAYMENTS || payments.at(-1)?.charge.is === 'none';

export const canPay = (record: LedgerRecord, now: number) =>
  getState(record, now) === 'unpaid' && hasRoom(record);

/** Returns the payment that was last pressed for, and might still become something. */
export function findCurrent({ payments }: LedgerRecord): Payment | undefined {
  return payments.reduce<Payment | undefined>((latest, payment) => {
    if (isNone(payment)) return latest;
    return latest === undefined || payment.pressed > latest.pressed ? payment : latest;
  }, undefined);
}

/** Returns the payment that is under way: the current one if it is open, else the latest open one. */
export function findShown(record: LedgerRecord, now: number): Payment | undefined {
  const current = findCurrent(record);
  if (current && isOpen(current, now)) return current;
  return record.payments.findLast((payment) => isOpen(payment, now));
}

/** Whether another payment took its place while it was under way. It can still be paid. */
export const isSuperseded = (record: LedgerRecord, payment: Payment, now: number) =>
  isOpen(payment, now) && findCurrent(record) !== payment;

/** Returns what a person has to decide, by payment. */
export function listAttention(record: LedgerRecord, now: number): Attention[] {
  return record.payments.flatMap((payment, index) => {
    const found = findAttention(record, payment, index + 1, now);
    return found ? [{ number: index + 1, ...found, since: notAfter(now, found.since) }] : [];
  });
}

function findAttention(
  record: LedgerRecord,
  payment: Payment,
  number: number,
  now: number,
): { reason: AttentionReason; since: number } | undefined {
  const { charge, createdAt } = payment;
  const { askedAt = createdAt, notFoundSince = askedAt, failing } = seenOf(payment) ?? {};
  if (isUnresolved(payment, now)) {
    const isShared = charge.is === 'unknown' && charge.why === 'shared_reference';
    return { reason: isShared ? 'shared_reference' : 'unresolved', since: createdAt };
  }
  if ((isPaid(payment) && record.winner !== number) || isPaidAfterClosing(payment))
    return { reason: record.winner === undefined ? 'price_changed' : 'paid_twice', since: askedAt };
  if (hasOtherAmount(payment, now)) return { reason: 'mismatch', since: askedAt };
  if (isGone(payment, now)) return { reason: 'gone', since: notFoundSince };
  if (isUnreadable(payment)) return { reason: 'unreadable', since: failing?.since ?? askedAt };
  if (isOverdue(payment, now)) return { reason: 'overdue', since: createdAt + FOLLOWED_FOR };
  return undefined;
}

/**
 * Returns from when on the record needs a person, if nobody writes it; `null`: never. A lease can end and a payment become
 * overdue without a write, so stores find the record by this time.
 */
export function getAttentionAt(record: LedgerRecord, now: number): number | null {
  const since = listAttention(record, now).map((item) => item.since);
  const later = record.payments.flatMap((payment) => {
    if (payment.charge.is === 'sending') return [payment.charge.until];
    const isUnderWay = payment.charge.is === 'made' && isOpen(payment, now);
    return isUnderWay ? [payment.createdAt + FOLLOWED_FOR] : [];
  });
  const times = since.length > 0 ? since : later;
  return times.length > 0 ? Math.min(...times) : null;
}

/** Returns the handler calls that are owed: each until it was told, or until its reason is gone. */
export function listOwed(record: LedgerRecord, now: number): OwedCall[] {
  const calls = record.kind === 'key' ? listFinals(record) : listOrderCalls(record, now);
  const reasons: { number: number; reason: AttentionReason }[] = [...listAttention(record, now)];
  for (const [index, payment] of record.payments.entries())
    if (isLate(payment, now) && !reasons.some(({ number }) => number === index + 1))
      reasons.push({ number: index + 1, reason: 'overdue' });
  const attention = reasons.flatMap(({ number, reason }) => {
    const payment = record.payments[number - 1];
    if (!payment || payment.told.attention.includes(reason)) return [];
    return [{ handler: 'onAttention', number, attempt: payment.attempt, what: reason } as const];
  });
  return [...calls, ...attention];
}

/** Of a key, each payment that is final is told, and a success also after another end. */
function listFinals({ payments }: LedgerRecord): OwedCall[] {
  return payments.flatMap((payment, index) => {
    const what = isPaid(payment) ? 'success' : isEnded(payment) ? 'ended' : undefined;
    const isTold = payment.told.final === 'success' || payment.told.final === what;
    if (what === undefined || isTold) return [];
    return [{ handler: 'onFinal', number: index + 1, attempt: payment.attempt, what }];
  });
}

function listOrderCalls(record: LedgerRecord, now: number): OwedCall[] {
  const { winner, payments } = record;
  if (winner !== undefined) {
    const payment = payments[winner - 1];
    if (!payment || payment.told.paid) return [];
    return [{ handler: 'onPaid', number: winner, attempt: payment.attempt }];
  }
  const current = findCurrent(record);
  const isOwed = current && isEnded(current) && !current.told.unpaid && getState(record, now) === 'unpaid';
  if (!isOwed) return [];
  return [{ handler: 'onUnpaid', number: payments.indexOf(current) + 1, attempt: current.attempt }];
}

const getCheckAt = ({ pace }: Payment, now: number) => toPlannedTime(now, pace?.nextAt ?? now);

/** Returns when something is to be done for the record: a check, or a call of a handler. `null`: never. */
export function getDueAt(record: LedgerRecord, now: number): number | null {
  const times = record.payments.flatMap((payment) => {
    // Once the lease is over, a person has to hear of it.
    if (isSending(payment, now) && payment.charge.is === 'sending') return [payment.charge.until];
    return isFollowed(payment, now) ? [getCheckAt(payment, now)] : [];
  });
  if (listOwed(record, now).length > 0) times.push(toPlannedTime(now, record.telling?.retryAt ?? now));
  return times.length > 0 ? Math.min(...times) : null;
}

/** Returns the references that are to be checked at this time. */
export function listDueChecks(record: LedgerRecord, now: number): string[] {
  return record.payments.flatMap((payment) => {
    const isDue = isFollowed(payment, now) && getCheckAt(payment, now) <= now;
    return (isDue && referenceOf(payment)) || [];
  });
}

/** What must hold for {@link isPrunable}. */
export interface PruneRule {
  readonly now: number;
  /** The latest payment must have begun before this time. */
  readonly before: number;
  /** The shop has no follow-ups: what is owed and planned counts for nothing, nor does a charge of a key that was never checked. */
  readonly unfollowed?: boolean | undefined;
}

/** Whether nothing of a record is left to do, so that it can be deleted. */
export function isPrunable(record: LedgerRecord, { now, before, unfollowed = false }: PruneRule): boolean {
  const { kind, payments } = record;
  const isOld = payments.every(({ createdAt }) => notAfter(now, createdAt) < before);
  const isIgnored = (payment: Payment | undefined) =>
    unfollowed && kind === 'key' && payment?.charge.is === 'made' && seenOf(payment) === undefined;
  const isUnderWay = payments.some((payment) => isOpen(payment, now) && !isIgnored(payment));
  const needsPerson = listAttention(record, now).some(({ number }) => !isIgnored(payments[number - 1]));
  if (!isOld || isUnderWay || needsPerson) return false;
  if (unfollowed) return true;
  return listOwed(record, now).length === 0 && !payments.some((payment) => isFollowed(payment, now));
}

export const namesReference = (record: LedgerRecord, reference: string) =>
  record.payments.some((payment) => holdsReference(payment, reference));

/**
 * Whether the claim of a reference by this record is void, so that it can be taken over or deleted: no payment holds the
 * reference, and none is being sent, whose response could still name it. `null`: the record is not there.
 */
export const isClaimVoid = (record: LedgerRecord | null, reference: string) =>
  record === null ||
  (!namesReference(record, reference) && !record.payments.some(({ charge }) => charge.is === 'sending'));
