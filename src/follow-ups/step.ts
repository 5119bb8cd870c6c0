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
import { NOTIFY_INTERVAL } from '../timing.ts';
import type { HeldRecord } from './held-record.ts';
import { type CheckEnd, getSlowPause, hasEnded, MAX_PAUSE, planAfterCheck } from './plan.ts';
import type { SweepContext } from './sweep-context.ts';

/** What the steps of one sweep share. */
export interface StepContext extends SweepContext {
  /** The digest of base URL and mode that each record must have. */
  readonly service: string;
  /** Aborts the checks in flight. No handler is called after it. */
  readonly stop: AbortSignal;
  /** Aborted when no further check must begin. */
  readonly sendUntil: AbortSignal;
  /** What the sweep has done. */
  readonly tally: Tally;
  /** Called once no more request is sent for this record: a handler might be called, and might take long. */
  readonly onChecked: () => void;
  /** Resolves, once the checks in flight have ended, with whether the sweep could read no payment at all. */
  readonly isDenied: () => Promise<boolean>;
  /** Runs a handler, for however long it takes. */
  readonly callHandler: (held: HeldRecord, call: () => unknown) => Promise<void>;
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
  if (record.service !== context.service) {
    // One record must not stop the others.
    report(held, context, { result: 'failed', error: OTHER_SERVICE });
    await held.finish(followUp, MAX_PAUSE);
  } else if (record.state === 'completed') {
    const { final, delivered, ended } = followUp;
    if (ended === 'delivered') await held.finish(followUp, null);
    else if (final && final.status !== delivered)
      await deliver(held, record, createTransaction(record, final), context);
    else await checkPayment(held, record, context);
  } else if (entry.state === 'unknown') {
    if (followUp.reported.includes('unresolved')) await held.finish(followUp, null);
    else await callOnAttention(held, 'unresolved', { followUp, dueIn: null, context });
  } else if (record.state !== 'begun') {
    await held.finish(followUp, null);
  }
  // A charge in progress is due again after the lease of this claim.
}

const OTHER_SERVICE =
  'The record belongs to another base URL or mode (test or live) than this client. Nothing was checked.';

