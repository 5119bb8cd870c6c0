/**
 * What the journal holds of an order: its payments are the keys `17/1`, `17/2` and so on, and what concerns the order as a
 * whole is a record of the journal's own. Without one, the order has one payment at most.
 */

import { ConfigurationError } from '../errors.ts';
import type { Records, VersionedRecord } from '../journal/compare-and-swap.ts';
import { NEW_ORDER, readOrderRecord, type VersionedOrderRecord } from '../journal/order-record.ts';
import { paymentKey } from '../journal/record.ts';

/** So many payments an order can have: reading it reads them all. */
export const MAX_PAYMENTS = 200;

/** A payment of an order, as its record shows it. */
export interface OrderedPayment extends VersionedRecord {
  readonly key: string;
  readonly number: number;
  /** Whether a process is charging under its key now. */
  readonly isInProgress: boolean;
}

/** An order, as it was read. */
export interface Order extends VersionedOrderRecord {
  readonly id: string;
  /** Oldest first. */
  readonly payments: readonly OrderedPayment[];
}

/** Returns an order that nothing is recorded of. */
export const createOrder = (id: string): Order => ({ id, record: NEW_ORDER, version: null, payments: [] });

/** Reads an order: its own record, and each of its payments. */
export async function readOrder(records: Records, id: string): Promise<Order> {
  const own = await readOrderRecord(records.store, id);
  const numbers = Array.from({ length: own.record.latest }, (_, index) => index + 1);
  const payments = await Promise.all(numbers.map((number) => readPayment(records, id, number)));
  return { id, ...own, payments: payments.filter((payment) => payment !== undefined) };
}

/** @throws {ConfigurationError} if the key of a payment was used without its order. */
async function readPayment(
  records: Records,
  id: string,
  number: number,
): Promise<OrderedPayment | undefined> {
  const key = paymentKey(id, number);
  const found = await records.read(key);
  if (!found) return undefined;
  const { order } = found.record;
  if (order?.id !== id || order.number !== number) throw notAnOrderPaymentError(key);
  return { ...found, key, number, isInProgress: records.isInProgress(found) };
}

export function notAnOrderPaymentError(key: string): ConfigurationError {
  return new ConfigurationError(
    `The journal has the idempotency key ${JSON.stringify(key)}, and it is no payment of this order. Nothing was sent. ` +
      'Give the order another id, such as one with a prefix.',
  );
}
