import { type Arguments, refuseKeys } from './arguments.ts';
import type { Run } from './config.ts';
import { describeCommand, limitJournal } from './errors.ts';
import { toJsonLine } from './text.ts';

/** In the order in which they are shown. */
export const STATES = [
  'unknown',
  'begun',
  'completed',
  'not_sent',
  'rejected',
  'not_charged',
  'closed',
] as const;

/** What a state means, in a few words. */
export const MEANINGS: Readonly<Record<string, string>> = {
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
    const rows = STATES.map((state) => [state, counts[state] ?? 0] as const);
    if (json) {
      await out.print(toJsonLine(Object.fromEntries(rows)));
      return unknown > 0;
    }
    const numbers = rows.map(([, count]) => count.toLocaleString('en'));
    const width = Math.max(4, ...numbers.map(({ length }) => length));
    const lines = rows.map(([state, count], at) => {
      const line = `${state.padEnd(11)}  ${numbers[at]?.padStart(width)}`;
      const isAlarm = state === 'unknown' && count > 0;
      return `${isAlarm ? out.style('yellow', line) : line}  ${out.style('dim', MEANINGS[state] ?? '')}`;
    });
    const hasKeys = rows.some(([, count]) => count > 0);
    const end = hasKeys ? 'No unresolved keys.' : NO_KEYS;
    const list = `List the unresolved keys: ${describeCommand('list', config)}`;
    const head = out.style('dim', `${'STATE'.padEnd(11)}  ${'KEYS'.padStart(width)}`);
    await out.print(head, ...lines, '', unknown > 0 ? list : end);
    return unknown > 0;
  };
}
