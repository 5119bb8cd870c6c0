import { setTimeout as pause } from 'node:timers/promises';
import { type Transaction, WaitTimeoutError } from 'payment-collection-client';
import type { Schedule } from 'payment-collection-client/schedule';
import type { Order } from '../shop/orders.ts';
import { looks } from '../shop/settings.ts';
import { pauseAfter, settle } from './engine-errors.ts';
import { orders, payments } from './payments.ts';

const underWay = new Set<string>();

/**
 * Carries an order on from where it stands. All that it needs after a crash is in the database of orders and in the
 * journal, so it is simply called again. What it throws ends the process: the next one carries on.
 */
export async function carryOn(id: string): Promise<void> {
  if (underWay.has(id)) return;
  underWay.add(id);
  try {
    if (orders.get(id).state === 'placed') await charge(id);
    await seeToTheEnd(orders.get(id));
  } catch (error) {
    settle(orders, id, error);
  } finally {
    underWay.delete(id);
  }
}

/** Whether it was charged before a crash, only the journal knows: under the same key, nobody is charged twice. */
async function charge(id: string): Promise<void> {
  const { amount, currency, customer_email, phone, network } = orders.get(id);
  const input = { amount, currency, customer_email, phone, network };
  for (let tries = 0; ; tries++) {
    try {
      const { reference } = await payments.chargeMobileMoney(input, { idempotencyKey: id });
      return orders.charged(id, reference, Date.now());
    } catch (error) {
      const delay = pauseAfter(error, tries);
      if (delay === null) throw error;
      // It does not keep a worker alive that was told to end.
      await pause(delay, undefined, { ref: false });
    }
  }
}

/** At the deadline the goods are for sale again, and the looks go on: an approval may still come. */
async function seeToTheEnd(order: Order): Promise<void> {
  let transaction = await finalTransaction(order, looks.soon);
  if (!transaction) {
    orders.release(order.id);
    transaction = await finalTransaction(order, looks.late);
  }
  if (transaction) orders.conclude(order.id, transaction);
}

async function finalTransaction(
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
