/**
 * Each reference of a transaction belongs to one order or key: a record of its own claims it, before anything else counts on
 * it. There is no index of references.
 */

import * as z from 'zod/mini';
import { JournalError } from '../errors.ts';
import { isClaimVoid } from '../ledger/order.ts';
import { parseJson } from '../support/untrusted.ts';
import { parseStoreKey, type RecordName, toReferenceKey, toStoreKey } from './names.ts';
import { MAX_ROUNDS, overtakenError, type Records } from './records.ts';
import type { RecordChange, StoredRecord } from './store.ts';

const claimSchema = z.object({
  format: z.literal(1),
  /** The key of the record that has the reference. */
  owner: z.string(),
});

/**
 * Claims a reference for a record. A claim that it has already is written anew, and a void one is taken over. `false`: another
 * order or key has it.
 */
export async function claimReference(
  records: Records,
  name: RecordName,
  reference: string,
): Promise<boolean> {
  const key = toReferenceKey(reference);
  const own = toStoreKey(name);
  const text = JSON.stringify({ format: 1, owner: own });
  let expected: string | null = null;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const change: RecordChange = {
      expected,
      version: crypto.randomUUID(),
      text,
      mustCommit: true,
      index: null,
    };
    if (await records.compareAndSwap(key, change)) return true;
    const { record } = await records.readStored(key);
    if (record?.version === change.version) return true;
    if (record && !(await isFree(records, record, reference, own))) return false;
    expected = record?.version ?? null;
  }
  throw overtakenError();
}

const readOwner = (claim: StoredRecord | null) => claimSchema.safeParse(parseJson(claim?.text)).data?.owner;

/** Whether a claim can be replaced: it is the record's own, or void. */
async function isFree(
  records: Records,
  claim: StoredRecord,
  reference: string,
  own: string,
): Promise<boolean> {
  const owner = readOwner(claim);
  if (owner === own) return true;
  const name = owner === undefined ? undefined : parseStoreKey(owner);
  if (name === undefined) return false;
  try {
    return isClaimVoid((await records.read(name)).record, reference);
  } catch (error) {
    // What cannot be read might hold it.
    if (error instanceof JournalError && error.outcome === 'unknown') return false;
    throw error;
  }
}

export async function findOwner(records: Records, reference: string): Promise<RecordName | undefined> {
  const { record } = await records.readStored(toReferenceKey(reference));
  const owner = readOwner(record);
  return owner === undefined ? undefined : parseStoreKey(owner);
}

export interface HeldReference {
  readonly name: RecordName;
  readonly reference: string;
}

/** Deletes the claims of references that their records do not hold any more. */
export async function releaseReferences(records: Records, held: readonly HeldReference[]): Promise<void> {
  const claims = await Promise.all(held.map((each) => findVoidClaim(records, each)));
  await records.delete(claims.filter((claim) => claim !== undefined));
}

async function findVoidClaim(records: Records, { name, reference }: HeldReference) {
  const key = toReferenceKey(reference);
  const { record: claim } = await records.readStored(key);
  if (!claim || readOwner(claim) !== toStoreKey(name)) return undefined;
  const { record } = await records.read(name);
  return isClaimVoid(record, reference) ? { key, version: claim.version } : undefined;
}
