import type { JournalEntry } from '../journal/journal.ts';

/** Reads the entries of all payments of an order or a key, oldest first: `order 17`, `key order-17/1`. */
export async function readPayments(
  read: (name: string) => Promise<JournalEntry | null>,
  name: string,
): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for (;;) {
    const number = entries.length + 1;
    const entry = await read(namePayment(name, number));
    if (!entry) return entries;
    entries.push(entry);
  }
}

/** Returns the name of a payment. The first one of a key has the name of the key. */
export const namePayment = (name: string, number: number) =>
  number === 1 && name.startsWith('key ') ? name : `${name}/${number}`;