async function checkPayment(held: HeldRecord, record: CompletedRecord, context: StepContext): Promise<void> {
  const { access, tally } = context;
  const end = await check(held, record, context);
  tally.checked += 1;
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

/** Checks once. @throws what concerns the client, and the reason of `stop`. */
async function check(
  held: HeldRecord,
  { amount, currency, result }: CompletedRecord,
  { access, stop, sendUntil, tally, onChecked, isDenied }: StepContext,
): Promise<CheckEnd> {
  try {
    const options = { expect: { amount, currency }, signal: stop, sendUntil };
    const checked = await access.check(result.reference, options);
    tally.read += 1;
    return { checked };
  } catch (error) {
    if ([stop, sendUntil].some(({ aborted, reason }) => aborted && Object.is(error, reason))) throw error;
    if (!concernsClient(error)) return { error };
    if (!(error instanceof PermissionError)) throw error;
    // One payment that the key is not allowed to read must not stop those that it is allowed to read.
    onChecked();
    if (held.followUp.denied || !(await isDenied())) return { error };
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
  const { onFinal, onChecked, stop } = context;
  const { reference } = record.result;
  const { status } = transaction;
  onChecked();
  if (await isSharedReference(held.key, record, context)) {
    await reportShared(held, context);
    return;
  }
  const payment = { key: held.key, reference, record: held.record };
  const problem = await context.findProblem?.(payment, transaction);
  if (problem) {
    const { followUp } = held;
    await callOnAttention(held, problem, { followUp, dueIn: null, delivered: status, context });
    return;
  }
  stop.throwIfAborted();
  try {
    await context.callHandler(held, () => onFinal(payment, transaction, stop));
  } catch (error) {
    if (stop.aborted && Object.is(error, stop.reason)) throw error;
    const failures = (held.followUp.failures ?? 0) + 1;
    report(held, context, { result: 'handler_failed', error: summarizeError(error) });
    const failed = { ...held.followUp, failures, ended: undefined };
    await held.finish(failed, getSlowPause(failures, Math.random()));
    return;
  }
  const delivered = { ...held.followUp, failures: undefined, delivered: status };
  // Some services let an abandoned payment succeed.
  const isEnd = status !== 'abandoned';
  const pause = getSlowPause(1, Math.random());
  const isRecorded = isEnd
    ? await held.finish({ ...delivered, ended: 'delivered' }, null)
    : await held.finish({ ...delivered, slowChecks: 1, slowFor: pause }, pause);
  if (isRecorded) report(held, context, { result: 'delivered', status });
}

/**
 * Whether another key has a better claim to the transaction: one payment must not pay for two orders. A service that
 * suppresses duplicates returns one transaction for two charges; the first charge made it. A person can be wrong too.
 */
async function isSharedReference(
  ownKey: string,
  own: CompletedRecord,
  { records }: StepContext,
): Promise<boolean> {
  const isEarlier = (other: CompletedRecord, key: string) =>
    other.createdAt < own.createdAt || (other.createdAt === own.createdAt && key < ownKey);
  try {
    const found = await records.find(own.result.reference);
    return found.some(({ key, record }) => {
      if (key === ownKey) return false;
      if (own.resolved) return true;
      return record.state === 'completed' && !record.resolved && isEarlier(record, key);
    });
  } catch (error) {
    // A store that cannot list cannot find it either.
    if (error instanceof ConfigurationError) return false;
    throw error;
  }
}

async function reportShared(held: HeldRecord, context: StepContext): Promise<void> {
  const { slowChecks = 0, slowFor = 0 } = held.followUp;
  const pause = getSlowPause(slowChecks + 1, Math.random());
  const followUp = {
    ...held.followUp,
    slowChecks: slowChecks + 1,
    slowFor: slowFor + pause,
    ended: undefined,
  };
  const next = { followUp, dueIn: hasEnded(held.followUp) ? null : pause, context };
  const reason = context.kind === 'order' ? 'shared_reference' : 'mismatch';
  if (followUp.reported.includes(reason)) await finishOrGiveUp(held, next);
  else await callOnAttention(held, reason, next);
}

interface AttentionPlan {
  followUp: FollowUp;
  dueIn: number | null;
  /** The final status that is told with this call of `onAttention`. */
  delivered?: string;
  context: StepContext;
}

/** Calls `onAttention`, and records that it succeeded. */
async function callOnAttention(
  held: HeldRecord,
  reason: AttentionReason,
  next: AttentionPlan,
): Promise<void> {
  const { followUp, dueIn, delivered = followUp.delivered, context } = next;
  const { onAttention, onChecked, stop } = context;
  onChecked();
  // Another process might have checked it too, after a notification: one of them goes on.
  if (!(await held.keep(followUp))) return;
  stop.throwIfAborted();
  report(held, context, { result: 'attention', reason });
  try {
    const payment = { key: held.key, reference: held.entry.reference, record: held.record };
    await context.callHandler(held, () => onAttention(payment, reason, stop));
  } catch (error) {
    if (stop.aborted && Object.is(error, stop.reason)) throw error;
    const failures = (followUp.failures ?? 0) + 1;
    report(held, context, { result: 'handler_failed', reason, error: summarizeError(error) });
    await held.finish({ ...followUp, failures }, dueIn ?? getSlowPause(failures, Math.random()));
    return;
  }
  const reported = [...followUp.reported, reason];
  await finishOrGiveUp(held, {
    ...next,
    followUp: { ...followUp, reported, delivered, failures: undefined },
  });
}

/** Records the step. A completed payment without a next one is given up, unless it was `abandoned` for long enough. */
async function finishOrGiveUp(held: HeldRecord, { followUp, dueIn, context }: AttentionPlan): Promise<void> {
  const isLast = dueIn === null && held.record.state === 'completed';
  const isGivenUp = isLast && followUp.delivered === undefined;
  const ended = isGivenUp ? ('given_up' as const) : ('delivered' as const);
  const recorded = isLast ? { ...followUp, ended } : followUp;
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
  { access }: SweepContext,
  facts: Omit<FollowUpEvent, 'type' | 'idempotencyKey' | 'reference'>,
): void {
  access.report({
    type: 'follow_up',
    idempotencyKey: access.redactId(key),
    ...(reference === undefined ? {} : { reference }),
    ...facts,
  });
}

/** Returns name and message of what a handler, a journal or the client threw, without secrets. */
export function summarizeError(thrown: unknown): string {
  const { name, message } = sanitizeError(thrown, redactUnknownSecrets);
  return message ? `${name}: ${message}` : name;
}
