import type { Journal, JournalEntry } from '../../../src/journal/index.ts';
import type { LoggedCall } from './call-log.ts';
import { createOrder } from './orders.ts';
import type { Charge, CrashService } from './service.ts';

/** How many keys the journal has in each state after a run, read through a new handle. */
export interface StateCounts {
  completed: number;
  rejected: number;
  unknown: number;
  /** Resolved as not charged, and not charged since. */
  notCharged: number;
}

interface Evidence {
  keys: number;
  service: CrashService;
  calls: readonly LoggedCall[];
}

/** Returns every key that was charged more than once, and whether different processes did it. */
export function findDoubleCharges({ keys, service }: Pick<Evidence, 'keys' | 'service'>) {
  const orders = Array.from({ length: keys }, (_, index) => createOrder(index));
  return orders
    .map(({ key }) => service.chargesFor(key))
    .filter((charges) => charges.length > 1)
    .map((charges) => ({
      key: charges[0]?.key,
      afterCrash: new Set(charges.map(({ generation }) => generation)).size > 1,
    }));
}

/** Compares the journal and the logged calls with the service's ledger. `violations` must be empty. */
export async function checkKeys(
  journal: Journal,
  evidence: Evidence,
): Promise<StateCounts & { violations: readonly string[] }> {
  const states = { completed: 0, rejected: 0, unknown: 0, notCharged: 0 };
  const violations: string[] = [];
  const callsByOrder = Map.groupBy(evidence.calls, ({ index }) => index);
  for (let index = 0; index < evidence.keys; index++) {
    const { key } = createOrder(index);
    const charges = evidence.service.chargesFor(key);
    const entry = await journal.read(key);
    countState(states, entry);
    const found = [
      ...checkRecord(entry, charges),
      ...(await checkOwner(journal, key, charges)),
      ...(callsByOrder.get(index) ?? []).flatMap((call) => checkCall(call, entry, charges)),
      charges.length > 1 && `charged ${charges.length} times`,
      !callsByOrder.get(index)?.some(({ isLast }) => isLast) && 'no worker logged a last result',
    ];
    violations.push(...found.filter((finding) => finding !== false).map((finding) => `${key}: ${finding}`));
  }
  return { ...states, violations };
}

function countState(states: StateCounts, entry: JournalEntry | null): void {
  if (entry?.state === 'completed') states.completed++;
  else if (entry?.state === 'rejected' || entry?.state === 'not_sent') states.rejected++;
  else if (entry?.state === 'not_charged') states.notCharged++;
  else states.unknown++;
}

function checkRecord(entry: JournalEntry | null, charges: readonly Charge[]): (string | false)[] {
  if (!entry) return ['the journal has no record'];
  const { state } = entry;
  const [charge] = charges;
  if (state === 'completed') {
    const { reference, amount } = entry;
    return [
      reference !== charge?.reference && `${reference} is recorded, the service has ${charge?.reference}`,
      amount !== charge?.amount && `${amount} is recorded, the service has ${charge?.amount}`,
    ];
  }
  if (state === 'begun') return ['still in progress, and no worker is left'];
  return [state !== 'unknown' && charges.length > 0 && `${state} is recorded, and there is a charge`];
}

/** A transaction that is known belongs to its key, and the key has no other payment. */
async function checkOwner(journal: Journal, key: string, charges: readonly Charge[]): Promise<string[]> {
  const other = await journal.read(`${key}/2`);
  const found = other ? [`it has another payment, ${other.reference}`] : [];
  const entry = await journal.read(key);
  for (const { reference } of entry?.state === 'completed' ? charges : []) {
    const owners: string[] = [];
    for await (const owner of journal.list({ reference })) owners.push(owner.key);
    if (owners.join() !== key) found.push(`${reference} belongs to ${owners.join() || 'no key'}`);
  }
  return found;
}

/** Compares the result of one call with the record and the charges. */
function checkCall(
  { result, reference, amount, call }: LoggedCall,
  entry: JournalEntry | null,
  charges: readonly Charge[],
): (string | false)[] {
  const [charge] = charges;
  if (result === 'completed') {
    return [
      reference !== charge?.reference && `${reference} was returned, the service has ${charge?.reference}`,
      amount !== charge?.amount && `${amount} was returned, the service has ${charge?.amount}`,
      entry?.state !== 'completed' && `a result was returned, and the record is ${entry?.state}`,
    ];
  }
  const isProof = result === 'rejected' || result === 'not_sent' || result === 'conflict';
  return [
    isProof &&
      charges.some((made) => made.call === call) &&
      `${result} was returned for a charge that exists`,
  ];
}
