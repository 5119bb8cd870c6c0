/**
 * What came of a request. The process that still has its claim records it. What another one learns is never dropped: it is
 * named in the record first, then its reference is claimed, then it is confirmed.
 */

import { namesReference, recordWinner } from './order.ts';
import {
  holdsReference,
  isPaid,
  isSameReference,
  isUnresolved,
  ownsReference,
  referenceOf,
  seenOf,
} from './payment.ts';
import { type Ask, addRequestId, createPayment, createRecord, type Owner } from './press.ts';
import {
  type LedgerRecord,
  type Payment,
  type Price,
  putPayment,
  type RecordedError,
  type RecordedResult,
} from './record.ts';

export interface MadeCharge {
  readonly is: 'made';
  readonly result: RecordedResult;
  /** Whether the reference could be claimed. `false`: another order or key has it. */
  readonly isClaimed: boolean;
  /** The price that the service names, if it is not the one that was asked for. */
  readonly other?: Price | undefined;
  /** Whether another order or key has the reference that was named before this one, so that it need not be kept. */
  readonly isNamedElsewhere?: boolean | undefined;
}

export type AttemptOutcome =
  | { readonly is: 'none'; readonly why: 'not_sent' | 'rejected'; readonly error?: RecordedError | undefined }
  | {
      readonly is: 'unknown';
      readonly error?: RecordedError | undefined;
      /** A reference that the error names, and whether it could be claimed. */
      readonly reference?: string | undefined;
      readonly isClaimed?: boolean | undefined;
    }
  | MadeCharge;

/** The record with an outcome. `claims`: this reference was named, and is now to be claimed and then confirmed. */
export interface Completed {
  readonly record: LedgerRecord | null;
  readonly claims?: string;
}

/** Renews the lease of an attempt, and records the request that is sent next. `null`: the claim no longer holds. */
export function renew(
  before: LedgerRecord | null,
  attempt: string,
  { lease, now, requestId }: { lease: number; now: number; requestId?: string | undefined },
): LedgerRecord | null {
  const payment = findSending(before, attempt);
  if (!before || !payment) return null;
  const isNew = requestId !== undefined && payment.requestIds.at(-1) !== requestId;
  const requests = isNew
    ? { attempts: payment.attempts + 1, requestIds: addRequestId(payment.requestIds, requestId) }
    : {};
  const charge = { ...payment.charge, until: now + lease };
  const renewed: Payment = { ...payment, ...requests, charge };
  return putPayment(before, before.payments.indexOf(payment) + 1, renewed);
}

type Sending = Payment & { readonly charge: Extract<Payment['charge'], { is: 'sending' }> };

const findSending = (record: LedgerRecord | null, id: string) =>
  record?.payments.find(
    (payment): payment is Sending => payment.attempt === id && payment.charge.is === 'sending',
  );

const isOwnedElsewhere = (record: LedgerRecord, payment: Payment, reference: string | undefined) =>
  reference !== undefined &&
  record.payments.some((item) => item !== payment && ownsReference(item, reference));

/** A transaction that was named is never dropped: if no payment has it any more, it is one of its own. */
function keepNamed(record: LedgerRecord, reference: string | undefined, now: number): LedgerRecord {
  if (reference === undefined || namesReference(record, reference)) return record;
  const charge = { is: 'unknown', why: 'notified', reference } as const;
  const added = createNamedPayment(record, { attempt: `named ${reference}`, charge, now });
  return added ? putPayment(record, record.payments.length + 1, added) : record;
}

export function complete(
  before: LedgerRecord | null,
  owner: Owner,
  ask: Ask,
  outcome: AttemptOutcome,
  now: number,
): Completed {
  const payment = findSending(before, ask.attempt);
  if (!before || !payment) return learnLate(before, owner, ask, outcome, now);
  // The claim holds after its lease, too: nobody wrote anything about this attempt.
  const completed = completeOwn(before, payment, outcome);
  const record = putCompleted(before, payment, completed);
  return { record: recordWinner(keepNamed(record, payment.charge.named, now)) };
}

/**
 * Puts a payment back with what came of it. What a webhook named was a guess at any other payment that has the same transaction:
 * that one still needs its own.
 */
function putCompleted(before: LedgerRecord, payment: Payment, completed: Payment): LedgerRecord {
  const record = putPayment(before, before.payments.indexOf(payment) + 1, completed);
  const reference = completed.charge.is === 'made' ? referenceOf(completed) : undefined;
  const payments = record.payments.map((item) =>
    item !== completed && isSameReference(referenceOf(item), reference) ? dropGuess(item) : item,
  );
  return { ...record, payments };
}

