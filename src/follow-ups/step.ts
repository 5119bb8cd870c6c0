/** One record that is due: what is checked, what is recorded, and which handlers are called. */

import { type Transaction, transactionSchema } from '../api/transaction.ts';
import type { ClientAccess } from '../client-access.ts';
import { PermissionError } from '../errors.ts';
import type { FollowUpEvent } from '../events.ts';
import { type Checked, checkReference, recordChecks } from '../idempotency/check.ts';
import { getLateResult } from '../journal/call-store.ts';
import { Hold } from '../journal/hold.ts';
import { namePayment, type RecordName } from '../journal/names.ts';
import type { Found, Records } from '../journal/records.ts';
import type { RecordKind } from '../journal/store.ts';
import { getPause, MAX_PAUSE } from '../ledger/check.ts';
import { getDueAt, listDueChecks, listOwed, type OwedCall } from '../ledger/order.ts';
import { isEnded, isFollowed, isPaid, referenceOf, seenOf } from '../ledger/payment.ts';
import { type LedgerRecord, type Payment, toPlannedTime } from '../ledger/record.ts';
import { tell, tellLater } from '../ledger/tell.ts';
import { redactUnknownSecrets } from '../support/redact.ts';
import { sanitizeError } from '../support/sanitize-error.ts';
import { readClocks, sleep } from '../support/timing.ts';

export interface HandlerCall extends OwedCall {
  readonly name: RecordName;
  readonly record: LedgerRecord;
  readonly payment: Payment;
  readonly reference: string | undefined;
  /** As it was checked just now, or as it is recorded. */
  readonly transaction: Transaction | undefined;
}

export interface SweepContext {
  readonly kind: RecordKind;
  readonly records: Records;
  readonly access: ClientAccess;
  /** Returns what calls a handler; `undefined` if there is none. One that throws is called again later. */
  readonly findHandler: (call: HandlerCall) => (() => unknown) | undefined;
  /** The keys of the records that this process holds. A notification can make one due that is being checked. */
  readonly heldKeys: Set<string>;
  /** The steps whose handler has not settled for long. No later sweep waits for them. */
  readonly slowSteps: Set<Promise<void>>;
  readonly said: { foreign: boolean };
}

export interface StepContext extends SweepContext {
  /** The digest of base URL and mode that each record must have. */
  readonly service: string;
  /** How long a record is held, in milliseconds. */
  readonly lease: number;
  /** Aborts the checks in flight. No handler is called after it. */
  readonly stop: AbortSignal;
  /** Aborted when no further check must begin. */
  readonly sendUntil: AbortSignal;
  readonly tally: Tally;
  /** Called once no more request is sent for this record: a handler might be called, and might take long. */
  readonly onChecked: () => void;
  /** Resolves, once the checks in flight have ended, with whether the sweep could read no payment at all. */
  readonly isDenied: () => Promise<boolean>;
  /** Resolves once what others found at the same time is recorded too, or shortly. */
  readonly joinGroup: () => Promise<void>;
  /** Runs a handler, for however long it takes. */
  readonly callHandler: (call: () => unknown, onSlow: () => void) => Promise<void>;
}

interface Tally {
  checked: number;
  /** Of them, how many got a transaction. */
  read: number;
  final: number;
}

export interface DueRecord {
  readonly name: RecordName;
  readonly record: LedgerRecord;
  readonly version: string;
}

/**
 * A record of another service is postponed by a tenth of its age, at least by so many milliseconds: the client of that service hears
 * of a new payment soon, and what nobody follows any more costs little.
 */
const MIN_FOREIGN_PAUSE = 30_000;

/** Does what is due for one record: checks, calls of handlers, or both. */
export async function takeStep(due: DueRecord, context: StepContext): Promise<void> {
  const { name, record } = due;
  if (record.service !== context.service) {
    if (!context.said.foreign) report(context, name, { result: 'failed', error: OTHER_SERVICE });
    context.said.foreign = true;
    const age = context.records.now - Math.max(...record.payments.map(({ createdAt }) => createdAt));
    await postpone(due, context, Math.min(MAX_PAUSE, Math.max(MIN_FOREIGN_PAUSE, age / 10)));
    return;
  }
  const { lease } = context;
  // The limits of the client can hold checks back for long, and a handler can take long.
  const hold = new Hold(due, {
    duration: lease,
    requestedAt: readClocks(),
    renew: (known) => change(name, context, { known, dueIn: lease }),
  });
  try {
    const checks = await checkAll(due, hold, context);
    context.onChecked();
    await context.joinGroup();
    const isContested = await recordChecked(name, checks, hold, context);
    if (isContested) await sleep(CONTESTED_PAUSE, context.stop);
    await callHandlers(name, checks, hold, context);
  } finally {
    hold.release();
  }
}

const OTHER_SERVICE =
  'The record belongs to another base URL or mode (test or live) than this client. Nothing was checked. Others are not named.';

