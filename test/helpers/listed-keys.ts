import { getRecords } from '../../src/journal/core.ts';
import type { Journal, JournalQuery } from '../../src/journal/index.ts';

/** Returns the keys that a journal lists, in their order. */
export async function listKeys(journal: Journal, query?: JournalQuery): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of journal.list(query)) keys.push(key);
  return keys;
}

/** Claims what is due, and returns the keys whose records can be read, in their order. */
export async function claimDueKeys(
  journal: Journal,
  { limit = 1_000, lease = 60_000 } = {},
): Promise<string[]> {
  const claimed = await getRecords(journal).claimDue({ kind: 'key', limit, lease });
  return claimed.flatMap(({ found }) => (found ? [found.name.id] : []));
}
