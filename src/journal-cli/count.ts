import type { Journal, JournalState } from '../journal/journal.ts';
import { type CountCommand, STATES } from './arguments.ts';
import { COMMAND, nameConfig } from './command-line.ts';
import { limitJournal } from './limit-time.ts';
import { NO_KEYS } from './list.ts';
import { padTo, toJsonLine } from './printable-text.ts';
import type { Screen } from './screen.ts';

/** How long the journal can count, in milliseconds: a store without a count of its own reads every record. */
const COUNT_TIMEOUT = 5 * 60_000;

/** Counts the keys in each state. Returns whether one of them is unresolved. */
export async function countKeys(
  journal: Journal,
  { json, config }: CountCommand,
  screen: Screen,
): Promise<boolean> {
  // Any read shows soon whether the database is up.
  await limitJournal(() => journal.read('payment-journal'));
  const counts = await limitJournal(() => journal.count(), COUNT_TIMEOUT);
  const { unknown } = counts;
  if (json) {
    await screen.print(toJsonLine(Object.fromEntries(STATES.map((state) => [state, counts[state]]))));
    return unknown > 0;
  }
  const numbers = STATES.map((state) => counts[state].toLocaleString('en'));
  const width = Math.max(4, ...numbers.map(({ length }) => length));
  const { bold, dim, yellow } = screen.style;
  await screen.print(
    dim(`${padTo('STATE', 11)}  ${padTo('KEYS', width, 'right')}`),
    ...STATES.map((state, at) => {
      const line = `${padTo(state, 11)}  ${padTo(numbers[at] ?? '', width, 'right')}`;
      const isAlarm = state === 'unknown' && unknown > 0;
      return `${isAlarm ? bold(yellow(line)) : line}  ${dim(MEANINGS[state])}`;
    }),
    '',
    describeTotal(counts, config),
  );
  return unknown > 0;
}

function describeTotal(counts: Readonly<Record<JournalState, number>>, config: string | undefined): string {
  if (counts.unknown > 0)
    return `List the unresolved keys: ${[COMMAND, 'list', ...nameConfig(config)].join(' ')}`;
  return STATES.every((state) => counts[state] === 0) ? NO_KEYS : 'No unresolved keys.';
}

/** What a state means, in a few words. */
export const MEANINGS: Readonly<Record<JournalState, string>> = {
  unknown: 'unresolved: a charge might exist',
  begun: 'in progress: a process is charging now',
  completed: 'its transaction is known',
  not_sent: 'nothing was sent: no charge exists',
  rejected: 'the service refused it: no charge exists',
  not_charged: 'a person resolved it: no charge exists',
};
