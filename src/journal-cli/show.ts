import type { Journal, JournalEntry } from '../journal/journal.ts';
import type { ShowCommand } from './arguments.ts';
import { CommandError } from './command-error.ts';
import { COMMAND } from './command-line.ts';
import { formatEntry } from './entry.ts';
import { limitJournal } from './limit-time.ts';
import { toJsonLine } from './printable-text.ts';
import type { Screen } from './screen.ts';

/** Shows what is recorded of a key, and what to do next. */
export async function showKey(journal: Journal, command: ShowCommand, screen: Screen): Promise<void> {
  const entry = await readEntry(journal, command.key);
  if (command.json) await screen.print(toJsonLine(entry, screen.redact.recorded));
  else await screen.print(...formatEntry(entry, command, screen));
}

/** @throws {CommandError} if the journal has no record of the key. */
export async function readEntry(journal: Journal, key: string): Promise<JournalEntry> {
  const entry = await limitJournal(() => journal.read(key));
  if (entry) return entry;
  throw new CommandError(
    `The journal has no record of the key "${key}".`,
    `A key is exact, also upper and lower case. ${COMMAND} list --state all shows the keys.`,
  );
}
