import { type JournalWait, waitForJournal } from '../journal/call-store.ts';
import { type Records, retryCas } from '../journal/compare-and-swap.ts';
import { type OrderRecord, writeOrderRecord } from '../journal/order-record.ts';
import { type Order, type OrderedPayment, readOrder } from './order.ts';
import { getPhase } from './status.ts';

/** What the success of a payment means for its order. */
export type SuccessMeaning = 'paid' | 'paid_twice' | 'price_changed';

/**
 * Records what the success of a payment means, and returns it. The first one pays the order, unless the latest payment has
 * another amount. It is recorded by compare-and-swap before anybody is told, so that it is the same in every process.
 */
export async function settleSuccess(records: Records, id: string, number: number): Promise<SuccessMeaning> {
  return await retryCas(async () => {
    const order = await readOrder(records, id);
    const known = getRecordedMeaning(order.record, number);
    if (known) return known;
    const payment = order.payments.find((item) => item.number === number);
    // The order was pruned since the payment was read: it counts as new.
    if (!payment) return 'paid';
    const change = findChange(order, payment);
    return (await writeOrderRecord(records.store, order, change.record)) ? change.meaning : undefined;
  });
}

function getRecordedMeaning(
  { paidBy, priceChanged }: OrderRecord,
  number: number,
): SuccessMeaning | undefined {
  if (paidBy === number) return 'paid';
  if (priceChanged.includes(number)) return 'price_changed';
  return paidBy === undefined ? undefined : 'paid_twice';
}

function findChange(
  { record, payments }: Order,
  payment: OrderedPayment,
): { record: OrderRecord; meaning: SuccessMeaning } {
  const { number } = payment;
  const latest = payments.at(-1);
  if (latest && latest.number > number && !hasSamePrice(payment, latest))
    return {
      record: { ...record, priceChanged: [...record.priceChanged, number] },
      meaning: 'price_changed',
    };
  return { record: { ...record, paidBy: number }, meaning: 'paid' };
}

function hasSamePrice({ record: one }: OrderedPayment, { record: other }: OrderedPayment): boolean {
  return one.amount === other.amount && one.currency === other.currency;
}

/** Reads an order. A success that its payments show, and its own record does not, is settled first. */
export async function readSettledOrder(
  records: Records,
  id: string,
  limits: JournalWait = {},
): Promise<Order> {
  const readOnce = async () => {
    const order = await readOrder(records, id);
    const isUnsettled = (payment: OrderedPayment) =>
      getPhase(payment) === 'success' && !getRecordedMeaning(order.record, payment.number);
    const unsettled = order.payments.find(isUnsettled);
    if (!unsettled) return order;
    await settleSuccess(records, id, unsettled.number);
    return undefined;
  };
  return await waitForJournal(() => retryCas(readOnce), limits);
}
