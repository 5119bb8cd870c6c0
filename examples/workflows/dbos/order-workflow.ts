import { DBOS } from '@dbos-inc/dbos-sdk';
import type { CheckResult } from 'payment-collection-client';
import { nextCheck } from '../shop/check-schedule.ts';
import type { Order } from '../shop/orders.ts';
import { checkSchedule } from '../shop/settings.ts';
import {
  isTemporary,
  mightAppearLater,
  readRetryAfter,
  recordFailure,
  retryPolicy,
} from './engine-errors.ts';
import { orders, payments } from './payments.ts';
import { topic } from './settings.ts';

/**
 * Runs one order, under the order's id. After a crash DBOS replays this function with the results of the steps that had
 * ended. It therefore depends on those results only: the delay until the next check, or `null` at the end.
 */
export const orderWorkflow = DBOS.registerWorkflow(
  async (id: string): Promise<void> => {
    let delay = await DBOS.runStep(() => charge(id), { name: 'charge', ...retryPolicy });
    while (delay !== null) {
      // A durable sleep. A notification of the webhook's route ends it early.
      await DBOS.recv(topic, { timeoutSeconds: delay / 1_000 });
      delay = await DBOS.runStep(() => checkPayment(id), { name: 'check', ...retryPolicy });
    }
  },
  // Each restart of the worker counts. A worker that crashes at its start would reach the default of 100 in minutes.
  { name: 'order', maxRecoveryAttempts: 10_000 },
);

/** DBOS might run a step again after a crash. With the journal the customer is still charged at most once. */
async function charge(id: string): Promise<number | null> {
  const { amount, currency, customer_email, phone, network } = orders.get(id);
  try {
    const { reference } = await payments.chargeMobileMoney(
      { amount, currency, customer_email, phone, network },
      { idempotencyKey: id },
    );
    orders.markCharged(id, reference, Date.now());
    return findFirstCheckDelay(orders.get(id));
  } catch (error) {
    recordFailure(orders, id, error);
    return null;
  }
}

/** Checks the payment once and changes the order. A pending payment gives a delay, never an error. */
async function checkPayment(id: string): Promise<number | null> {
  const order = orders.get(id);
  if (order.reference === null || order.charged_at === null) return null;
  let check: CheckResult;
  try {
    check = await payments.check(order.reference);
  } catch (error) {
    // The next check is the retry. So an outage of any length neither ends the wait nor moves its deadline.
    if (isTemporary(error) || mightAppearLater(error, Date.now() - order.charged_at))
      return releaseOrDelay(order, readRetryAfter(error));
    recordFailure(orders, id, error);
    return null;
  }
  if (!check.final) return releaseOrDelay(order, check.retryAfter);
  orders.applyFinalStatus(id, check.transaction);
  return null;
}

/** Returns 0 if the deadline has passed: after a crash the step can run again long after the charge. */
function findFirstCheckDelay(order: Order): number {
  const next = findNextCheck(order);
  return next === null || next.isAfterDeadline ? 0 : next.delay;
}

/** At the deadline it releases the goods. The checks continue, because an approval might still come. */
function releaseOrDelay(order: Order, retryAfter?: number): number | null {
  const next = findNextCheck(order, retryAfter);
  if (next === null || next.isAfterDeadline) orders.release(order.id);
  return next?.delay ?? null;
}

function findNextCheck({ charged_at }: Order, retryAfter?: number): ReturnType<typeof nextCheck> {
  const elapsed = Date.now() - (charged_at ?? 0);
  return nextCheck({ elapsed, retryAfter, random: Math.random() }, checkSchedule);
}
