import type { Transaction } from '../api/transaction.ts';
import { JournalError } from '../errors.ts';
import type { AttentionReason } from '../events.ts';
import type { SweptPayment } from '../follow-ups/sweep-context.ts';
import { waitForJournal } from '../journal/call-store.ts';
import type { OrdersContext } from './options.ts';
import { type Order, readOrder } from './order.ts';
import { readSettledOrder, settleSuccess } from './settle.ts';
import { getPhase, type OrderPayment, toOrderPayment } from './status.ts';

/** Records what the success of a payment means for its order, and returns why a person is needed, if one is. */
export async function findProblem(
  { records }: OrdersContext,
  swept: SweptPayment,
  { status }: Transaction,
): Promise<'paid_twice' | 'price_changed' | undefined> {
  if (status !== 'success') return undefined;
  const { id, number } = getMark(swept);
  const meaning = await settleSuccess(records, id, number);
  return meaning === 'paid' ? undefined : meaning;
}

/** Calls the handler for a payment that is final. */
export async function handleFinal(
  { records, onPaid, onUnpaid }: OrdersContext,
  swept: SweptPayment,
  transaction: Transaction,
  stop: AbortSignal,
): Promise<void> {
  const { id, number } = getMark(swept);
  const limits = { end: stop };
  if (transaction.status === 'success') {
    const payment = findPayment(await waitForJournal(() => readOrder(records, id), limits), number);
    if (payment) await onPaid({ order: id, payment, transaction });
  } else {
    const payment = onUnpaid && findUnpaid(await readSettledOrder(records, id, limits));
    if (payment) await onUnpaid({ order: id, payment });
  }
}

/** Tells a person about a payment of an order. */
export async function handleAttention(
  { records, onAttention }: OrdersContext,
  swept: SweptPayment,
  reason: AttentionReason,
  stop: AbortSignal,
): Promise<void> {
  const { key, reference } = swept;
  const { id, number } = getMark(swept);
  const order = await waitForJournal(() => readOrder(records, id), { end: stop });
  const payment = findPayment(order, number);
  if (!payment) return;
  await onAttention({ order: id, key, ...(reference === undefined ? {} : { reference }), reason, payment });
}

/** A sweep of orders finds only records with their mark. */
function getMark({ key, record: { order } }: SweptPayment): { id: string; number: number } {
  if (order) return order;
  throw new JournalError(`The record of ${JSON.stringify(key)} is no payment of an order.`);
}

function findPayment(order: Order, number: number): OrderPayment | undefined {
  const payment = order.payments.find((item) => item.number === number);
  return payment && toOrderPayment(order, payment);
}

/** Returns the latest payment if it failed or was abandoned, and no other one might still be paid but abandoned ones. */
function findUnpaid(order: Order): OrderPayment | undefined {
  const latest = order.payments.at(-1);
  if (!latest || order.record.paidBy !== undefined || order.record.priceChanged.length > 0) return undefined;
  const hasEnded = order.payments.every((payment) =>
    ['over', 'abandoned', 'reusable'].includes(getPhase(payment)),
  );
  return hasEnded && latest.record.state === 'completed' ? toOrderPayment(order, latest) : undefined;
}
