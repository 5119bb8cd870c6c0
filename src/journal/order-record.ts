/** What the journal holds of an order as a whole: a record of its own, which is written by compare-and-swap. */

import * as z from 'zod/mini';
import { JournalError } from '../errors.ts';
import { readOwn, writeOwn } from './compare-and-swap.ts';
import { orderRecordKey } from './record.ts';
import type { JournalStore } from './store.ts';

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
  /** Whether `prune` is deleting the order. Who begins a payment takes this away first, so that `prune` leaves this record. */
  pruning: z.optional(z.literal(true)),
});

export type OrderRecord = z.output<typeof orderRecordSchema>;

/** What an order without a record of its own stands for. */
export const NEW_ORDER: OrderRecord = { format: 1, latest: 1, superseded: [], priceChanged: [] };

/** The order's own record, and the version that a compare-and-swap expects; `null` if there is none yet. */
export interface VersionedOrderRecord {
  readonly record: OrderRecord;
  readonly version: string | null;
}

const createUnreadableOrderError = () =>
  new JournalError('The record of this order cannot be read: a newer version might have written it.', {
    outcome: 'unknown',
  });

export async function readOrderRecord(store: JournalStore, id: string): Promise<VersionedOrderRecord> {
  const found = await readOwn(store, orderRecordKey(id), orderRecordSchema, createUnreadableOrderError);
  return found ? { record: found.value, version: found.version } : { record: NEW_ORDER, version: null };
}

/** Replaces the order's own record by compare-and-swap. Returns its version; `null` if it was changed since it was read. */
export const writeOrderRecord = (
  store: JournalStore,
  { id, version: expected }: { readonly id: string; readonly version: string | null },
  record: OrderRecord,
) => writeOwn(store, orderRecordKey(id), record, { expected, mustCommit: true });
