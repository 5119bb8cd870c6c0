/**
 * What the journal holds of an order: its payments are the keys `17/1`, `17/2` and so on, and what concerns the order as a
 * whole is a record of the journal's own, written by compare-and-swap. Without one, the order has one payment at most.
 */

import * as z from 'zod/mini';
import { ConfigurationError, JournalError } from '../errors.ts';
import {
  newVersion,
  type Records,
  readStored,
  type VersionedRecord,
  writeText,
} from '../journal/compare-and-swap.ts';
import { orderRecordKey, paymentKey } from '../journal/record.ts';
import type { JournalStore } from '../journal/store.ts';
import { parseJson } from '../untrusted.ts';

const orderRecordSchema = z.object({
  format: z.literal(1),
  /** The number of the payment that is under way, or comes next. */
  latest: z.number(),
  /** The numbers of the payments whose place a later one took while they were under way. */
  superseded: z.array(z.number()),
  /** The number of the payment that pays the order. Once it is there it never changes. */
  paidBy: z.optional(z.number()),
  /** The numbers of the payments that were paid although the latest one had another amount. */
  priceChanged: z.array(z.number()),
});

export type OrderRecord = z.output<typeof orderRecordSchema>;

/** What an order without a record of its own stands for. */
const NEW_ORDER: OrderRecord = { format: 1, latest: 1, superseded: [], priceChanged: [] };

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
export interface Order {
  readonly id: string;
  readonly record: OrderRecord;
  /** The version that a compare-and-swap of `record` expects; `null` if there is none yet. */
  readonly version: string | null;
  /** Oldest first. */
  readonly payments: readonly OrderedPayment[];
}

/** Returns an order that nothing is recorded of. */
export const createOrder = (id: string): Order => ({ id, record: NEW_ORDER, version: null, payments: [] });

/** Reads an order: its own record, and each of its payments. */
export async function readOrder(records: Records, id: string): Promise<Order> {
  const { record, version } = await readOrderRecord(records.store, id);
  const numbers = Array.from({ length: record.latest }, (_, index) => index + 1);
  const payments = await Promise.all(numbers.map((number) => readPayment(records, id, number)));
  return { id, record, version, payments: payments.filter((payment) => payment !== undefined) };
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

/** Reads the order's own record. */
export async function readOrderRecord(
  store: JournalStore,
  id: string,
): Promise<{ record: OrderRecord; version: string | null }> {
  const stored = await readStored(store, orderRecordKey(id));
  if (!stored) return { record: NEW_ORDER, version: null };
  const parsed = orderRecordSchema.safeParse(parseJson(String(stored.text)));
  if (parsed.success) return { record: parsed.data, version: stored.version };
  throw new JournalError('The record of this order cannot be read: a newer version might have written it.', {
    outcome: 'unknown',
  });
}

/** Replaces the order's own record by compare-and-swap; `false` if it was changed since it was read. */
export async function writeOrderRecord(
  { store }: Records,
  { id, version: expected }: Pick<Order, 'id' | 'version'>,
  record: OrderRecord,
): Promise<boolean> {
  const version = newVersion(crypto.randomUUID());
  const change = { expected, version, text: JSON.stringify(record), mustCommit: true };
  return await writeText(store, orderRecordKey(id), { ...change, index: null, dueIn: null });
}
