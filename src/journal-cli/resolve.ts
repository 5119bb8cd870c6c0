import { isSameAmount } from '../api/money.ts';
import type { JournalEntry } from '../journal/journal.ts';
import type { ResolveCommand } from './arguments.ts';
import { CommandError } from './command-error.ts';
import { COMMAND } from './command-line.ts';
import type { Config } from './config.ts';
import { formatFacts } from './entry.ts';
import { limitTime } from './limit-time.ts';
import { AFTER_NOT_CHARGED } from './next-steps.ts';
import { toJsonLine } from './printable-text.ts';
import type { Screen } from './screen.ts';
import { readEntry } from './show.ts';

/** How long a resolution can take, in milliseconds: it reads and writes the journal, and asks the service with retries. */
const RESOLVE_TIMEOUT = 3 * 60_000;

/**
 * Resolves a key as a person found it out. Without a charge the person confirms it by typing the amount.
 *
 * @throws {CommandError} if it is not confirmed. Nothing was changed.
 */
export async function resolveKey(
  { payments, journal }: Config,
  command: ResolveCommand,
  screen: Screen,
): Promise<void> {
  const { key, resolution, by, reason } = command;
  if (resolution === 'not_charged' && !command.yes && !screen.canAsk) {
    throw new CommandError(
      '--not-charged has to be confirmed, and there is no terminal to ask at. Nothing was changed.',
      `Read the entry with ${COMMAND} show, then add --yes.`,
    );
  }
  const before = await readEntry(journal, key);
  if (resolution === 'not_charged' && !command.yes) await confirmNotCharged(before, screen);
  // What another person resolved meanwhile is not overruled by a decision that was made before.
  const note = { by, reason, resolutionsSeen: before.resolutions.length };
  const entry = await limitTime('The resolution', () => payments.resolve(key, resolution, note), {
    timeout: RESOLVE_TIMEOUT,
    advice: `It might have been recorded. Run ${COMMAND} show with this key.`,
  });
  const isNew = entry.resolutions.length > before.resolutions.length;
  if (command.json) await screen.print(toJsonLine(entry, screen.redact.recorded));
  else await screen.print(...describeResolved(entry, isNew, screen));
}

async function confirmNotCharged(entry: JournalEntry, screen: Screen): Promise<void> {
  const { amount, currency, operation } = entry;
  const { note, show, noteStyle } = screen;
  const what = operation === 'chargeMobileMoney' ? 'charge' : 'payment';
  await note(
    ...formatFacts(entry, { show, style: noteStyle }),
    '',
    noteStyle.yellow(`Do not go on if such a ${what} might exist: the customer could then pay twice.`),
  );
  const typed = await screen.ask(
    `To confirm that no ${what} exists, type its amount (${show(`${amount} ${currency}`)}): `,
  );
  const given = (typed ?? '').trim();
  if (/^[\d.]+$/.test(given) && isSameAmount(given, amount)) return;
  const why = typed === null || given === '' ? 'No amount was typed.' : 'That is not the amount.';
  throw new CommandError(`${why} Nothing was changed.`);
}

function describeResolved(entry: JournalEntry, isNew: boolean, { show, style }: Screen): string[] {
  const { key, state, reference, amount, currency } = entry;
  if (!isNew) return [`${show(key)} is resolved so already. Nothing was changed.`];
  const done = style.green('Resolved:');
  if (state === 'not_charged')
    return [`${done} ${show(key)} was not charged. Open its order again in your shop.`, AFTER_NOT_CHARGED];
  return [
    `${done} ${show(key)} is ${show(`${reference ?? ''}, ${amount} ${currency}`)}.`,
    'To learn whether it is paid, verify the reference, or let a follow-up do it.',
  ];
}
