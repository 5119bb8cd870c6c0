import { ClosedError, type ReconcileItem, TransactionMismatchError } from 'payment-collection-client';
import { isFinal } from 'payment-collection-client/schedule';
import { looks } from '../shop/settings.ts';
import { settle } from './engine-errors.ts';
import { carryOn } from './order-workflow.ts';
import { orders, payments } from './payments.ts';

/** Orders that were written down and not charged, as far as the shop knows. */
export function takeUpPlaced(): void {
  for (const { id } of orders.in('placed')) carryOn(id);
}

/**
 * Every payment that was open when the last worker ended is looked at before anything is waited for: one that was made
 * meanwhile must not be released for want of a look, only because its deadline has passed.
 */
export async function takeUpCharged(): Promise<void> {
  try {
    await lookAtOpen();
  } catch (error) {
    if (!(error instanceof ClosedError)) throw error;
  }
}

async function lookAtOpen(): Promise<void> {
  const { timeout = 0 } = looks.late;
  const open = orders
    .in('waiting', 'released')
    .filter(({ state, charged_at }) => state === 'waiting' || Date.now() - (charged_at ?? 0) < timeout);
  const items = open.flatMap(({ reference, amount, currency }): ReconcileItem[] =>
    reference === null ? [] : [{ reference, expect: { amount, currency } }],
  );
  for await (const { reference, transaction, error } of payments.reconcile(items, { timeout: 60_000 })) {
    const order = orders.byReference(reference);
    if (!order) continue;
    if (error instanceof TransactionMismatchError) settle(orders, order.id, error);
    else if (transaction && isFinal(transaction.status)) orders.conclude(order.id, transaction);
    else carryOn(order.id);
  }
}
