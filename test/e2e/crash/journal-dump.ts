import { existsSync, readFileSync } from 'node:fs';
import { loadDatabase } from '../databases/load-database.ts';
import type { JournalKind } from './journal-kinds.ts';

/** Returns all that a database holds of the journal, as text: to search it for what must not be there. */
export async function dumpJournal(kind: JournalKind, place: string): Promise<string> {
  if (kind !== 'sqlite') return (await loadDatabase(kind)).dump(place);
  return [place, `${place}-wal`]
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'latin1'))
    .join('\n');
}
