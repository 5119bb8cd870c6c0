import * as z from 'zod/mini';
import { ConfigurationError } from '../errors.ts';
import { isPrunable } from '../ledger/order.ts';
import { referenceOf } from '../ledger/payment.ts';
import type { LedgerRecord } from '../ledger/record.ts';
import { type OptionsShape, optionalFlag, parseOptions } from '../parse-options.ts';
import type { PruneOptions } from './journal.ts';
import type { RecordName } from './names.ts';
import { type ListedFound, missingMethodError, type Records } from './records.ts';
import { type HeldReference, releaseReferences } from './references.ts';

const A_TIME = "a Date or milliseconds since 1970: new Date('2025-11-01')";

const isValidTime = (value: unknown) => Number.isFinite(value instanceof Date ? value.getTime() : value);

const pruneOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    before: z.pipe(
      z
        .custom<Date | number>(isValidTime, {
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

const PAGE_SIZE = 100;

/** How far a right clock of a machine can be ahead of the store's, in milliseconds. */
const MAX_AHEAD = 60_000;

/**
 * Deletes the records whose latest payment began before a time, and that nothing is left to do for. An order goes whole, by its
 * one version. Returns how many.
 *
 * @throws {ConfigurationError} if `before` is no time of the past by the clocks of this machine and of the store, or the store has
 * no `list` or `delete`.
 */
export async function pruneRecords(records: Records, options: PruneOptions): Promise<number> {
  const { before, unfollowed } = parseOptions(pruneOptionsSchema, options, {
    notAnObject: `prune takes { before }, ${A_TIME}.`,
  });
  if (typeof records.store.delete !== 'function') throw missingMethodError('delete');
  let deleted = 0;
  let page: Required<ListedFound>[] = [];
  for await (const { key, at, found } of records.list('createdAt')) {
    if (before > records.now + MAX_AHEAD)
      throw new ConfigurationError(
        "before is in the future by the clock of the journal's store, because this machine's clock is ahead. " +
          `${deleted} records were deleted.`,
      );
    if (at >= before) break;
    if (!found || !isPrunable(found.record, { now: records.now, before, unfollowed })) continue;
    page.push({ key, at, found });
    if (page.length < PAGE_SIZE) continue;
    deleted += await deletePage(records, page);
    page = [];
  }
  return deleted + (await deletePage(records, page));
}

/** A record that was changed since it was listed stays. The claims of its references are void once it is gone. */
async function deletePage(records: Records, page: readonly ListedFound[]): Promise<number> {
  const unneeded = page.flatMap(({ key, found }) => (found ? [{ key, version: found.version }] : []));
  const deleted = await records.delete(unneeded);
  await releaseReferences(
    records,
    page.flatMap(({ found }) => (found ? listReferences(found.name, found.record) : [])),
  );
  return deleted;
}

/** Also those that a payment had before a person decided. */
const listReferences = (name: RecordName, { payments }: LedgerRecord): HeldReference[] =>
  payments
    .flatMap((payment) => [
      payment,
      ...payment.resolutions.map(({ replaced: { charge } }) => ({ ...payment, charge })),
    ])
    .flatMap((payment) => referenceOf(payment) ?? [])
    .map((reference) => ({ name, reference }));
