import type { Claim } from '../../src/journal/core.ts';
import { getJournalCore } from '../../src/journal/core.ts';
import type { Journal, RecordChange } from '../../src/journal/index.ts';
import type { ChargeIntent, Completion } from '../../src/journal/record.ts';

/** The charge of these claims. */
export const chargeIntent: ChargeIntent = {
  operation: 'chargeMobileMoney',
  service: 'digest-of-the-service',
  fingerprint: 'c0ffee',
  amount: '25.50',
  currency: 'GHS',
};

/** The first write of a record, as a store gets it. */
export const change: RecordChange = {
  expected: null,
  version: 'v1',
  text: '{}',
  mustCommit: true,
  index: { kind: 'key', state: 'unknown', createdAt: 1, reference: null },
  dueIn: 0,
};

/** Claims a key that must be free. */
export async function claimKey(journal: Journal, key: string): Promise<Claim> {
  const result = await getJournalCore(journal).claim(key, chargeIntent);
  if (result.state !== 'claimed') throw new Error(`${key} is ${result.state}`);
  return result.claim;
}

/** Claims a key, whatever its state is. */
export const tryClaim = (journal: Journal, key: string) => getJournalCore(journal).claim(key, chargeIntent);

/** Claims a key that must be free, and records how its charge ended. Returns whether it was recorded. */
export async function completeKey(journal: Journal, key: string, end: Completion): Promise<boolean> {
  return getJournalCore(journal).complete(await claimKey(journal, key), end);
}

/** Counts the keys that are due. */
export const countDue = (journal: Journal) => getJournalCore(journal).followUps.countDue({ kind: 'key' });
