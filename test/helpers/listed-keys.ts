import type { Journal, JournalQuery } from '../../src/stores/index.ts';

/** Returns the keys that a journal lists, in their order. */
export async function listKeys(journal: Journal, query?: JournalQuery): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of journal.list(query)) keys.push(key);
  return keys;
}
