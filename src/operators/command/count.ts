import { toJsonLine } from '../../ui/text.ts';
import { type Arguments, refuseKeys } from './arguments.ts';
import type { Run } from './config.ts';
import { describeCommand, limitJournal } from './errors.ts';

/** How long the journal can count, in milliseconds: a store without a count of its own reads every record. */
export const COUNT_TIMEOUT = 5 * 60_000;

/** A wrong path or prefix is an empty journal, in which nothing needs a person. */
export const IS_EMPTY = 'The journal is empty. Is it the journal of your shop?';
export const NOTHING_NEEDED = 'Nothing needs a person.';

export function prepareCount(args: Arguments): Run {
  refuseKeys(args);
  const { config, json } = args.options;
  return async ({ journal }, { out }) => {
    // Any read shows soon whether the database is up.
    await limitJournal(() => journal.read('payment-journal'));
    const { records, attention } = await limitJournal(() => journal.count(), COUNT_TIMEOUT);
    const hasItems = attention > 0;
    if (json) {
      await out.print(toJsonLine({ records, attention }));
      return hasItems;
    }
    const counts = [records, attention].map((count) => count.toLocaleString('en'));
    const width = Math.max(...counts.map(({ length }) => length));
    const [all, needed] = counts.map((count) => count.padStart(width));
    const line = `Need a person    ${needed}`;
    const end = hasItems ? `List them: ${describeCommand('list', config)}` : NOTHING_NEEDED;
    await out.print(
      `Orders and keys  ${all}`,
      hasItems ? out.style('yellow', line) : line,
      '',
      records === 0 ? IS_EMPTY : end,
    );
    return hasItems;
  };
}
