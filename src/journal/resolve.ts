/**
 * Resolves a payment as a person decides. Of two persons at once, the one who decides about what they saw counts, and the other
 * is told.
 */

import { JournalError, quoteKey } from '../errors.ts';
import { check, type Finding } from '../ledger/check.ts';
import { findDecision, isNone, isSending, ownsReference, referenceOf } from '../ledger/payment.ts';
import type { LedgerRecord, Payment, Price } from '../ledger/record.ts';
import {
  addTransaction,
  confirmReference,
  getSight,
  listFitting,
  nameReference,
  type PlainDecision,
  type Resolved,
  type Reviewer,
  resolve,
  takeBack,
} from '../ledger/resolve.ts';
import { redactReference } from '../redact.ts';
import { findPayment, type NamedPayment } from './find-payment.ts';
import type { JournalEntry } from './journal.ts';
import { toEntry } from './list.ts';
import type { Found, Records } from './records.ts';
import { claimReference } from './references.ts';
import {
  type Resolution,
  type ResolutionNote,
  type ValidResolution,
  validateResolution,
} from './resolution.ts';

/** What a resolution asks the service for. */
export interface AskedService {
  /** @throws {ConfigurationError} if the record belongs to another service or mode */
  assertService(record: LedgerRecord): void;
  /** Returns what the service says of a transaction. @throws what the check throws */
  check(reference: string, price: Price): Promise<Extract<Finding, { is: 'answered' | 'not_found' }>>;
}

/**
 * Resolves a payment, or adds a transaction to an order. With `service`, that is asked first.
 *
 * @returns the entry of the payment as it is then.
 * @throws {JournalError} if there is no such payment, if it is in progress, or if the record contradicts the resolution.
 */
export async function resolveKey(
  records: Records,
  key: string,
  resolution: Resolution,
  note: ResolutionNote,
  service?: AskedService,
): Promise<JournalEntry> {
  const valid = validateResolution(resolution, note);
  const named = await findPayment(records, key);
  if (!named?.found.record)
    throw new JournalError(`The journal has no record of the key ${quoteKey(redactReference(key))}.`);
  service?.assertService(named.found.record);
  const resolving = { records, named, record: named.found.record, valid, service };
  const number = await (typeof valid.resolution === 'string'
    ? decidePayment(resolving, valid.resolution)
    : nameTransaction(resolving, valid.resolution));
  const { record } = await records.read(named.name);
  if (!record) throw changedError(valid);
  return toEntry(named.name, record, number, records.now);
}

interface Resolving {
  readonly records: Records;
  readonly named: NamedPayment;
  /** As the person saw it. */
  readonly record: LedgerRecord;
  readonly valid: ValidResolution;
  readonly service: AskedService | undefined;
}

async function decidePayment(resolving: Resolving, decision: PlainDecision): Promise<number> {
  const { named, service } = resolving;
  const { number = 0 } = named;
  const payment = findResolvable(resolving, number);
  if (isDecided(payment, decision)) return number;
  const reference = referenceOf(payment);
  const finding =
    service && decision !== 'closed' && reference !== undefined
      ? await service.check(reference, payment)
      : undefined;
  const before = await recordFinding(resolving, payment, finding);
  const ready = await makeDecidable(resolving, before, number, (now) =>
    listFitting(before, number, now).includes(decision),
  );
  const isConfirmed = finding?.is === 'answered' && (await isOwnReference(resolving, payment, reference));
  await write(
    resolving,
    ready,
    number,
    (now, reviewer) => resolve(now, number, decision, reviewer, isConfirmed),
    decision,
  );
  return number;
}

/** Another payment might have it: then it is no proof that this one was charged. Nobody has it if its process died before the claim. */
async function isOwnReference(
  { records, named, record }: Resolving,
  payment: Payment,
  reference: string | undefined,
): Promise<boolean> {
  if (reference === undefined) return false;
  const isOthers = record.payments.some((item) => item !== payment && ownsReference(item, reference));
  return !isOthers && (await claimReference(records, named.name, reference));
}

const isDecided = ({ charge, accepted }: Payment, decision: PlainDecision) =>
  decision === 'accepted'
    ? accepted === true
    : decision === 'closed'
      ? charge.is === 'closed'
      : charge.is === 'none' && charge.why === 'not_charged';

/** @throws {JournalError} if there is no such payment, or a process is charging it. */
function findResolvable({ records, record, valid }: Resolving, number: number): Payment {
  const payment = record.payments[number - 1];
  if (!payment)
    throw new JournalError(
      'This is an order: name one of its payments, such as "17/1". Nothing was changed.',
    );
  if (isSending(payment, records.now))
    throw new JournalError('A process is charging under this key now: resolve it once that has ended.', {
      retryable: true,
    });
  const { resolutionsSeen = payment.resolutions.length } = valid;
  if (payment.resolutions.length !== resolutionsSeen) throw changedError(valid, payment);
  return payment;
}

/** What the service says now is recorded first, so that the decision is about that. */
async function recordFinding(
  { records, named, record }: Resolving,
  payment: Payment,
  finding: Finding | undefined,
): Promise<LedgerRecord> {
  const reference = referenceOf(payment);
  if (!finding || reference === undefined || !ownsReference(payment, reference)) return record;
  const askedAt = records.now;
  const { found } = await records.change(
    named.name,
    (before, now) => ({ record: check(before, reference, finding, { askedAt, now, random: Math.random() }) }),
    { mustCommit: false },
  );
  return found.record ?? record;
}

