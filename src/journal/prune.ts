import * as z from 'zod/mini';
import { type OptionsShape, optionalFlag, parseOptions } from '../parse-options.ts';
import { callStore } from './call-store.ts';
import { type KeyedRecord, parseStored, type Records } from './compare-and-swap.ts';
import type { PruneOptions } from './journal.ts';
import { missingMethodError, readPages } from './list.ts';
import { readOrderRecord, writeOrderRecord } from './order-record.ts';
import { type JournalRecord, type OrderMark, orderRecordKey, paymentKey } from './record.ts';
import type { JournalStore } from './store.ts';

/** One stored record, and the version that it must still have when it is deleted. */
interface Deletion {
  readonly key: string;
  readonly version: string;
}

/** The states of a key that nothing is left to do for. A completed one has its follow-up too. */
const PRUNABLE_STATES = ['completed', 'not_sent', 'rejected'] as const;

const A_TIME = "a Date or milliseconds since 1970: new Date('2025-11-01')";

const isTime = (value: unknown) => Number.isFinite(value instanceof Date ? value.getTime() : value);

const pruneOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    before: z.pipe(
      z
        .custom<Date | number>(isTime, {
          error: `prune needs before, ${A_TIME}. Nothing was deleted.`,
          abort: true,
        })
        .check(
          z.refine((time) => Number(time) <= Date.now(), {
            error: 'before must not be in the future. Nothing was deleted.',
          }),
        ),
      z.transform(Number),
    ),
    unfollowed: optionalFlag('unfollowed'),
  } satisfies OptionsShape<PruneOptions>))();

/** How many records are deleted at once. */
const PAGE_SIZE = 100;

/**
 * Deletes the records that were created before a time and that nothing is left to do for. Returns how many.
 *
 * @throws {ConfigurationError} if `before` is no time of the past, or the store has no `list` or `delete`.
 */
export async function pruneRecords(records: Records, options: PruneOptions): Promise<number> {
  const { before, unfollowed = false } = parseOptions(pruneOptionsSchema, options, {
    notAnObject: `prune takes { before }, ${A_TIME}.`,
  });
  const { store } = records;
  if (typeof store.delete !== 'function') throw missingMethodError('delete');
  const isDone = (record: JournalRecord) => record.createdAt < before && isFinished(record, unfollowed);
  let deleted = 0;
  let page: Deletion[] = [];
  for await (const { key, version, record } of listOlder(store, before)) {
    if (!isDone(record)) continue;
    if (record.order) deleted += await pruneOrder(records, record.order, isDone);
    else page.push({ key, version });
    if (page.length < PAGE_SIZE) continue;
    deleted += await deleteRecords(records, page);
    page = [];
  }
  return deleted + (await deleteRecords(records, page));
}

/** Yields the records of a state that can be deleted, if they can be read and were created before a time. */
async function* listOlder(store: JournalStore, before: number): AsyncGenerator<KeyedRecord, void, void> {
  for (const state of PRUNABLE_STATES) {
    for await (const stored of readPages(store, 'state', state)) {
      if (stored.createdAt >= before) break;
      const found = parseStored(stored);
      if (found) yield { ...found, key: stored.key };
    }
  }
}

/**
 * Deletes an order whole or not at all: without one of its payments it would count as unpaid. The order's own record is marked
 * before its payments are read for the last time. A press that claims a payment later sees the mark before it sends
 * anything, and an earlier claim is seen here.
 */
async function pruneOrder(
  records: Records,
  { id, number }: OrderMark,
  isDone: (record: JournalRecord) => boolean,
): Promise<number> {
  const { store } = records;
  const { record, version } = await readOrderRecord(store, id);
  const latest = Math.max(record.latest, number);
  let payments = await findPayments(records, id, latest, isDone);
  if (payments.length === 0) return 0;
  // Its one payment is all that there is: whatever changes it is seen by its version.
  if (version === null) return await deleteRecords(records, payments);
  const marked = await writeOrderRecord(store, { id, version }, { ...record, pruning: true });
  if (marked === null) return 0;
  payments = await findPayments(records, id, latest, isDone);
  if (payments.length === 0) return 0;
  // A press can claim only the latest one. What is left of an order still needs its own record.
  let deleted = 0;
  for (const next of [payments.slice(-1), payments.slice(0, -1)]) {
    const before = deleted;
    deleted += await deleteRecords(records, next);
    if (deleted - before < next.length) return deleted;
  }
  await deleteRecords(records, [{ key: orderRecordKey(id), version: marked }]);
  return deleted;
}

/** Returns the payments of an order, or none if one of them is not done. */
async function findPayments(
  records: Records,
  id: string,
  latest: number,
  isDone: (record: JournalRecord) => boolean,
): Promise<Deletion[]> {
  const payments: Deletion[] = [];
  for (let number = 1; ; number++) {
    const key = paymentKey(id, number);
    const found = await records.read(key);
    if (found?.record.order?.id !== id) {
      if (number >= latest) return payments;
    } else if (isDone(found.record)) payments.push({ key, version: found.version });
    else return [];
  }
}

/** What a person resolved is kept for ever, and so is a key that nobody has resolved. */
function isFinished({ state, resolutions, followUp }: JournalRecord, unfollowed: boolean): boolean {
  if (resolutions.length > 0) return false;
  if (state === 'completed') return unfollowed || followUp?.ended !== undefined;
  return state === 'not_sent' || state === 'rejected';
}

async function deleteRecords({ store }: Records, found: readonly Deletion[]): Promise<number> {
  if (found.length === 0) return 0;
  return await callStore(store, 'written', async () => (await store.delete?.(found)) ?? 0);
}
