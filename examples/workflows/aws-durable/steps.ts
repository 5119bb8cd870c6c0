import {
  APIError,
  type CheckResult,
  InvalidInputError,
  NotFoundError,
  PaymentsError,
} from 'payment-collection-client';
import { nextCheck } from '../shop/check-schedule.ts';
import { checkSchedule } from '../shop/settings.ts';
import type { StoredOrder } from './orders.ts';
import { journal, orders, payments } from './payments.ts';
import { lease } from './settings.ts';

/** What AWS stores of a step: which step comes next, and after which delay in milliseconds. */
export interface Next {
  readonly step: 'charge' | 'read the journal' | 'check' | 'end';
  readonly delay: number;
}

const END: Next = { step: 'end', delay: 0 };

/** In milliseconds. A later prompt would confuse the customer: after that the order needs a manual review. */
const CHARGE_DEADLINE = 600_000;

/** In milliseconds. A replica of the service might lag, so a 404 counts only once it comes later than this. */
const NOT_FOUND_GRACE = 15_000;

/** Charges an order. Every error of the SDK becomes a result, so that the step never fails because of the service. */
export async function charge(id: string): Promise<Next> {
  const order = await orders.get(id);
  const { amount, currency, customer_email, phone, network } = order;
  try {
    const { reference } = await payments.chargeMobileMoney(
      { amount, currency, customer_email, phone, network },
      { idempotencyKey: id },
    );
    await orders.markCharged(id, reference, Date.now());
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    return handleChargeError(order, error);
  }
  return findFirstCheck(await orders.get(id));
}

/** Finds out what a charge did whose step was interrupted. AWS does not run that step again. */
export async function readJournal(id: string): Promise<Next> {
  const entry = await journal.read(id);
  // Nothing was sent, or the service rejected it. The journal allows another charge under the key.
  if (entry === null || ['not_sent', 'rejected', 'not_charged'].includes(entry.state))
    return chargeLater(await orders.get(id), 1_000);
  // The process might still run. If it does not, its claim expires.
  if (entry.state === 'begun') return { step: 'read the journal', delay: lease };
  if (entry.state === 'completed' && entry.reference !== undefined) {
    await orders.markCharged(id, entry.reference, entry.createdAt);
    return findFirstCheck(await orders.get(id));
  }
  await orders.holdForReview(id, `the charge is ${entry.state}`);
  return END;
}

/** Checks the payment once and changes the order. A pending payment gives a delay, never an error. */
export async function check(id: string): Promise<Next> {
  const order = await orders.get(id);
  if (order.reference === null || order.charged_at === null) return END;
  let result: CheckResult;
  try {
    result = await payments.check(order.reference);
  } catch (error) {
    // The next check is the retry. So an outage of any length neither ends the wait nor moves its deadline.
    if (isTemporary(error, Date.now() - order.charged_at.getTime()))
      return releaseOrCheck(order, readRetryAfter(error));
    await orders.holdForReview(id, error instanceof PaymentsError ? error.message : 'a check failed');
    return END;
  }
  if (!result.final) return releaseOrCheck(order, result.retryAfter);
  await orders.applyFinalStatus(id, result.transaction);
  return END;
}

async function handleChargeError(order: StoredOrder, error: PaymentsError): Promise<Next> {
  const isNotCharged = error.outcome === 'rejected' || error.outcome === 'not_sent';
  if (isNotCharged && error.retryable) return chargeLater(order, readRetryAfter(error) ?? 5_000);
  if (error.outcome === 'rejected' || error instanceof InvalidInputError)
    await orders.reject(order.id, error.message);
  else await orders.holdForReview(order.id, error.message);
  return END;
}

/** Charges in another step, under the same key, unless the customer has waited for too long. */
async function chargeLater({ id, placed_at }: StoredOrder, delay: number): Promise<Next> {
  if (Date.now() - placed_at.getTime() + delay < CHARGE_DEADLINE) return { step: 'charge', delay };
  await orders.holdForReview(id, 'not charged in time');
  return END;
}

/** Checks at once if the deadline has passed: after a crash the charge might be old. */
function findFirstCheck(order: StoredOrder): Next {
  const next = findNextCheck(order);
  return { step: 'check', delay: next === null || next.isAfterDeadline ? 0 : next.delay };
}

/** At the deadline it releases the goods. The checks continue, because an approval might still come. */
async function releaseOrCheck(order: StoredOrder, retryAfter?: number): Promise<Next> {
  const next = findNextCheck(order, retryAfter);
  if (next === null || next.isAfterDeadline) await orders.release(order.id);
  return next === null ? END : { step: 'check', delay: next.delay };
}

function findNextCheck({ charged_at }: StoredOrder, retryAfter?: number): ReturnType<typeof nextCheck> {
  const elapsed = Date.now() - (charged_at?.getTime() ?? 0);
  return nextCheck({ elapsed, retryAfter, random: Math.random() }, checkSchedule);
}

/** Whether a later check can succeed. An error that is not of the SDK comes from the database, and is temporary. */
function isTemporary(error: unknown, sinceCharge: number): boolean {
  if (error instanceof NotFoundError) return sinceCharge < NOT_FOUND_GRACE;
  return !(error instanceof PaymentsError) || error.retryable;
}

/** Returns the delay that the service asked for, in milliseconds. */
function readRetryAfter(error: unknown): number | undefined {
  return error instanceof APIError ? error.retryAfter : undefined;
}
