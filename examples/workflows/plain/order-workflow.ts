import { setTimeout as sleep } from 'node:timers/promises';
import { type Transaction, WaitTimeoutError } from 'payment-collection-client';
import type { Schedule } from 'payment-collection-client/schedule';
import type { Order } from '../shop/orders.ts';
import { checkSchedule } from '../shop/settings.ts';
import { recordFailure, retryDelay } from './engine-errors.ts';
import { orders, payments } from './payments.ts';

const running = new Set<string>();

/**
 * Runs an order from its current state to its end. After a crash it is called again: all that it needs is in the database of
 * orders and in the journal. An error that it throws ends the process, and the next process continues the order.
 */
export async function runOrder(id: string): Promise<void> {
  if (running.has(id)) return;
  running.add(id);
  try {
    if (orders.get(id).state === 'placed') await charge(id);
    await waitUntilFinal(orders.get(id));
  } catch (error) {
    recordFailure(orders, id, error);
  } finally {
    running.delete(id);
  }
}

/** After a crash only the journal knows whether the order was charged. Under the same key it is charged at most once. */
async function charge(id: string): Promise<void> {
  const { amount, currency, customer_email, phone, network } = orders.get(id);
  const input = { amount, currency, customer_email, phone, network };
  for (let retries = 0; ; retries++) {
    try {
      const { reference } = await payments.chargeMobileMoney(input, { idempotencyKey: id });
      return orders.markCharged(id, reference, Date.now());
    } catch (error) {
      const delay = retryDelay(error, retries);
      if (delay === null) throw error;
      // `ref: false`: the timer does not keep a process alive that is asked to end.
      await sleep(delay, undefined, { ref: false });
    }
  }
}

/** At the deadline the goods are released. The checks continue, because an approval might still come. */
async function waitUntilFinal(order: Order): Promise<void> {
  let transaction = await fetchFinalTransaction(order, checkSchedule.beforeDeadline);
  if (!transaction) {
    orders.release(order.id);
    transaction = await fetchFinalTransaction(order, checkSchedule.afterDeadline);
  }
  if (transaction) orders.applyFinalStatus(order.id, transaction);
}

async function fetchFinalTransaction(
  { reference, charged_at, amount, currency }: Order,
  schedule: Schedule,
): Promise<Transaction | undefined> {
  if (reference === null || charged_at === null) return undefined;
  try {
    return await payments.waitForFinalStatus(reference, {
      ...schedule,
      startedAt: charged_at,
      expect: { amount, currency },
    });
  } catch (error) {
    if (error instanceof WaitTimeoutError) return undefined;
    throw error;
  }
}
