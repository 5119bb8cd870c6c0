import { JournalError } from '../errors.ts';
import type { Journal, JournalEntry, JournalState } from '../journal/journal.ts';
import { type Arguments, refuseKeys, usageError } from './arguments.ts';
import type { Run } from './config.ts';
import { COUNT_TIMEOUT, MEANINGS, NO_KEYS } from './count.ts';
import { describeCommand, describeError, limitJournal } from './errors.ts';
import type { Screen } from './screen.ts';
import { formatAge, toJsonLine } from './text.ts';

/** Lists keys. A record that cannot be read might be a charge, so it counts as unresolved. */
export function prepareList(args: Arguments): Run {
  refuseKeys(args);
  const { config, json } = args.options;
  const state = parseState(args.options.state);
  const limit = parseLimit(args.options.limit);
  return async ({ journal }, screen) => {
    const { out, err, redact } = screen;
    const format = json
      ? (entry: JournalEntry) => [toJsonLine(entry, redact.recorded)]
      : createFormat(state === undefined, screen);
    try {
      const found = await printEntries(journal, { state, limit }, (entry) => out.print(...format(entry)));
      const { hasUnresolved, lines } = await describeEnd(journal, found, state ?? 'all', config);
      const more = found.hasMore ? [`There are more keys than --limit ${limit}.`] : [];
      if (!json) await out.print(...lines, ...more);
      return hasUnresolved;
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      await err.print(...describeError(error, redact), UPGRADE);
      return true;
    }
  };
}

interface Found {
  readonly listed: number;
  readonly unresolved: number;
  /** Whether there are more keys than the limit. */
  readonly hasMore: boolean;
}

/** Prints entries until nothing reads them any more. */
async function printEntries(
  journal: Journal,
  { state, limit }: { state: JournalState | undefined; limit: number },
  print: (entry: JournalEntry) => Promise<boolean>,
): Promise<Found> {
  // One more than is shown tells whether there are more.
  const entries = journal.list({ state, limit: limit + 1 });
  let listed = 0;
  let unresolved = 0;
  try {
    for (;;) {
      const { value } = await limitJournal(() => entries.next());
      const hasMore = value !== undefined && listed === limit;
      if (!value || hasMore) return { listed, unresolved, hasMore };
      listed += 1;
      if (value.state === 'unknown') unresolved += 1;
      if (!(await print(value))) return { listed, unresolved, hasMore };
    }
  } finally {
    // It is not awaited: a database that hangs would keep it.
    entries.return().catch(() => {});
  }
}

/** What to do about records that this version cannot read. */
const UPGRADE =
  'A newer version of the package might have written them: install it. Until then they count as unresolved.';

function isUnreadable(error: unknown): error is JournalError {
  return error instanceof JournalError && error.outcome === 'unknown' && !error.retryable;
}

function parseState(given = 'unknown'): JournalState | undefined {
  if (given === 'all') return undefined;
  if (isState(given)) return given;
  throw usageError(`--state takes ${Object.keys(MEANINGS).join(', ')} or all, not "${given}".`);
}

const isState = (name: string): name is JournalState => Object.hasOwn(MEANINGS, name);

function parseLimit(limit: string | undefined): number {
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  if (/^[1-9]\d{0,8}$/.test(limit)) return Number(limit);
  throw usageError(`--limit takes a whole number from 1 on, not "${limit}".`);
}

/** Returns what formats an entry as a line, with a head before the first one. The key is last and whole, to be copied. */
function createFormat(hasState: boolean, { out, show }: Screen) {
  const format = ({ started, amount, state, reference, key }: Readonly<Record<string, string>>) => {
    const states = hasState ? [state?.padEnd(11)] : [];
    return [started?.padEnd(10), amount?.padStart(14), ...states, reference?.padEnd(16), key].join('  ');
  };
  const titles = { started: 'STARTED', amount: 'AMOUNT', state: 'STATE', reference: 'REFERENCE', key: 'KEY' };
  let head = [out.style('dim', format(titles))];
  return ({ createdAt, amount, currency, state, reference = '-', key }: JournalEntry): string[] => {
    const cells = { amount: show(`${amount} ${currency}`), state: show(state), reference: show(reference) };
    const lines = [...head, format({ started: formatAge(createdAt), ...cells, key: show(key) })];
    head = [];
    return lines;
  };
}

interface End {
  readonly hasUnresolved: boolean;
  readonly lines: readonly string[];
}

async function describeEnd(
  journal: Journal,
  { listed, unresolved, hasMore }: Found,
  state: string,
  config: string | undefined,
): Promise<End> {
  if (unresolved === 0 && !hasMore && (state === 'unknown' || state === 'all')) {
    // A record of a newer version can be in a state that this version does not know, so that no list has it.
    const counts = await limitJournal(() => journal.count(), COUNT_TIMEOUT);
    if (counts.unknown > 0)
      return {
        hasUnresolved: true,
        lines: [`Unresolved keys that cannot be listed: ${counts.unknown}.`, UPGRADE],
      };
    if (Object.values(counts).every((count) => count === 0))
      return { hasUnresolved: false, lines: [NO_KEYS] };
  }
  const hasUnresolved = unresolved > 0;
  if (listed === 0)
    return {
      hasUnresolved,
      lines: [state === 'unknown' ? 'No unresolved keys.' : `No keys in the state ${state}.`],
    };
  const keys = listed === 1 ? 'key' : 'keys';
  const isEach = unresolved === listed;
  const end = isEach
    ? `${listed} unresolved ${keys}. What to do: ${describeCommand('show KEY', config)}`
    : `${listed} ${keys}, ${hasUnresolved ? unresolved : 'none'} unresolved.`;
  return { hasUnresolved, lines: ['', end] };
}
