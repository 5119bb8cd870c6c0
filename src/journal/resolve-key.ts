/**
 * Resolves a key whose outcome is unknown, as a person found it out. One payment must not pay for two orders, so a
 * reference belongs to one key: what is recorded is searched, and a record of the journal's own reserves the reference.
 * The reservation is made first, and read again at the end: of two persons at once, at most one succeeds.
 */

import * as z from 'zod/mini';
import { JournalError, quoteKey } from '../errors.ts';
import { redactReference } from '../redact.ts';
import {
  newVersion,
  parseStored,
  type Records,
  readOwn,
  retryCas,
  type VersionedRecord,
  writeOwn,
} from './compare-and-swap.ts';
import { findByReference } from './find-by-reference.ts';
import { readPages } from './list.ts';
import { type JournalRecord, namesReference } from './record.ts';
import { applyResolution, type Resolution, type ResolutionNote, validateResolution } from './resolution.ts';
import type { JournalStore } from './store.ts';

/** @throws {JournalError} if there is no such key, if it is in progress, or if the record contradicts the resolution. */
export async function resolveKey(
  records: Records,
  key: string,
  resolution: Resolution,
  note: ResolutionNote,
): Promise<void> {
  const valid = validateResolution(resolution, note);
  const reference = typeof valid.resolution === 'string' ? undefined : valid.resolution.reference;
  let seen = valid.resolutionsSeen;
  await retryCas(async () => {
    const found = await readResolvable(records, key);
    const record = applyResolution(found.record, valid);
    if (!record) return await confirmResolved(records, key, reference);
    seen ??= found.record.resolutions.length;
    if (found.record.resolutions.length !== seen) throw resolvedByOtherError(found.record);
    if (reference !== undefined) {
      await assertNotBeingCharged(records, key, found.record);
      await reserveReference(records, key, reference);
    }
    return await writeResolution(records, { key, found, record, reference });
  });
}

/** Returns `undefined` if the record was changed meanwhile. */
async function writeResolution(
  records: Records,
  {
    key,
    found,
    record,
    reference,
  }: { key: string; found: VersionedRecord; record: JournalRecord; reference: string | undefined },
): Promise<true | undefined> {
  const version = newVersion(crypto.randomUUID());
  const dueIn = record.state === 'completed' ? 0 : null;
  const write = { expected: found.version, version, mustCommit: false, dueIn };
  if (!(await records.write(key, record, write))) return undefined;
  if (reference !== undefined && (await readReservation(records.store, reference))?.key !== key) {
    const undo = { expected: version, version: newVersion(crypto.randomUUID()), mustCommit: false };
    await records.write(key, found.record, { ...undo, dueIn: 0 });
    throw otherKeyError(reference);
  }
  return true;
}

async function readResolvable(records: Records, key: string): Promise<VersionedRecord> {
  const found = await records.read(key);
  if (!found) throw new JournalError('The journal has no record of this key.');
  if (!records.isInProgress(found)) return found;
  throw new JournalError('A process is charging under this key now: resolve it once that has ended.', {
    retryable: true,
  });
}

/** No person can have found a charge sooner after its call began, in milliseconds. */
const MIN_HUMAN_DELAY = 5_000;

/**
 * The transaction that a person found might be that of a call whose response is still on its way.
 *
 * @throws {JournalError} if a charge of the same amount has been in progress for long.
 */
async function assertNotBeingCharged(
  records: Records,
  key: string,
  { amount, currency }: JournalRecord,
): Promise<void> {
  if (typeof records.store.list !== 'function') return;
  const since = Date.now() - MIN_HUMAN_DELAY;
  for await (const stored of readPages(records.store, 'state', 'begun')) {
    const found = parseStored(stored);
    if (!found || stored.key === key || !records.isInProgress(found)) continue;
    const { record } = found;
    if (record.createdAt > since || record.amount !== amount || record.currency !== currency) continue;
    throw new JournalError(
      `${quoteKey(redactReference(stored.key))} is being charged with the same amount: the transaction might be its own. ` +
        'Nothing was changed. Resolve again in a minute.',
      { retryable: true },
    );
  }
}

