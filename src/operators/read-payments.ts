import type { JournalEntry } from '../journal/journal.ts';
import { namePayment, type RecordName } from '../journal/names.ts';

/** Returns the name by which one payment is read and resolved, whatever else has its key: `order 17/1`, `key order-17`. */
export const namePaymentOf = (name: RecordName, number: number) =>
  `${name.kind} ${namePayment(name, number)}`;

type Read = (name: string) => Promise<JournalEntry | null>;

/** Reads the entry of one payment. Of an order whose id is `order 17`, it is none of the order `17`. */
export async function readPayment(
  read: Read,
  name: RecordName,
  number: number,
): Promise<JournalEntry | undefined> {
  const entry = await read(namePaymentOf(name, number));
  return entry?.key === namePayment(name, number) ? entry : undefined;
}

/** Reads the entries of all payments of an order or a key, oldest first. */
export async function readPayments(read: Read, name: RecordName): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for (;;) {
    const entry = await readPayment(read, name, entries.length + 1);
    if (!entry) return entries;
    entries.push(entry);
  }
}
