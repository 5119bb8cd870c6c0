import type { Journal, JournalEntry } from '../../../src/journal/index.ts';
import type { Note } from './notes.ts';
import { orderAt } from './orders.ts';
import type { Charge, CrashService } from './service.ts';

/** How the keys of a run ended, by a fresh handle on the journal. */
export interface Endings {
  completed: number;
  rejected: number;
  unknown: number;
  /** Freed by a person, and not tried again since. */
  notCharged: number;
}

interface Evidence {
  keys: number;
  service: CrashService;
  notes: readonly Note[];
}

/** Every key that was charged more than once, with the processes that did it. */
export function doubleCharges({ keys, service }: Pick<Evidence, 'keys' | 'service'>) {
  const orders = Array.from({ length: keys }, (_, index) => orderAt(index));
  return orders
    .map(({ key }) => service.chargesFor(key))
    .filter((charges) => charges.length > 1)
    .map((charges) => ({
      key: charges[0]?.key,
      afterCrash: new Set(charges.map(({ generation }) => generation)).size > 1,
    }));
}

/** Holds the journal and the workers' notes against the service's books; `untruths` has to be empty. */
export async function judge(
  journal: Journal,
  evidence: Evidence,
): Promise<Endings & { untruths: readonly string[] }> {
  const endings = { completed: 0, rejected: 0, unknown: 0, notCharged: 0 };
  const untruths: string[] = [];
  const notesOf = Map.groupBy(evidence.notes, ({ index }) => index);
  for (let index = 0; index < evidence.keys; index++) {
    const { key } = orderAt(index);
    const charges = evidence.service.chargesFor(key);
    const entry = await journal.read(key);
    count(endings, entry);
    const found = [
      ...untrueRecord(entry, charges),
      ...(notesOf.get(index) ?? []).flatMap((note) => untrueNote(note, entry, charges)),
      charges.length > 1 && `charged ${charges.length} times`,
      !notesOf.get(index)?.some(({ last }) => last) && 'no worker noted an end',
    ];
    untruths.push(...found.filter((finding) => finding !== false).map((finding) => `${key}: ${finding}`));
  }
  return { ...endings, untruths };
}

function count(endings: Endings, entry: JournalEntry | null): void {
  if (entry?.state === 'completed') endings.completed++;
  else if (entry?.state === 'rejected' || entry?.state === 'not_sent') endings.rejected++;
  else if (entry?.state === 'not_charged') endings.notCharged++;
  else endings.unknown++;
}

function untrueRecord(entry: JournalEntry | null, charges: readonly Charge[]): (string | false)[] {
  if (!entry) return ['the journal has no record'];
  const { state } = entry;
  const [charge] = charges;
  if (state === 'completed') {
    const { reference, amount } = entry.result;
    return [
      reference !== charge?.reference && `${reference} is recorded, the service has ${charge?.reference}`,
      amount !== charge?.amount && `${amount} is recorded, the service has ${charge?.amount}`,
    ];
  }
  if (state === 'begun') return ['still in progress, with no worker left'];
  return [state !== 'unknown' && charges.length > 0 && `${state} is recorded, and there is a charge`];
}

/** What a worker was told by its call. */
function untrueNote(
  { ending, reference, amount, call }: Note,
  entry: JournalEntry | null,
  charges: readonly Charge[],
): (string | false)[] {
  const [charge] = charges;
  if (ending === 'completed') {
    return [
      reference !== charge?.reference && `${reference} was returned, the service has ${charge?.reference}`,
      amount !== charge?.amount && `${amount} was returned, the service has ${charge?.amount}`,
      entry?.state !== 'completed' && `a result was returned, and the record is ${entry?.state}`,
    ];
  }
  const isProof = ending === 'rejected' || ending === 'not_sent' || ending === 'conflict';
  return [isProof && charges.some((made) => made.call === call) && `${ending} was said of a charge`];
}
