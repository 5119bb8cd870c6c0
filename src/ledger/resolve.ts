/** A person decides about a payment. A decision counts only for what that person saw. */

import { type AttentionReason, listAttention, namesReference, recordWinner } from './order.ts';
import { createNamedPayment, type MadeCharge, recordClaim } from './outcome.ts';
import {
  findDecision,
  isPaidAfterClosing,
  isSuccess,
  isUnresolved,
  ownsReference,
  referenceOf,
  seenOf,
} from './payment.ts';
import {
  type Charge,
  type LedgerRecord,
  type Payment,
  putPayment,
  type RecordedResolution,
} from './record.ts';

/** A decision that needs nothing beside it. @useDeclaredType */
export type PlainDecision = 'not_charged' | 'accepted' | 'closed';

export interface Reviewer {
  /** Of this resolution. The process that writes it recognises it by this id. */
  readonly id: string;
  readonly by: string;
  readonly reason: string;
  /** What {@link getSight} returned when the person looked. */
  readonly sight: string;
  readonly now: number;
}

/**
 * - `done`: it is recorded. With `claims`, this reference was written, and is now to be claimed and confirmed.
 * - `changed`: the payment is not as the person saw it.
 * - `unfit`: the decision does not fit the reason, or the service contradicts it.
 */
export type Resolved =
  | { readonly is: 'done'; readonly record: LedgerRecord; readonly claims?: string }
  | { readonly is: 'changed' | 'unfit' };

/** The decisions that fit each reason. What is unresolved can also get its reference. */
const FITTING: Readonly<Record<AttentionReason, readonly PlainDecision[]>> = {
  unresolved: ['not_charged', 'closed'],
  shared_reference: ['not_charged', 'closed'],
  price_changed: ['accepted', 'closed'],
  mismatch: ['accepted', 'closed'],
  paid_twice: ['closed'],
  gone: ['closed'],
  unreadable: ['closed'],
  overdue: ['closed'],
};

const findReason = (record: LedgerRecord, number: number, now: number) =>
  listAttention(record, now).find((item) => item.number === number)?.reason;

export function listFitting(record: LedgerRecord, number: number, now: number): PlainDecision[] {
  const payment = record.payments[number - 1];
  const reason = findReason(record, number, now);
  if (!payment || reason === undefined) return [];
  // What a person closed is taken back first. Another amount can pay an order only if nothing else has paid it.
  const canAccept =
    reason === 'mismatch' ? isSuccess(payment) && record.winner === undefined : !isPaidAfterClosing(payment);
  return FITTING[reason].filter((decision) => decision !== 'accepted' || canAccept);
}

/** What a person can decide about a payment. `reference`: they name its transaction. @useDeclaredType */
export type Offer = PlainDecision | 'reference';

/** Returns what a person can decide about a payment now, also in place of an earlier decision, which is then taken back. */
export function listOffers(record: LedgerRecord, number: number, now: number): Offer[] {
  const reviewer = { id: '', by: '', reason: '', sight: getSight(record, number, now), now };
  const taken = takeBack(record, number, reviewer);
  const records = taken.is === 'done' ? [record, taken.record] : [record];
  const isNameable = records.some(({ payments }) => {
    const payment = payments[number - 1];
    return payment !== undefined && isUnresolved(payment, now);
  });
  const payment = record.payments[number - 1];
  const isDecided = payment !== undefined && findReason(record, number, now) === undefined;
  const decided = isDecided ? findDecision(payment)?.resolution : undefined;
  const fitting = new Set(records.flatMap((item) => listFitting(item, number, now)));
  return [...(isNameable ? (['reference'] as const) : []), ...fitting].filter((offer) => offer !== decided);
}

/** Returns what a person sees of a payment, as text that is compared when they decide. */
export function getSight(record: LedgerRecord, number: number, now: number): string {
  const payment = record.payments[number - 1];
  if (!payment) return '';
  const { attempt, charge, claiming, resolutions } = payment;
  const { status, other } = seenOf(payment) ?? {};
  const reason = findReason(record, number, now);
  const { price, winner } = record;
  const found = { attempt, is: charge.is, reference: referenceOf(payment), claiming, status, other };
  return JSON.stringify({ ...found, resolutions: resolutions.length, reason, price, winner });
}

/**
 * Records a person's decision about a payment. `isConfirmed`: the service knows the transaction that was named, and nobody else
 * holds it, so it is not "not charged".
 */
export function resolve(
  record: LedgerRecord | null,
  number: number,
  decision: PlainDecision,
  reviewer: Reviewer,
  isConfirmed = false,
): Resolved {
  const found = findSeen(record, number, reviewer);
  if (!found.payment) return found.resolved;
  const { payment, record: before } = found;
  const isRefuted = decision === 'not_charged' && isConfirmed;
  if (isRefuted || !listFitting(before, number, reviewer.now).includes(decision)) return { is: 'unfit' };
  const decided = addEntry(payment, applyDecision(payment, decision), decision, reviewer);
  return { is: 'done', record: recordWinner(putPayment(before, number, decided)) };
}