async function checkAll({ name, record }: DueRecord, hold: Hold, context: StepContext): Promise<Checked[]> {
  const { access, records, stop, sendUntil, tally, onChecked, isDenied } = context;
  const references = listDueChecks(record, records.now);
  const checks = await Promise.all(
    references.map(async (reference) => {
      const signals = { signal: stop, sendUntil };
      const checked = await checkReference(access, record, { reference, askedAt: records.now, ...signals });
      tally.checked += 1;
      if (checked.transaction) tally.read += 1;
      return checked;
    }),
  );
  const deniedCheck = checks.find(({ error }) => error instanceof PermissionError);
  if (!deniedCheck || record.payments.some((payment) => seenOf(payment)?.failing)) return checks;
  // One payment that the key is not allowed to read must not stop those that it is allowed to read.
  onChecked();
  if (!(await isDenied())) return checks;
  await hold.write((known) => change(name, context, { known, dueIn: getPause(1, Math.random()) }));
  throw deniedCheck.error;
}

/**
 * How long another process that found the same has for its handlers, in milliseconds: a notification or a press makes a record due
 * that is being checked.
 */
const CONTESTED_PAUSE = 2_000;

/**
 * Records what was found. If handlers are to be called, the record stays held. Resolves with whether another process has recorded
 * meanwhile that they are.
 */
async function recordChecked(
  name: RecordName,
  checks: readonly Checked[],
  hold: Hold,
  context: StepContext,
): Promise<boolean> {
  const { records, lease } = context;
  let isContested = false;
  await hold.write(async (known) => {
    const { found, before } = await records.change(
      name,
      (before, now) => {
        // The store can be ahead of `now`, and the next check must not come too soon.
        const record = recordChecks(before, checks, now + records.lead);
        const isOwed = record !== null && listDueCalls(record, now).length > 0;
        // A handler must not hear of what a transaction of the merchant could still roll back.
        return { record, dueIn: isOwed ? lease : getNaturalPause(record, now), mustCommit: isOwed, before };
      },
      { known },
    );
    reportFinals(name, before, found.record, context);
    const wasOwed = (record: LedgerRecord | null) =>
      record !== null && listOwed(record, records.now).length > 0;
    isContested = before !== known.record && wasOwed(before) && !wasOwed(known.record);
    return found.record ? found : null;
  });
  return isContested;
}

const getNaturalPause = (record: LedgerRecord | null, now: number) => {
  const dueAt = record && getDueAt(record, now);
  return dueAt === null ? null : Math.max(0, dueAt - now);
};

/** After a handler failed, nothing is told for a pause. */
function listDueCalls(record: LedgerRecord, now: number): OwedCall[] {
  const { telling } = record;
  return telling && toPlannedTime(now, telling.retryAt) > now ? [] : listOwed(record, now);
}

function reportFinals(
  name: RecordName,
  before: LedgerRecord | null,
  record: LedgerRecord | null,
  context: StepContext,
): void {
  const { now } = context.records;
  for (const [index, payment] of (record?.payments ?? []).entries()) {
    const was = before?.payments[index];
    const isFinal = isPaid(payment) || isEnded(payment);
    if (isFinal && !(was && seenOf(was)?.status === seenOf(payment)?.status)) {
      context.tally.final += 1;
      const { status = '' } = seenOf(payment) ?? {};
      report(context, name, { result: 'final', status }, index + 1, payment);
    }
    if (was && !isFinal && isFollowed(was, now) && !isFollowed(payment, now) && payment.charge.is === 'made')
      report(context, name, { result: 'given_up' }, index + 1, payment);
  }
}

/** Delays before what a handler was told is written again, in milliseconds: it would be called twice otherwise. */
const RETRY_DELAYS = [100, 400, 1_600];

/** Calls the handlers that are owed, and records after each what it was told. */
async function callHandlers(
  name: RecordName,
  checks: readonly Checked[],
  hold: Hold,
  context: StepContext,
): Promise<void> {
  const { records, lease } = context;
  const { record } = hold.found;
  const calls = record ? listDueCalls(record, records.now) : [];
  let hasFailed = false;
  for (const call of calls) {
    const result = await callHandler(name, call, hold, checks, context);
    hasFailed ||= result === 'failed';
    const isLast = call === calls.at(-1);
    if (result !== 'told' && !isLast) continue;
    const rule = (before: LedgerRecord | null, now: number) => {
      const told = result === 'told' ? tell(before, call) : before;
      return isLast && hasFailed ? tellLater(told, { now, random: Math.random() }) : told;
    };
    const dueIn = isLast ? undefined : lease;
    await retryWrite(() => hold.write((known) => change(name, context, { known, rule, dueIn })));
  }
}

async function retryWrite(write: () => Promise<unknown>): Promise<void> {
  for (const delay of RETRY_DELAYS) {
    try {
      await write();
      return;
    } catch (error) {
      // A write that hung took its time already, and might still be done.
      if (getLateResult(error)) throw error;
      await sleep(delay, undefined);
    }
  }
  await write();
}