/** A decision that another one is to replace is taken back by a write of its own. */
async function makeDecidable(
  resolving: Resolving,
  record: LedgerRecord,
  number: number,
  fits: (now: number) => boolean,
): Promise<LedgerRecord> {
  const { records } = resolving;
  const payment = record.payments[number - 1];
  if (fits(records.now) || !payment || !findDecision(payment)) return record;
  return await write(
    resolving,
    record,
    number,
    (before, reviewer) => takeBack(before, number, reviewer),
    'taken_back',
  );
}

/** Writes a decision about what the person saw. */
async function write(
  { records, named, valid }: Resolving,
  seen: LedgerRecord,
  number: number,
  rule: (before: LedgerRecord | null, reviewer: Reviewer) => Resolved,
  decision: string,
): Promise<LedgerRecord> {
  const id = crypto.randomUUID();
  const { by, reason } = valid;
  const sight = getSight(seen, number, records.now);
  const { found, resolved } = await records.change(
    named.name,
    (before, now) => {
      const result = rule(before, { id, by, reason, sight, now });
      return { record: result.is === 'done' ? result.record : before, resolved: result };
    },
    { mustCommit: false },
  );
  if (resolved.is === 'changed') throw changedError(valid, found.record?.payments[number - 1]);
  if (resolved.is === 'unfit') throw unfitError(found.record, number, decision, records.now);
  return found.record ?? seen;
}

type NamedTransaction = Exclude<Resolution, string>;

/** Writes the reference, claims it, and confirms it: a person's reference holds only then. Returns the number of the payment. */
async function nameTransaction(
  resolving: Resolving,
  { reference, checkout_url }: NamedTransaction,
): Promise<number> {
  const { records, named, record, service } = resolving;
  const { number } = named;
  const payment = number === undefined ? undefined : findResolvable(resolving, number);
  if (number !== undefined && payment?.charge.is === 'made' && ownsReference(payment, reference))
    return number;
  const { amount, currency } = payment ?? record.price;
  const finding = await service?.check(reference, { amount, currency });
  if (finding?.is === 'not_found')
    throw new JournalError('The service has no such transaction. Nothing was changed.');
  const { reviewer, found } = await writeReference(resolving, payment, reference);
  const isClaimed = await claimReference(records, named.name, reference);
  const fields = checkout_url === undefined ? { status: 'processing' } : { checkout_url };
  const { other } = finding ?? {};
  const result = { reference, ...(other ?? { amount, currency }), ...fields };
  const made = { is: 'made', result, isClaimed, other } as const;
  const confirmed = await records.change(
    named.name,
    (before, now) => ({ record: confirmReference(before, made, { ...reviewer, now }) }),
    { known: found, mustCommit: false },
  );
  const payments = confirmed.found.record?.payments ?? [];
  const index = payments.findIndex((item) => item.charge.is === 'made' && ownsReference(item, reference));
  if (!isClaimed || index < 0) throw otherOwnerError(reference);
  return index + 1;
}

async function writeReference(
  resolving: Resolving,
  payment: Payment | undefined,
  reference: string,
): Promise<{ reviewer: Omit<Reviewer, 'now'>; found: Found }> {
  const { records, named, record, valid } = resolving;
  const number = named.number ?? 0;
  const isOpen = payment && !isNone(payment) && payment.charge.is !== 'made';
  const ready = payment ? await makeDecidable(resolving, record, number, () => isOpen === true) : record;
  const sight = payment ? getSight(ready, number, records.now) : '';
  const reviewer = { id: crypto.randomUUID(), by: valid.by, reason: valid.reason, sight };
  const { resolved, found } = await records.change(
    named.name,
    (before, now) => {
      const result = nameOrAdd(before, payment && number, reference, { ...reviewer, now });
      return { record: result.is === 'done' ? result.record : before, resolved: result };
    },
    { mustCommit: false },
  );
  if (resolved.is === 'changed') throw changedError(valid, found.record?.payments[number - 1]);
  if (resolved.is === 'unfit') throw unfitError(found.record, number, 'reference', records.now);
  return { reviewer, found };
}

function nameOrAdd(
  before: LedgerRecord | null,
  number: number | undefined,
  reference: string,
  reviewer: Reviewer,
): Resolved {
  if (number !== undefined) return nameReference(before, number, reference, reviewer);
  return before ? addTransaction(before, reference, reviewer) : { is: 'changed' };
}

/** The person decided on what was recorded before. */
function changedError({ by: own }: ValidResolution, payment?: Payment): JournalError {
  const { by = own } = payment?.resolutions.at(-1) ?? {};
  const who = by === own ? 'by a check, a press or another person' : `by ${by.slice(0, 60)}`;
  return new JournalError(
    `This payment was changed meanwhile ${who}. Nothing was changed. Read its entry again.`,
  );
}

function unfitError(
  record: LedgerRecord | null,
  number: number,
  decision: string,
  now: number,
): JournalError {
  if (record?.winner === number)
    return new JournalError('This payment pays its order: that stands. Nothing was changed.');
  const fitting = record ? listFitting(record, number, now) : [];
  const advice = fitting.length > 0 ? `It can be ${fitting.join(' or ')}.` : 'There is nothing to resolve.';
  return new JournalError(
    `The payment is not as "${decision}" needs it, or the service contradicts it. Nothing was changed. ${advice}`,
  );
}

function otherOwnerError(reference: string): JournalError {
  return new JournalError(
    `${redactReference(reference)} belongs to another payment: one transaction cannot pay for two. Nothing was changed.`,
  );
}