async function writeReservation(
  store: JournalStore,
  reference: string,
  { expected, ...holders }: { key: string; others: readonly string[]; expected: string | null },
): Promise<boolean> {
  const write = { expected, mustCommit: false };
  return (await writeOwn(store, reservationKey(reference), { format: 1, ...holders }, write)) !== null;
}

/** @throws {JournalError} if the reference is recorded under another key. */
async function reserveReference(records: Records, key: string, reference: string): Promise<void> {
  await assertNotRecorded(records, key, reference);
  await retryCas(async () => {
    const reservation = await readReservation(records.store, reference);
    const others = (reservation?.keys ?? []).filter((other) => other !== key);
    await assertNoneNames(records, others, reference);
    if (reservation?.key === key) return true;
    const expected = reservation?.version ?? null;
    if (!(await writeReservation(records.store, reference, { key, others, expected }))) return undefined;
    // Another key might have been resolved with it after it was read here, and before the reservation was taken over.
    await assertNoneNames(records, others, reference);
    return true;
  });
}

/**
 * Confirms that a key is resolved so already. Its reservation is written again, so that no call in progress can take it over
 * and undo the resolution. Returns `undefined` if another key has it: one of both is about to be undone.
 */
async function confirmResolved(
  { store }: Records,
  key: string,
  reference: string | undefined,
): Promise<true | undefined> {
  const reservation = reference === undefined ? null : await readReservation(store, reference);
  // The service itself returned the reference: no person reserved it.
  if (reference === undefined || !reservation) return true;
  if (reservation.key !== key) return undefined;
  const others = reservation.keys.filter((other) => other !== key);
  const isKept = await writeReservation(store, reference, { key, others, expected: reservation.version });
  return isKept ? true : undefined;
}

async function assertNotRecorded({ store }: Records, key: string, reference: string): Promise<void> {
  // A store of one's own might not list. The reservations still keep two persons apart.
  if (typeof store.list !== 'function') return;
  const other = (await findByReference(store, reference)).find((found) => found.key !== key);
  if (other) throw otherKeyError(reference, other.key);
}

async function assertNoneNames(records: Records, keys: readonly string[], reference: string): Promise<void> {
  for (const key of keys) {
    const found = await records.read(key);
    if (found && namesReference(found.record, reference)) throw otherKeyError(reference, key);
  }
}

/** No caller's key has a control character. */
const reservationKey = (reference: string) => `\treference ${reference.toLowerCase()}`;

const reservationSchema = z.object({
  format: z.literal(1),
  key: z.string(),
  /** The keys that had the reservation before. */
  others: z.optional(z.array(z.string())),
});

async function readReservation(
  store: JournalStore,
  reference: string,
): Promise<{ key: string; keys: readonly string[]; version: string } | null> {
  const unreadable = () =>
    new JournalError('The record of who resolved with this reference cannot be read. Nothing was changed.');
  const found = await readOwn(store, reservationKey(reference), reservationSchema, unreadable);
  if (!found) return null;
  const { key, others = [] } = found.value;
  return { key, keys: [key, ...others], version: found.version };
}

/** The person decided on what was recorded before. */
function resolvedByOtherError({ resolutions }: JournalRecord): JournalError {
  const by = resolutions.at(-1)?.by ?? 'another person';
  return new JournalError(
    `This key was resolved meanwhile by ${by.slice(0, 60)}. Nothing was changed. Read its entry again.`,
  );
}

function otherKeyError(reference: string, key?: string): JournalError {
  const which = key === undefined ? 'another key' : `the key ${quoteKey(redactReference(key))}`;
  return new JournalError(
    `${redactReference(reference)} is recorded under ${which}: one payment cannot pay for two orders. Nothing was changed.`,
  );
}