const isOwed = (record: LedgerRecord, call: OwedCall, now: number) =>
  listOwed(record, now).some(
    ({ handler, number, attempt, what }) =>
      handler === call.handler && number === call.number && attempt === call.attempt && what === call.what,
  );

/** A record that was read longer ago than this is read again before a handler hears of it, in milliseconds. */
const READ_FRESH_FOR = 1_000;

/** @returns `not_called` if its reason is gone meanwhile, or the sweep ends */
async function callHandler(
  name: RecordName,
  call: OwedCall,
  hold: Hold,
  checks: readonly Checked[],
  context: StepContext,
): Promise<'told' | 'failed' | 'not_called'> {
  const { stop, lease, records } = context;
  const { record } = hold.found;
  const payment = record?.payments[call.number - 1];
  if (stop.aborted || !record || !payment || !isOwed(record, call, records.now)) return 'not_called';
  const reference = referenceOf(payment);
  const transaction = createTransaction(payment, checks);
  const handler = context.findHandler({ ...call, name, record, payment, reference, transaction });
  // What nobody wants to hear counts as told.
  if (!handler) return 'told';
  const reason = call.handler === 'onAttention' ? call.what : undefined;
  const isReason = reason !== undefined && reason !== 'success' && reason !== 'ended';
  const say = (said: Omit<FollowUpEvent, 'type' | 'idempotencyKey' | 'reference'>) =>
    report(context, name, said, call.number, payment);
  let isGone = false;
  const callIfOwed = async () => {
    // It might have waited for other handlers, and its reason be gone.
    if (hold.age > READ_FRESH_FOR)
      await hold.write((known) => change(name, context, { known, dueIn: lease })).catch(() => {});
    const { record: latest } = hold.found;
    isGone = !latest || !isOwed(latest, call, records.now);
    if (isGone) return;
    if (isReason) say({ result: 'attention', reason });
    await handler();
  };
  try {
    await context.callHandler(callIfOwed, () => say({ result: 'handler_slow' }));
  } catch (error) {
    if (stop.aborted && Object.is(error, stop.reason)) return 'not_called';
    say({ result: 'handler_failed', ...(isReason ? { reason } : {}), error: summarizeError(error) });
    return 'failed';
  }
  if (isGone) return 'not_called';
  if (!isReason) say({ result: 'delivered', ...(transaction ? { status: transaction.status } : {}) });
  return 'told';
}

/** Returns the transaction as it was checked just now, or as it is recorded. No email of a customer is. */
function createTransaction(payment: Payment, checks: readonly Checked[]): Transaction | undefined {
  const reference = referenceOf(payment);
  const { status, paid_at = null, other } = seenOf(payment) ?? {};
  if (reference === undefined || status === undefined) return undefined;
  const fresh = checks.find((checked) => checked.reference === reference)?.transaction;
  if (fresh?.status === status) return fresh;
  const { amount, currency } = other ?? payment;
  return transactionSchema.parse({ reference, status, amount, currency, customer_email: null, paid_at });
}

interface StepChange {
  readonly known?: Found;
  readonly rule?: (before: LedgerRecord | null, now: number) => LedgerRecord | null;
  /** @default when the facts of the record say */
  readonly dueIn?: number | undefined;
}

/** Writes a record. Resolves with it; `null` if it is gone. */
async function change(
  name: RecordName,
  { records }: StepContext,
  { known, rule = (before) => before, dueIn }: StepChange,
): Promise<Found | null> {
  const { found } = await records.change(
    name,
    (before, now) => {
      const record = rule(before, now);
      return { record, dueIn: dueIn ?? getNaturalPause(record, now), mustCommit: false };
    },
    { known },
  );
  return found.record ? found : null;
}

/** Makes a record due again, and changes nothing else of it: after a pause, or when its facts say. */
export async function postpone(
  { name, record, version }: DueRecord,
  context: StepContext,
  dueIn?: number,
): Promise<void> {
  await change(name, context, { known: { record, version }, ...(dueIn !== undefined && { dueIn }) });
}

export function report(
  { access }: SweepContext,
  name: RecordName,
  facts: Omit<FollowUpEvent, 'type' | 'idempotencyKey' | 'reference'>,
  number = 1,
  payment?: Payment,
): void {
  const { client } = access;
  const reference = payment && referenceOf(payment);
  client.report({
    type: 'follow_up',
    idempotencyKey: client.redactReference(namePayment(name, number)),
    ...(reference === undefined ? {} : { reference }),
    ...facts,
  });
}

/** Returns name and message of what a handler, a journal or the client threw, without secrets. */
export function summarizeError(thrown: unknown): string {
  const { name, message } = sanitizeError(thrown, redactUnknownSecrets);
  return message ? `${name}: ${message}` : name;
}
