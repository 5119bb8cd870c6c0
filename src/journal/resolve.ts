/**
 * Resolves a payment as a person decides. Of two persons at once, the one who decides about what they saw counts, and the other
 * is told.
 */

import { JournalError, quoteKey } from '../errors.ts';
import { check, type Finding } from '../ledger/check.ts';
import { listAttention } from '../ledger/order.ts';
import {
  holdsReference,
  isNone,
  isPaidAfterClosing,
  isSamePrice,
  isSending,
  isUnresolved,
  ownsReference,
  referenceOf,
  seenOf,
} from '../ledger/payment.ts';
import type { LedgerRecord, Payment, Price } from '../ledger/record.ts';
import {
  addTransaction,
  confirmReference,
  getSight,
  listFitting,
  listOffers,
  nameReference,
  type Offer,
  type PlainDecision,
  type Resolved,
  type Reviewer,
  resolve,
  takeBack,
} from '../ledger/resolve.ts';
import { redactButUuids } from '../support/redact.ts';
import { findPayment, type NamedPayment } from './find-payment.ts';
import type { JournalEntry } from './journal.ts';
import { toEntry } from './list.ts';
import { namePayment } from './names.ts';
import type { Found, Records } from './records.ts';
import { claimReference, findOwner, releaseReferences } from './references.ts';
import {
  type Resolution,
  type ResolutionNote,
  type ValidResolution,
  validateResolution,
} from './resolution.ts';
import { changedError, otherOwnerError, ownPaymentError, unfitError } from './resolve-errors.ts';

export interface AskedService {
  /** @throws {ConfigurationError} if the record belongs to another service or mode */
  assertService(record: LedgerRecord): void;
  /** Returns what the service says of a transaction. @throws what the check throws */
  check(reference: string, price: Price): Promise<Extract<Finding, { is: 'answered' | 'not_found' }>>;
}

export interface ResolvedPayment {
  readonly entry: JournalEntry;
  readonly isNew: boolean;
}

/**
 * Resolves a payment, or adds a transaction to an order. With `service`, that is asked first.
 *
 * @returns the entry of the payment as it is then, and whether it was not resolved so before.
 * @throws {JournalError} if there is no such payment, if it is in progress, or if the record contradicts the resolution.
 */
export async function resolveKey(
  records: Records,
  key: string,
  resolution: Resolution,
  note: ResolutionNote,
  service?: AskedService,
): Promise<ResolvedPayment> {
  const valid = validateResolution(resolution, note);
  const named = await findPayment(records, key);
  if (!named?.found.record)
    throw new JournalError(
      `The journal has no record of the key or order ${quoteKey(redactButUuids(key))}. Nothing was changed.`,
    );
  service?.assertService(named.found.record);
  const resolving = { records, named, record: named.found.record, valid, service };
  const { number, isNew } = await (typeof valid.resolution === 'string'
    ? decidePayment(resolving, valid.resolution)
    : nameTransaction(resolving, valid.resolution));
  const { record } = await records.read(named.name);
  if (!record) throw new JournalError('The record was deleted meanwhile.');
  return { entry: toEntry(named.name, record, number, records.now), isNew };
}

/** Which payment was resolved, and whether it was not resolved so before. */
interface Done {
  readonly number: number;
  readonly isNew: boolean;
}

interface Resolving {
  readonly records: Records;
  readonly named: NamedPayment;
  readonly record: LedgerRecord;
  readonly valid: ValidResolution;
  readonly service: AskedService | undefined;
}

async function decidePayment(resolving: Resolving, decision: PlainDecision): Promise<Done> {
  const { records, named, record } = resolving;
  const { number = 0 } = named;
  const payment = findResolvable(resolving, number);
  if (isDecided(payment, decision)) return { number, isNew: false };
  assertOffered(resolving, payment, decision);
  const before = decision === 'closed' ? record : await checkOwn(resolving, payment);
  const fits: Fits = (seen) => listFitting(seen, number, records.now).includes(decision);
  const isConfirmed =
    decision === 'not_charged' && (await hasNamed(resolving, preview(resolving, before, fits)));
  const rule: Rule = (seen, reviewer) => resolve(seen, number, decision, reviewer, isConfirmed);
  const ready = await makeDecidable(resolving, before, fits, rule, decision);
  await writeResolution(resolving, ready, rule, decision);
  return { number, isNew: true };
}

/** Whether the service has the transaction that was named for an unresolved charge, and no other payment has it. */
async function hasNamed(
  { records, named, service }: Resolving,
  { payments }: LedgerRecord,
): Promise<boolean> {
  const { name, number = 0 } = named;
  const payment = payments[number - 1];
  const reference = payment && isUnresolved(payment, records.now) ? referenceOf(payment) : undefined;
  if (!service || !payment || reference === undefined) return false;
  if (payments.some((item) => item !== payment && ownsReference(item, reference))) return false;
  // Nobody has claimed it if the process died that was about to.
  if (!(await claimReference(records, name, reference))) return false;
  return (await service.check(reference, payment)).is === 'answered';
}

