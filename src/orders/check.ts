import { AuthenticationError, NotFoundError } from '../errors.ts';
import { type CheckEnd, planAfterCheck } from '../follow-ups/plan.ts';
import { waitForJournal } from '../journal/call-store.ts';
import { toEntry } from '../journal/list.ts';
import { NO_FOLLOW_UP, referenceOf } from '../journal/record.ts';
import { elapsedSince, readClocks, type Timestamp } from '../timing.ts';
import type { OrdersContext } from './options.ts';
import type { Order, OrderedPayment } from './order.ts';
import { settleSuccess } from './settle.ts';
import { getPhase } from './status.ts';

/** A payment that was checked, or begun, less than this ago is not checked again before a charge, in milliseconds. */
const FRESH_FOR = 1_000;

/** So many earlier payments, the latest ones, are checked before a new one begins. */
const MAX_CHECKED = 10;

/** What the checks of one press have shown, and when, by the number of the payment. */
export type PressChecks = Map<number, { readonly end: CheckEnd; readonly endedAt: Timestamp }>;

/** What checks before a charge have shown. `error`: it is not known whether an earlier payment is paid. */
export type EarlierPayments = { readonly isPaid: boolean; readonly error?: unknown };

/**
 * Checks once each earlier payment of an order that might be paid, unless that was done a moment ago. `checked` has what
 * the checks of this press have shown.
 *
 * @throws {AuthenticationError} if the service refuses the API key: that is the merchant's to correct.
 */
export async function checkEarlierPayments(
  context: OrdersContext,
  order: Order,
  { except, checked, signal }: { except: number; checked: PressChecks; signal: AbortSignal | undefined },
): Promise<EarlierPayments> {
  const due = order.payments
    .filter((payment) => payment.number !== except && mightBePaid(payment))
    .slice(-MAX_CHECKED);
  const ends = await Promise.all(
    due.map(async (payment) => {
      const known = checked.get(payment.number);
      if (known && elapsedSince(known.endedAt) < FRESH_FOR) return known.end;
      const end = await checkAndRecord(context, order.id, payment, signal);
      checked.set(payment.number, { end, endedAt: readClocks() });
      return end;
    }),
  );
  const isPaid = ends.some((end) => 'checked' in end && end.checked.transaction.status === 'success');
  // What the service does not know cannot be paid.
  const errors = ends.flatMap((end) =>
    'error' in end && !(end.error instanceof NotFoundError) ? [end.error] : [],
  );
  const refused = errors.find((error) => error instanceof AuthenticationError);
  if (refused && !isPaid) throw refused;
  return { isPaid, error: errors[0] };
}

export function mightBePaid(payment: OrderedPayment): boolean {
  const phase = getPhase(payment);
  if (!['processing', 'abandoned', 'mismatch', 'gone'].includes(phase)) return false;
  const { record } = payment;
  if (referenceOf(record) === undefined) return false;
  const age = Date.now() - Math.max(record.createdAt, record.followUp?.checkedAt ?? 0);
  // A time in the future is that of another clock.
  return age < 0 || age >= FRESH_FOR;
}

/** Checks a payment once and records what the check shows. */
async function checkAndRecord(
  context: OrdersContext,
  id: string,
  payment: OrderedPayment,
  signal: AbortSignal | undefined,
): Promise<CheckEnd> {
  const { access } = context;
  const { amount, currency } = payment.record;
  const reference = referenceOf(payment.record);
  if (reference === undefined) return { error: undefined };
  const stop = signal ?? access.closing;
  const end = await access
    .check(reference, { expect: { amount, currency }, signal: stop, sendUntil: stop })
    .then(
      (checked): CheckEnd => ({ checked }),
      (error: unknown): CheckEnd => ({ error }),
    );
  await waitForJournal(() => recordCheck(context, id, payment, end), { end: signal });
  return end;
}

/**
 * Records what a check shows, so that every process knows. Handlers are left to `sweep` and `run`: the payment is due for
 * them at once.
 */
export async function recordCheck(
  { access, records, followUps }: OrdersContext,
  id: string,
  payment: OrderedPayment,
  end: CheckEnd,
): Promise<void> {
  const { key, number, version, record, isInProgress } = payment;
  const plan = planAfterCheck(record, end, { rules: access.rules, now: Date.now(), random: Math.random() });
  // What is known already has been delivered, or will be: it must not become due again.
  const isKnown = plan.final !== undefined && plan.final.status === record.followUp?.final?.status;
  if (!isKnown) {
    const found = { key, version, record, entry: toEntry(key, payment, isInProgress) };
    // A press must not make the slow pauses longer, nor the follow-up shorter.
    const { slowChecks, slowFor } = record.followUp ?? NO_FOLLOW_UP;
    const followUp = plan.final ? plan.followUp : { ...plan.followUp, slowChecks, slowFor };
    // If another process recorded a check meanwhile, that one counts.
    await followUps.update(found, followUp, plan.final || plan.attention ? 0 : (plan.dueIn ?? 0));
  }
  if (plan.final?.status === 'success') await settleSuccess(records, id, number);
}
