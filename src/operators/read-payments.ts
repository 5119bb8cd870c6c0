import type { JournalEntry } from '../journal/journal.ts';
import { namePayment, type RecordName } from '../journal/names.ts';

/** Returns the name by which one payment is read and resolved, whatever else has its key: `order 17/1`, `key order-17`. */
export const namePaymentOf = (name: RecordName, number: number) =>
  `${name.kind} ${namePayment(name, number)}`;

/** Reads the entries of all payments of an order or a key, oldest first. */
export async function readPayments(
  read: (name: string) => Promise<JournalEntry | null>,
  name: RecordName,
): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for (;;) {
    const entry = await read(namePaymentOf(name, entries.length + 1));
    if (!entry) return entries;
    entries.push(entry);
  }
}