function isDecided(payment: Payment, decision: PlainDecision): boolean {
  const { charge, accepted } = payment;
  if (decision === 'accepted') return accepted === true;
  // What was paid after it had been closed is listed again, and has to be closed by a person who knows that.
  if (decision === 'closed') return charge.is === 'closed' && !isPaidAfterClosing(payment);
  return charge.is === 'none' && charge.why === 'not_charged';
}

/** @throws {JournalError} if there is no such payment, or a process is charging it. */
function findResolvable({ records, named, record }: Resolving, number: number): Payment {
  const payment = record.payments[number - 1];
  if (!payment) {
    const meant = namePayment(named.name, listAttention(record, records.now)[0]?.number ?? 1);
    throw new JournalError(
      `This is an order: name one of its payments, such as ${quoteKey(redactButUuids(meant))}. Nothing was changed.`,
    );
  }
  if (isSending(payment, records.now))
    throw new JournalError('A process is charging under this key now: resolve it once that has ended.', {
      retryable: true,
    });
  return payment;
}

/**
 * Refuses what cannot count before the service is asked.
 *
 * @throws {JournalError} if the payment is not as the person saw it when they decided, or if their decision does not fit it.
 */
function assertOffered({ records, named, record, valid }: Resolving, payment: Payment, offer: Offer): void {
  const { number = 0 } = named;
  const { now } = records;
  const sight = getSight(record, number, now);
  if (valid.revision !== undefined && valid.revision !== sight)
    throw changedError(valid.revision, record, number, now);
  // Of another amount, the service might say success by now.
  const canBeAccepted = offer === 'accepted' && seenOf(payment)?.other !== undefined;
  if (!canBeAccepted && !listOffers(record, number, now).includes(offer))
    throw unfitError(record, number, offer, now);
}

/** What the service says now of the transaction is recorded first, so that the decision is about that. */
async function checkOwn(
  { records, named, record, service }: Resolving,
  payment: Payment,
): Promise<LedgerRecord> {
  const { number = 0 } = named;
  const sight = getSight(record, number, records.now);
  const reference = referenceOf(payment);
  if (!service || reference === undefined || !ownsReference(payment, reference)) return record;
  const askedAt = records.now;
  const finding = await service.check(reference, payment);
  const { found, isChanged } = await records.change(named.name, (before, now) => {
    const isChanged = !before || getSight(before, number, now) !== sight;
    if (isChanged) return { record: before, isChanged };
    const checked = check(before, reference, finding, { askedAt, now, random: Math.random() });
    return { record: checked, isChanged, mustCommit: false };
  });
  const checked = found.record?.payments[number - 1];
  if (isChanged || !hasSameAmount(payment, checked))
    throw changedError(sight, found.record, number, records.now);
  return found.record ?? record;
}

/** The service can meanwhile say `success` of what the person saw, but not of another amount. */
function hasSameAmount(before: Payment, after: Payment | undefined): boolean {
  const [one, other] = [seenOf(before)?.other, after && seenOf(after)?.other];
  return one && other ? isSamePrice(one, other) : one === other;
}

type Rule = (before: LedgerRecord | null, reviewer: Reviewer) => Resolved;

/** Whether a payment of a record can be decided so. */
type Fits = (record: LedgerRecord) => boolean;

function createReviewer({ records, named, valid }: Resolving, seen: LedgerRecord): Reviewer {
  const { by, reason } = valid;
  const { now } = records;
  return { id: crypto.randomUUID(), by, reason, sight: getSight(seen, named.number ?? 0, now), now };
}

/** Returns the record as it would be once the decision that another one is to replace was taken back. */
function preview(resolving: Resolving, record: LedgerRecord, fits: Fits): LedgerRecord {
  if (fits(record)) return record;
  const taken = takeBack(record, resolving.named.number ?? 0, createReviewer(resolving, record));
  return taken.is === 'done' && fits(taken.record) ? taken.record : record;
}

/** Takes the decision back that another one is to replace, by a write of its own. @throws {JournalError} if that one does not fit */
async function makeDecidable(
  resolving: Resolving,
  record: LedgerRecord,
  fits: Fits,
  rule: Rule,
  decision: Offer,
): Promise<LedgerRecord> {
  const { records, named } = resolving;
  const { number = 0 } = named;
  const ready = preview(resolving, record, fits);
  if (rule(ready, createReviewer(resolving, ready)).is !== 'done')
    throw unfitError(ready, number, decision, records.now);
  if (ready === record) return record;
  const { found } = await writeResolution(
    resolving,
    record,
    (before, reviewer) => takeBack(before, number, reviewer),
    decision,
  );
  const payment = record.payments[number - 1];
  const reference = payment && referenceOf(payment);
  // A webhook must not find this order by a reference that was a mistake. If this fails, the claim can still be taken over.
  if (reference !== undefined)
    await releaseReferences(records, [{ name: named.name, reference }]).catch(() => {});
  return found.record ?? ready;
}

