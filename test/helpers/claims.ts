import { Attempt, type AttemptFacts, type RequestOutcome } from '../../src/journal/attempt.ts';
import { getRecords } from '../../src/journal/core.ts';
import type { Found } from '../../src/journal/records.ts';
import { type Ask, type Owner, press } from '../../src/ledger/press.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import type { Journal, RecordChange } from '../../src/stores/index.ts';
import { readClocks } from '../../src/support/timing.ts';

/** What these claims ask for. */
const chargeAsk: Omit<Ask, 'attempt'> = {
  operation: 'chargeMobileMoney',
  fingerprint: 'c0ffee',
  amount: '25.50',
  currency: 'GHS',
  network: 'mtn',
  phone: undefined,
  schedule: { initialDelay: 8_000, minDelay: 3_000, maxDelay: 15_000, timeout: 600_000 },
  finalStatuses: ['success', 'failed', 'abandoned'],
};

/** The first write of a record, as a store gets it. */
export const change: RecordChange = {
  expected: null,
  version: 'v1',
  text: '{}',
  mustCommit: true,
  index: { kind: 'key', createdAt: 1, attentionAt: null, dueAt: 1 },
};

/** An attempt that was claimed, and its record. */
export interface ClaimedKey {
  readonly facts: AttemptFacts;
  readonly found: Found;
}

/** What a claim asks for, and whose it is: a key of the test's service, unless it says something else. */
type Claimed = Partial<Ask> & Partial<Owner>;

/** Claims a key or an order that must be free. */
export async function claimKey(
  journal: Journal,
  key: string,
  { service = 'digest-of-the-service', kind = 'key', ...asked }: Claimed = {},
): Promise<ClaimedKey> {
  const records = getRecords(journal);
  const name = { kind, id: key };
  const owner = { kind, service };
  const ask = { ...chargeAsk, attempt: crypto.randomUUID(), requestId: crypto.randomUUID(), ...asked };
  const { decision, found } = await records.change(name, (before, now) =>
    press(before, owner, { ask, lease: records.lease, since: now, now, startAnother: false }),
  );
  if (decision.do !== 'send') throw new Error(`${key} cannot be claimed: ${decision.do}`);
  return { facts: { name, owner, ask }, found };
}

/** Records how the charge of a claim ended. */
export async function completeClaim(
  journal: Journal,
  { facts, found }: ClaimedKey,
  outcome: RequestOutcome,
): Promise<LedgerRecord | null> {
  return await new Attempt(getRecords(journal), facts, found, readClocks()).record(outcome);
}

/** Claims a key that must be free, and records how its charge ended. */
export async function completeKey(
  journal: Journal,
  key: string,
  outcome: RequestOutcome,
  asked: Claimed = {},
): Promise<LedgerRecord | null> {
  return await completeClaim(journal, await claimKey(journal, key, asked), outcome);
}

/** Returns the outcome of a charge that was made. */
export const made = (reference: string): RequestOutcome => ({
  is: 'made',
  result: { reference, amount: '25.50', currency: 'GHS', status: 'processing' },
});

/** Counts the keys that are due. */
export const countDue = (journal: Journal) => getRecords(journal).countDue('key');
