import { type Transaction, transactionSchema } from '../api/transaction.ts';
import {
  AuthenticationError,
  ClosedError,
  ConfigurationError,
  type PaymentsError,
  PermissionError,
} from '../errors.ts';
import type { AttentionReason, FollowUpEvent } from '../events.ts';
import type { FollowUp, JournalRecord } from '../journal/record.ts';
import { redactUnknownSecrets } from '../redact.ts';
import { sanitizeError } from '../sanitize-error.ts';
import { type HeldRecord, withJournalTimeout } from './held-record.ts';
import type { FollowUpContext } from './options.ts';
import { type CheckEnd, getSlowPause, OVERDUE_PERIOD, planAfterCheck } from './plan.ts';

/** What the steps of one sweep share. */
export interface StepContext extends FollowUpContext {
  /** The digest of base URL and mode that each record must have. */
  readonly service: string;
  /** Aborts the checks in flight. */
  readonly stop: AbortSignal;
  /** What the sweep has done. */
  readonly tally: Tally;
  /** Called once no more request is sent for this record: a handler might be called, and might take long. */
  readonly onChecked: () => void;
}

interface Tally {
  checked: number;
  /** Of them, how many got a transaction. */
  read: number;
  final: number;
}

/** A record whose result is known. */
type CompletedRecord = Extract<JournalRecord, { state: 'completed' }>;

/** Does what is due for one record: a check, a call of a handler, or both. */
export async function takeStep(held: HeldRecord, context: StepContext): Promise<void> {
  const { record, entry, followUp } = held;
  if (record.service !== context.service)
    throw new ConfigurationError(
      'The journal has payments of another base URL or mode (test or live) than those of this client. Nothing was ' +
        'checked. Use the client that made them.',
      { operation: 'verify' },
    );
  if (record.state === 'completed') {
    if (followUp.ended) await held.finish(followUp, null);
    else if (followUp.final) await deliver(held, record, createTransaction(record, followUp.final), context);
    else await checkPayment(held, record, context);
  } else if (entry.state === 'unknown') {
    if (followUp.reported.includes('unresolved')) await held.finish(followUp, null);
    else await callOnAttention(held, 'unresolved', { followUp, dueIn: null, context });
  } else if (record.state !== 'begun') {
    await held.finish(followUp, null);
  }
  // A charge in progress is due again after the lease of this claim.
}

async function checkPayment(held: HeldRecord, record: CompletedRecord, context: StepContext): Promise<void> {
  const { access, tally } = context;
  const end = await check(held, record, context);
  tally.checked += 1;
  if ('checked' in end) tally.read += 1;
  const now = Date.now();
  const plan = planAfterCheck(held.record, end, { rules: access.rules, now, random: Math.random() });
  if (plan.final) {
    if (!(await held.keep(plan.followUp))) return;
    tally.final += 1;
    report(held, context, { result: 'final', status: plan.final.status });
    await deliver(held, record, plan.final, context);
    return;
  }
  const { followUp, attention, dueIn } = plan;
  if (attention) await callOnAttention(held, attention, { followUp, dueIn, context });
  else await finishOrGiveUp(held, { followUp, dueIn, context });
  // A notification that came during the check might be about what happened after it.
  if (held.isNotified && !held.followUp.ended) await held.finish(held.followUp, NOTIFY_INTERVAL);
}

/** A notification makes a payment due no sooner than this after its last check, in milliseconds. */
export const NOTIFY_INTERVAL = 1_000;

/** Checks once. @throws what concerns the client, and the reason of `stop`. */
async function check(
  held: HeldRecord,
  { amount, currency, result }: CompletedRecord,
  { access, stop, tally, onChecked }: StepContext,
): Promise<CheckEnd> {
  try {
    const expect = { amount, currency };
    return { checked: await access.check(result.reference, { expect, signal: stop }) };
  } catch (error) {
    if (stop.aborted && Object.is(error, stop.reason)) throw error;
    if (!concernsClient(error)) return { error };
    if (!(error instanceof PermissionError)) throw error;
    // One payment that the key is not allowed to read must not stop those that it is allowed to read.
    if (tally.read > 0) return { error };
    await held.finish(held.followUp, getSlowPause(1, Math.random()));
    throw error;
  } finally {
    onChecked();
  }
}

/** Whether an error is about the client rather than about one payment: every other check would fail, too. */
export function concernsClient(error: unknown): error is PaymentsError {
  return (
    error instanceof AuthenticationError ||
    error instanceof PermissionError ||
    error instanceof ConfigurationError ||
    error instanceof ClosedError
  );
}