type SeenPayment =
  | { readonly payment: Payment; readonly record: LedgerRecord }
  | { readonly payment?: undefined; readonly resolved: Resolved };

/** Finds the payment, if it is as the person saw it and this resolution is not recorded yet. */
function findSeen(record: LedgerRecord | null, number: number, { id, sight, now }: Reviewer): SeenPayment {
  const payment = record?.payments[number - 1];
  if (!record || !payment) return { resolved: { is: 'changed' } };
  if (payment.resolutions.some((entry) => entry.id === id)) return { resolved: { is: 'done', record } };
  if (getSight(record, number, now) !== sight) return { resolved: { is: 'changed' } };
  return { payment, record };
}

function applyDecision(payment: Payment, decision: PlainDecision): Payment {
  if (decision === 'accepted') return { ...payment, accepted: true };
  const { claiming: _claiming, pace: _pace, ...rest } = payment;
  if (decision === 'not_charged') return { ...rest, charge: { is: 'none', why: 'not_charged' } };
  return { ...rest, charge: close(payment) };
}

/** Only the reference of a charge that was made stays held. */
function close(payment: Payment): Charge {
  const { charge } = payment;
  const reference = referenceOf(payment);
  if (charge.is === 'closed' || reference === undefined)
    return charge.is === 'closed' ? charge : { is: 'closed' };
  return charge.is === 'made' ? { is: 'closed', reference } : { is: 'closed', named: reference };
}

function addEntry(
  before: Payment,
  decided: Payment,
  resolution: RecordedResolution['resolution'],
  { id, by, reason, now }: Reviewer,
): Payment {
  const { charge, accepted = false, attempt } = before;
  const replaced = { charge, accepted };
  const entry = { id, at: now, by, reason, resolution, attempt, replaced, sawSuccess: isSuccess(before) };
  return { ...decided, resolutions: [...decided.resolutions, entry] };
}

/** Writes the reference that a person found to what is unresolved. It holds once it is claimed and confirmed. */
export function nameReference(
  record: LedgerRecord | null,
  number: number,
  reference: string,
  reviewer: Reviewer,
): Resolved {
  const named = record?.payments.find(({ claiming }) => claiming?.by === reviewer.id);
  if (record && named) return { is: 'done', record, claims: reference };
  const found = findSeen(record, number, reviewer);
  if (!found.payment) return found.resolved;
  const { payment, record: before } = found;
  const isOwned = before.payments.some((item) => ownsReference(item, reference));
  if (isOwned || !isUnresolved(payment, reviewer.now)) return { is: 'unfit' };
  const claiming = { reference, by: reviewer.id };
  return { is: 'done', record: putPayment(before, number, { ...payment, claiming }), claims: reference };
}

/**
 * A person adds a transaction that belongs to the order. It holds once it is claimed and confirmed, and a refused one leaves a
 * closed payment.
 */
export function addTransaction(
  record: LedgerRecord,
  reference: string,
  { id, now }: Pick<Reviewer, 'id' | 'now'>,
): Resolved {
  const isAdded = record.payments.some(({ attempt }) => attempt === id);
  if (isAdded) return { is: 'done', record, claims: reference };
  const charge = { is: 'unknown', why: 'added' } as const;
  const added = createNamedPayment(record, { attempt: id, charge, now });
  if (!added || namesReference(record, reference)) return { is: 'unfit' };
  const payment = { ...added, claiming: { reference, by: id } };
  const number = record.payments.length + 1;
  return { is: 'done', record: putPayment(record, number, payment), claims: reference };
}

/** Ends {@link nameReference} or {@link addTransaction}, once the reference was claimed or refused, and keeps who found it. */
export function confirmReference(
  before: LedgerRecord | null,
  made: MadeCharge,
  reviewer: Reviewer,
): LedgerRecord | null {
  const { reference } = made.result;
  const named = before?.payments.find(({ claiming }) => claiming?.by === reviewer.id);
  const record = recordClaim(before, reviewer.id, made, reviewer.now);
  if (!before || !record || !named) return record;
  const number = before.payments.indexOf(named) + 1;
  const payment = record.payments[number - 1];
  if (payment?.charge.is !== 'made') return record;
  return putPayment(record, number, addEntry(named, payment, { reference }, reviewer));
}

/**
 * Takes the decision about a payment back, to what it replaced, so that another one can be made. What was seen stays. The
 * decision about the winner stands.
 */
export function takeBack(record: LedgerRecord | null, number: number, reviewer: Reviewer): Resolved {
  const found = findSeen(record, number, reviewer);
  if (!found.payment) return found.resolved;
  const { payment, record: before } = found;
  const decision = findDecision(payment);
  if (!decision || before.winner === number) return { is: 'unfit' };
  const { charge, accepted } = decision.replaced;
  const { accepted: _, ...rest } = payment;
  const pace = charge.is === 'made' && { pace: { nextAt: reviewer.now, slow: 0 } };
  const restored: Payment = { ...rest, charge, ...(accepted && { accepted }), ...pace };
  const taken = addEntry(payment, restored, 'taken_back', reviewer);
  return { is: 'done', record: recordWinner(putPayment(before, number, taken)) };
}