/** The record with a decision, and who made it. */
interface Written {
  readonly reviewer: Reviewer;
  readonly found: Found;
}

async function writeResolution(
  resolving: Resolving,
  seen: LedgerRecord,
  rule: Rule,
  decision: Offer,
): Promise<Written> {
  const { records, named } = resolving;
  const { number = 0 } = named;
  const reviewer = createReviewer(resolving, seen);
  const { found, resolved } = await records.change(named.name, (before, now) => {
    const result = rule(before, { ...reviewer, now });
    const record = result.is === 'done' ? result.record : before;
    return { record, resolved: result, mustCommit: false };
  });
  if (resolved.is === 'changed') throw changedError(reviewer.sight, found.record, number, records.now);
  if (resolved.is === 'unfit') throw unfitError(found.record, number, decision, records.now);
  return { reviewer, found };
}

type NamedTransaction = Exclude<Resolution, string>;

/** Writes the reference, claims it, and confirms it: a person's reference holds only then. */
async function nameTransaction(
  resolving: Resolving,
  { reference, checkout_url }: NamedTransaction,
): Promise<Done> {
  const { records, named, record, service } = resolving;
  const { number } = named;
  const payment = number === undefined ? undefined : findResolvable(resolving, number);
  const recorded = findRecorded(resolving, reference, payment);
  if (recorded !== undefined) return { number: recorded, isNew: false };
  if (payment) assertOffered(resolving, payment, 'reference');
  const { amount, currency } = payment ?? record.price;
  const finding = await service?.check(reference, { amount, currency });
  if (finding?.is === 'not_found')
    throw new JournalError('The service has no such transaction. Nothing was changed.');
  const { reviewer, found } = await writeReference(resolving, reference);
  const isClaimed = await claimReference(records, named.name, reference);
  const fields = checkout_url === undefined ? { status: 'processing' } : { checkout_url };
  const { other } = finding ?? {};
  const result = { reference, ...(other ?? { amount, currency }), ...fields };
  const isNamedElsewhere = await hasOtherOwner(resolving, payment);
  const made = { is: 'made', result, isClaimed, other, isNamedElsewhere } as const;
  const confirmed = await records.change(
    named.name,
    (before, now) => ({ record: confirmReference(before, made, { ...reviewer, now }), mustCommit: false }),
    { known: found },
  );
  const payments = confirmed.found.record?.payments ?? [];
  const index = payments.findIndex((item) => item.charge.is === 'made' && ownsReference(item, reference));
  if (!isClaimed || index < 0) throw otherOwnerError(reference, await findOwner(records, reference));
  return { number: index + 1, isNew: true };
}

/** Returns the payment of the order that has the transaction already. @throws {JournalError} if it is not the one that is meant */
function findRecorded(
  { named, record }: Resolving,
  reference: string,
  payment: Payment | undefined,
): number | undefined {
  const owner = record.payments.find((item) => ownsReference(item, reference));
  const holder = owner ?? record.payments.find((item) => holdsReference(item, reference));
  const number = holder && record.payments.indexOf(holder) + 1;
  if (owner?.charge.is === 'made' && (payment ?? owner) === owner) return number;
  if (holder && number !== undefined && holder !== payment && (owner || !payment))
    throw ownPaymentError(reference, namePayment(named.name, number));
  return undefined;
}

/** Whether another order or key has the reference that a response named. If that claim is void, it is taken over. */
async function hasOtherOwner({ records, named }: Resolving, payment: Payment | undefined): Promise<boolean> {
  if (payment?.charge.is !== 'unknown' || payment.charge.why !== 'shared_reference') return false;
  const { reference } = payment.charge;
  return reference !== undefined && !(await claimReference(records, named.name, reference));
}

async function writeReference(resolving: Resolving, reference: string): Promise<Written> {
  const { record, named } = resolving;
  const { number } = named;
  const rule: Rule = (before, reviewer) => {
    if (number !== undefined) return nameReference(before, number, reference, reviewer);
    return before ? addTransaction(before, reference, reviewer) : { is: 'changed' };
  };
  const fits: Fits = ({ payments }) => {
    const payment = number === undefined ? undefined : payments[number - 1];
    return !payment || !(isNone(payment) || payment.charge.is === 'made');
  };
  const ready = await makeDecidable(resolving, record, fits, rule, 'reference');
  return await writeResolution(resolving, ready, rule, 'reference');
}