/** Calls `onFinal`, and records that it succeeded. */
async function deliver(
  held: HeldRecord,
  record: CompletedRecord,
  transaction: Transaction,
  context: StepContext,
): Promise<void> {
  const { onFinal, onChecked } = context;
  const { reference } = record.result;
  onChecked();
  if (record.resolved && (await isSharedReference(held, reference, context))) {
    await reportShared(held, record, context);
    return;
  }
  try {
    await onFinal({ key: held.key, reference, transaction });
  } catch (error) {
    const failures = (held.followUp.failures ?? 0) + 1;
    report(held, context, { result: 'handler_failed', error: describeError(error) });
    await held.finish({ ...held.followUp, failures }, getSlowPause(failures, Math.random()));
    return;
  }
  const ended = { ...held.followUp, failures: undefined, ended: 'delivered' as const };
  if (await held.finish(ended, null))
    report(held, context, { result: 'delivered', status: transaction.status });
}

/** A person named the transaction of this key. One payment must not pay for two orders. */
async function isSharedReference(
  held: HeldRecord,
  reference: string,
  { journal }: StepContext,
): Promise<boolean> {
  try {
    const found = await withJournalTimeout(() => journal.followUps.find(reference));
    return found.some(({ key }) => key !== held.key);
  } catch (error) {
    // A store that cannot list cannot find it either. The journal refused a second key when it was resolved.
    if (error instanceof ConfigurationError) return false;
    throw error;
  }
}

async function reportShared(held: HeldRecord, record: CompletedRecord, context: StepContext): Promise<void> {
  const slowChecks = (held.followUp.slowChecks ?? 0) + 1;
  const followUp = { ...held.followUp, slowChecks };
  const hasEnded = Date.now() - record.createdAt >= context.access.rules.timeout + OVERDUE_PERIOD;
  const dueIn = hasEnded ? null : getSlowPause(slowChecks, Math.random());
  if (followUp.reported.includes('mismatch')) await finishOrGiveUp(held, { followUp, dueIn, context });
  else await callOnAttention(held, 'mismatch', { followUp, dueIn, context });
}

interface NextStep {
  followUp: FollowUp;
  dueIn: number | null;
  context: StepContext;
}

/** Calls `onAttention`, and records that it succeeded. */
async function callOnAttention(held: HeldRecord, reason: AttentionReason, next: NextStep): Promise<void> {
  const { followUp, dueIn, context } = next;
  const { onAttention, onChecked } = context;
  const { reference } = held.entry;
  onChecked();
  // Another process might have checked it too, after a notification: one of them goes on.
  if (!(await held.keep(followUp))) return;
  report(held, context, { result: 'attention', reason });
  try {
    await onAttention({ key: held.key, ...(reference === undefined ? {} : { reference }), reason });
  } catch (error) {
    const failures = (followUp.failures ?? 0) + 1;
    report(held, context, { result: 'handler_failed', reason, error: describeError(error) });
    await held.finish({ ...followUp, failures }, dueIn ?? getSlowPause(failures, Math.random()));
    return;
  }
  const reported = [...followUp.reported, reason];
  await finishOrGiveUp(held, { ...next, followUp: { ...followUp, reported, failures: undefined } });
}

/** Records the step. A completed payment without a next one is given up. */
async function finishOrGiveUp(held: HeldRecord, { followUp, dueIn, context }: NextStep): Promise<void> {
  const isGivenUp = dueIn === null && held.record.state === 'completed';
  const recorded = isGivenUp ? { ...followUp, ended: 'given_up' as const } : followUp;
  if ((await held.finish(recorded, dueIn)) && isGivenUp) report(held, context, { result: 'given_up' });
}

/** Returns the final transaction as it is recorded. No email of a customer is. */
function createTransaction(
  { amount, currency, result }: CompletedRecord,
  { status, paid_at }: NonNullable<FollowUp['final']>,
): Transaction {
  const { reference } = result;
  return transactionSchema.parse({ reference, status, amount, currency, customer_email: null, paid_at });
}

/** Reports an event about a record. */
export function report(
  { key, entry: { reference } }: HeldRecord,
  { access }: FollowUpContext,
  facts: Omit<FollowUpEvent, 'type' | 'idempotencyKey' | 'reference'>,
): void {
  access.report({
    type: 'follow_up',
    idempotencyKey: access.redactId(key),
    ...(reference === undefined ? {} : { reference }),
    ...facts,
  });
}

/** Describes what a handler, a journal or the client threw, without secrets. */
export function describeError(thrown: unknown): string {
  const { name, message } = sanitizeError(thrown, redactUnknownSecrets);
  return message ? `${name}: ${message}` : name;
}