function dropGuess(payment: Payment): Payment {
  const { charge, attempts } = payment;
  if (charge.is === 'sending') {
    const { named: _, ...sending } = charge;
    return { ...payment, charge: sending };
  }
  if (charge.is !== 'unknown' || charge.why !== 'notified') return payment;
  const isAdded = attempts === 0;
  return {
    ...payment,
    charge: isAdded ? { is: 'none', why: 'recorded_elsewhere' } : { is: 'unknown', why: 'no_result' },
  };
}

function completeOwn(record: LedgerRecord, payment: Sending, outcome: AttemptOutcome): Payment {
  const { claiming: _, ...rest } = payment;
  switch (outcome.is) {
    case 'none': {
      const { why, error } = outcome;
      return { ...rest, charge: { is: 'none', why, ...(error && { error }) } };
    }
    case 'unknown': {
      const { error, reference = payment.charge.named, isClaimed = true } = outcome;
      const isShared = !isClaimed || isOwnedElsewhere(record, payment, reference);
      const why = isShared ? 'shared_reference' : 'no_result';
      const named = reference === undefined ? {} : { reference };
      return { ...payment, charge: { is: 'unknown', why, ...named, ...(error && { error }) } };
    }
    case 'made':
      return recordMade(record, payment, outcome);
  }
}

/** One transaction belongs to one payment: another order, or another payment of this one, that has it keeps it. */
function recordMade(
  record: LedgerRecord,
  payment: Payment,
  { result, isClaimed, other }: MadeCharge,
): Payment {
  const { reference } = result;
  const { claiming: _, ...rest } = payment;
  const isElsewhere = isOwnedElsewhere(record, payment, reference);
  if (!isClaimed || isElsewhere)
    return { ...rest, charge: { is: 'unknown', why: 'shared_reference', reference } };
  const { seen, schedule } = payment;
  const { initialDelay, timeout = initialDelay } = schedule;
  return {
    ...rest,
    charge: { is: 'made', result },
    ...(other && { seen: { ...(isSameReference(seen?.reference, reference) && seen), reference, other } }),
    pace: { nextAt: payment.createdAt + Math.min(initialDelay, timeout), slow: 0 },
  };
}

/**
 * The attempt is not this process's any more: a person resolved it, it was begun again, or the record was deleted. The
 * transaction goes to the attempt if its charge is unknown. Otherwise it is a payment of its own, which no press asked for.
 */
function learnLate(
  before: LedgerRecord | null,
  owner: Owner,
  ask: Ask,
  outcome: AttemptOutcome,
  now: number,
): Completed {
  const isMade = outcome.is === 'made';
  const reference = isMade
    ? outcome.result.reference
    : outcome.is === 'unknown'
      ? outcome.reference
      : undefined;
  if (reference === undefined) return { record: before };
  const record = before ?? createRecord(owner, ask);
  const own = record.payments.find(({ attempt }) => attempt === ask.attempt);
  const claiming = { reference, by: ask.attempt };
  if (own?.claiming?.by === ask.attempt) return { record, claims: reference };
  if (own && canTake(own, reference)) {
    // A person might be about to give it another reference: this one stands beside that.
    const charge = { ...own.charge, why: 'late', reference } as const;
    const named = { ...own, charge, ...(isMade && own.claiming === undefined && { claiming }) };
    return { record: putPayment(record, record.payments.indexOf(own) + 1, named), claims: reference };
  }
  if (namesReference(record, reference)) return { record, claims: reference };
  // If a person closed the attempt, or all was deleted, it pays nothing until a person decides.
  const isConfirmed = isMade && before !== null && own?.charge.is !== 'closed';
  const charge = { is: 'unknown', why: 'late', reference } as const;
  const added = createPayment(ask, undefined, { charge, pressed: 0, createdAt: now });
  const payment = isConfirmed ? { ...added, claiming } : added;
  return { record: putPayment(record, record.payments.length + 1, payment), claims: reference };
}

type Unknown = Payment & { readonly charge: Extract<Payment['charge'], { is: 'unknown' }> };

/** Whether the charge of an attempt is unknown, and this transaction can be it. */
const canTake = (payment: Payment, reference: string): payment is Unknown =>
  payment.charge.is === 'unknown' &&
  (payment.charge.reference === undefined || isSameReference(payment.charge.reference, reference));

/**
 * Ends what was named `by` an attempt or a person, once its reference was claimed or refused. Only a payment that is still
 * unresolved becomes `made` by it. What was named and is not to be confirmed is refused or stays.
 */
