import { DBOS } from '@dbos-inc/dbos-sdk';
import type { CheckResult } from 'payment-collection-client';
import { nextLook } from '../shop/looks.ts';
import type { Order } from '../shop/orders.ts';
import { looks } from '../shop/settings.ts';
import { isNotKnownYet, isPassing, retries, retryAfter, settle } from './engine-errors.ts';
import { orders, payments } from './payments.ts';
import { hints } from './settings.ts';

/**
 * Everything that happens to one order, under the order's id. DBOS replays this function after a crash with the results
 * of the steps that had ended, so all that it goes by are those results: how long to pause, or `null` at the end.
 */
export const orderWorkflow = DBOS.registerWorkflow(
  async (id: string): Promise<void> => {
    let pause = await DBOS.runStep(() => charge(id), { name: 'charge', ...retries });
    while (pause !== null) {
      // It sleeps durably. A hint of the webhook route ends the sleep.
      await DBOS.recv(hints, { timeoutSeconds: pause / 1_000 });
      pause = await DBOS.runStep(() => look(id), { name: 'look', ...retries });
    }
  },
  // Each restart of the worker counts as one: a worker that crashes at its start would use up the usual 100 in minutes.
  { name: 'order', maxRecoveryAttempts: 10_000 },
);

/** A step may run again after a crash. The journal sees to it that the customer is charged at most once all the same. */
async function charge(id: string): Promise<number | null> {
  const { amount, currency, customer_email, phone, network } = orders.get(id);
  try {
    const { reference } = await payments.chargeMobileMoney(
      { amount, currency, customer_email, phone, network },
      { idempotencyKey: id },
    );
    orders.charged(id, reference, Date.now());
    return pauseBeforeFirstLook(orders.get(id));
  } catch (error) {
    settle(orders, id, error);
    return null;
  }
}

/** One look at the payment, and what it means for the order. Still pending is a pause, never an error. */
async function look(id: string): Promise<number | null> {
  const order = orders.get(id);
  if (order.reference === null || order.charged_at === null) return null;
  let check: CheckResult;
  try {
    check = await payments.check(order.reference);
  } catch (error) {
    // The next look is the retry, so that an outage, however long, neither ends the wait nor puts off its deadline.
    if (isPassing(error) || isNotKnownYet(error, Date.now() - order.charged_at))
      return pauseAfterLook(order, retryAfter(error));
    settle(orders, id, error);
    return null;
  }
  if (!check.final) return pauseAfterLook(order, check.retryAfter);
  orders.conclude(id, check.transaction);
  return null;
}

/** This may be long after the charge, where a crash kept the step from being recorded: then it is none. */
function pauseBeforeFirstLook(order: Order): number {
  const next = nextLookAt(order);
  return next === null || next.late ? 0 : next.delay;
}

/** At the deadline the goods are for sale again, and the looks go on: an approval may still come. */
function pauseAfterLook(order: Order, retryAfter?: number): number | null {
  const next = nextLookAt(order, retryAfter);
  if (next === null || next.late) orders.release(order.id);
  return next?.delay ?? null;
}

function nextLookAt({ charged_at }: Order, retryAfter?: number): ReturnType<typeof nextLook> {
  const elapsed = Date.now() - (charged_at ?? 0);
  return nextLook({ elapsed, retryAfter, random: Math.random() }, looks);
}
