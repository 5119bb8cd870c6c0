import { ClosedError, type ReconcileItem, TransactionMismatchError } from 'payment-collection-client';
import { isFinal } from 'payment-collection-client/schedule';
import { checkSchedule } from '../shop/settings.ts';
import { recordFailure } from './engine-errors.ts';
import { runOrder } from './order-workflow.ts';
import { orders, payments } from './payments.ts';

/** Runs every order that is stored and not charged, as far as the shop knows. */
export function resumePlacedOrders(): void {
  for (const { id } of orders.listByState('placed')) runOrder(id);
}

/**
 * Checks every payment that was open when the last worker ended, and only then waits for those that are still open. An
 * order that was paid meanwhile must not be released because its deadline has passed.
 */
export async function resumeChargedOrders(): Promise<void> {
  try {
    await checkOpenOrders();
  } catch (error) {
    if (!(error instanceof ClosedError)) throw error;
  }
}

async function checkOpenOrders(): Promise<void> {
  const { timeout = 0 } = checkSchedule.afterDeadline;
  const open = orders
    .listByState('waiting', 'released')
    .filter(({ state, charged_at }) => state === 'waiting' || Date.now() - (charged_at ?? 0) < timeout);
  const items = open.flatMap(({ reference, amount, currency }): ReconcileItem[] =>
    reference === null ? [] : [{ reference, expect: { amount, currency } }],
  );
  for await (const { reference, transaction, error } of payments.reconcile(items, { timeout: 60_000 })) {
    const order = orders.findByReference(reference);
    if (!order) continue;
    if (error instanceof TransactionMismatchError) recordFailure(orders, order.id, error);
    else if (transaction && isFinal(transaction.status)) orders.applyFinalStatus(order.id, transaction);
    else runOrder(order.id);
  }
}