export function recordClaim(
  before: LedgerRecord | null,
  by: string,
  made: MadeCharge,
  now: number,
): LedgerRecord | null {
  const { result, isClaimed, isNamedElsewhere } = made;
  const { reference } = result;
  const isNamed = ({ claiming }: Payment) =>
    claiming?.by === by && isSameReference(claiming.reference, reference);
  const isLate = ({ charge, claiming }: Payment) =>
    charge.is === 'unknown' &&
    charge.why === 'late' &&
    !claiming &&
    isSameReference(charge.reference, reference);
  const payment = before?.payments.find(isNamed) ?? (isClaimed ? undefined : before?.payments.find(isLate));
  if (!before || !payment) return before;
  const { claiming: _, ...rest } = payment;
  const isElsewhere = isOwnedElsewhere(before, payment, reference);
  // A person might have closed the attempt meanwhile: then its transaction pays nothing until a person decides.
  const isClosed = before.payments.some(({ attempt, charge }) => attempt === by && charge.is === 'closed');
  const confirmed =
    isClosed || !isUnresolved(payment, now)
      ? rest
      : isElsewhere || !isClaimed
        ? dropReference(rest, reference, isElsewhere)
        : recordMade(before, payment, made);
  const record = putCompleted(before, payment, confirmed);
  return recordWinner(isNamedElsewhere ? record : keepNamed(record, referenceOf(payment), now));
}

/** The reference is another payment's. A person's reference goes again, and what a response named stays named. */
function dropReference(payment: Payment, reference: string, isElsewhere: boolean): Payment {
  const { charge } = payment;
  if (charge.is !== 'unknown') return payment;
  if (charge.why === 'added') return { ...payment, charge: { is: 'closed' } };
  if (!isSameReference(charge.reference, reference)) return payment;
  if (isElsewhere && charge.why === 'late')
    return { ...payment, charge: { is: 'none', why: 'recorded_elsewhere' } };
  return { ...payment, charge: { is: 'unknown', why: 'shared_reference', reference } };
}

/**
 * A webhook names a transaction that this record has claimed. The payment that has it is checked now. If none has it, the
 * process that claimed it died before it recorded it, so it is written to what is unresolved, or added.
 */
export function notify(before: LedgerRecord, reference: string, now: number): LedgerRecord {
  const held = before.payments.find((payment) => holdsReference(payment, reference));
  if (held) {
    if (held.charge.is !== 'made' && held.charge.is !== 'closed') return before;
    const pace = planNotified(held, now);
    return pace === held.pace
      ? before
      : putPayment(before, before.payments.indexOf(held) + 1, { ...held, pace });
  }
  const isUnnamed = (payment: Payment) =>
    referenceOf(payment) === undefined && payment.claiming === undefined;
  const unnamed =
    before.payments.find((payment) => isUnresolved(payment, now) && isUnnamed(payment)) ??
    before.payments.find((payment) => payment.charge.is === 'sending' && isUnnamed(payment));
  if (!unnamed) return keepNamed(before, reference, now);
  // The process that sends, if it still lives, records more.
  const charge: Payment['charge'] =
    unnamed.charge.is === 'sending'
      ? { ...unnamed.charge, named: reference }
      : { is: 'unknown', why: 'notified', reference };
  return putPayment(before, before.payments.indexOf(unnamed) + 1, { ...unnamed, charge });
}

/** How long after a check, or after a notification, the next one asks for a check, in milliseconds: anyone can send them. */
const NOTIFY_INTERVAL = 1_000;

/** A notification asks for a check that is asked after it. One that came before can ask for that already. */
function planNotified(payment: Payment, now: number): Payment['pace'] {
  const { pace } = payment;
  const { notifiedAt, slow = 0, nextAt = now } = pace ?? {};
  const isPlanned = notifiedAt !== undefined && notifiedAt >= now && notifiedAt <= now + NOTIFY_INTERVAL;
  if (isPlanned || isPaid(payment)) return pace;
  const last = Math.max(seenOf(payment)?.askedAt ?? 0, notifiedAt ?? 0);
  // A time later than now is that of a clock that was set back.
  const at = last > now ? now : Math.max(now, last + NOTIFY_INTERVAL);
  return { nextAt: Math.min(at, Math.max(now, nextAt)), slow, notifiedAt: at };
}

/** Creates a payment that no press asked for, of the kind of the latest one and at the price last asked for. */
export function createNamedPayment(
  { payments, price }: LedgerRecord,
  { attempt, charge, now }: { attempt: string; charge: Payment['charge']; now: number },
): Payment | undefined {
  const latest = payments.at(-1);
  if (!latest) return undefined;
  const { operation, fingerprint, schedule, finalStatuses } = latest;
  const ask = { operation, ...price, fingerprint, schedule, finalStatuses, attempt };
  const facts = { charge, pressed: 0, createdAt: now };
  return {
    ...createPayment({ ...ask, network: undefined, phone: undefined }, undefined, facts),
    attempts: 0,
  };
}
