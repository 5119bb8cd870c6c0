import type { JournalState } from '../journal/journal.ts';
import { type Arguments, refuseKeys } from './arguments.ts';
import type { Run } from './config.ts';
import { describeCommand, limitJournal } from './errors.ts';
import { toJsonLine } from './text.ts';

/** What each state means, in a few words, in the order in which they are shown. */
export const MEANINGS: Readonly<Record<JournalState, string>> = {
  unknown: 'unresolved: a charge might exist',
  begun: 'in progress: a process is charging now',
  completed: 'its transaction is known',
  not_sent: 'nothing was sent: no charge exists',
  rejected: 'the service refused it: no charge exists',
  not_charged: 'a person resolved it: no charge exists',
  closed: 'a person dealt with the payment: never charged again',
};

/** How long the journal can count, in milliseconds: a store without a count of its own reads every record. */
export const COUNT_TIMEOUT = 5 * 60_000;

/** A wrong path or prefix is an empty journal, in which nothing is unresolved. */
export const NO_KEYS = 'The journal has no keys at all. Is it the journal of your shop?';

/** Counts the keys in each state. */
export function prepareCount(args: Arguments): Run {
  refuseKeys(args);
  const { config, json } = args.options;
  return async ({ journal }, { out }) => {
    // Any read shows soon whether the database is up.
    await limitJournal(() => journal.read('payment-journal'));
    const counts: Readonly<Record<string, number>> = await limitJournal(() => journal.count(), COUNT_TIMEOUT);
    const { unknown = 0 } = counts;
    const rows = Object.entries(MEANINGS).map(([state, meaning]) => ({
      state,
      meaning,
      count: counts[state] ?? 0,
    }));
    if (json) {
      await out.print(toJsonLine(Object.fromEntries(rows.map(({ state, count }) => [state, count]))));
      return unknown > 0;
    }
    const width = Math.max(4, ...rows.map(({ count }) => count.toLocaleString('en').length));
    const format = (state: string, keys: string) => `${state.padEnd(11)}  ${keys.padStart(width)}`;
    const lines = rows.map(({ state, meaning, count }) => {
      const line = format(state, count.toLocaleString('en'));
      const isAlarm = state === 'unknown' && count > 0;
      return `${isAlarm ? out.style('yellow', line) : line}  ${out.style('dim', meaning)}`;
    });
    const list = `List the unresolved keys: ${describeCommand('list', config)}`;
    const end = rows.some(({ count }) => count > 0) ? 'No unresolved keys.' : NO_KEYS;
    await out.print(out.style('dim', format('STATE', 'KEYS')), ...lines, '', unknown > 0 ? list : end);
    return unknown > 0;
  };
}
