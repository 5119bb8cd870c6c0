import stringWidth from 'string-width';
import { JournalError } from '../errors.ts';
import type { Journal, JournalEntry, JournalQuery, JournalState } from '../journal/journal.ts';
import { type Arguments, refuseKeys, usageError } from './arguments.ts';
import type { Run } from './config.ts';
import { COUNT_TIMEOUT, NO_KEYS, STATES } from './count.ts';
import { describeCommand, describeError, limitJournal } from './errors.ts';
import type { Screen } from './screen.ts';
import { formatAge, toJsonLine } from './text.ts';

/** How many rows are laid out at once: memory is bounded, however long the list is. */
const ROWS_OF_PAGE = 100;

/** Lists keys. A record that cannot be read might be a charge, so it counts as unresolved. */
export function prepareList(args: Arguments): Run {
  refuseKeys(args);
  const { config, json } = args.options;
  const state = parseState(args.options.state);
  const limit = parseLimit(args.options.limit);
  return async ({ journal }, screen) => {
    const { out, err, redact } = screen;
    const toLine = (entry: JournalEntry) => toJsonLine(entry, redact.recorded);
    const format = json ? (page: readonly JournalEntry[]) => page.map(toLine) : createTable(state, screen);
    try {
      const found = await printEntries(journal, { state, limit }, (page) => out.print(...format(page)));
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

/** Prints pages of entries until nothing reads them any more. */
async function printEntries(
  journal: Journal,
  { state, limit }: { state: JournalState | undefined; limit: number },
  print: (page: readonly JournalEntry[]) => Promise<boolean>,
): Promise<Found> {
  let listed = 0;
  let unresolved = 0;
  // One more than is shown tells whether there are more.
  for await (const page of readPages(journal, { state, limit: limit + 1 })) {
    const shown = page.slice(0, limit - listed);
    listed += shown.length;
    unresolved += shown.filter((entry) => entry.state === 'unknown').length;
    const isRead = await print(shown);
    if (!isRead || shown.length < page.length) return { listed, unresolved, hasMore: isRead };
  }
  return { listed, unresolved, hasMore: false };
}

/** What to do about records that this version cannot read. */
const UPGRADE =
  'A newer version of the package might have written them: install it. Until then they count as unresolved.';

function isUnreadable(error: unknown): error is JournalError {
  return error instanceof JournalError && error.outcome === 'unknown' && !error.retryable;
}

function parseState(given = 'unknown'): JournalState | undefined {
  if (given === 'all') return undefined;
  const state = STATES.find((name) => name === given);
  if (state) return state;
  throw usageError(`--state takes ${STATES.join(', ')} or all, not "${given}".`);
}

function parseLimit(limit: string | undefined): number {
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  if (/^[1-9]\d{0,8}$/.test(limit)) return Number(limit);
  throw usageError(`--limit takes a whole number from 1 on, not "${limit}".`);
}

/** Yields the entries in pages. If the journal fails, the error comes after what was read. */
async function* readPages(journal: Journal, query: JournalQuery): AsyncGenerator<JournalEntry[], void, void> {
  const entries = journal.list(query);
  const page: JournalEntry[] = [];
  try {
    for (;;) {
      const next = await limitJournal(() => entries.next());
      if (next.done) break;
      if (page.push(next.value) === ROWS_OF_PAGE) yield page.splice(0);
    }
  } catch (error) {
    if (page.length > 0) yield page;
    throw error;
  } finally {
    // It is not awaited: a database that hangs would keep it.
    entries.return().catch(() => {});
  }
  if (page.length > 0) yield page;
}

/** The key is the last column and whole, so that it can be copied. Columns only get wider from page to page. */
function createTable(state: JournalState | undefined, { out, show }: Screen) {
  const titles = ['STARTED', 'AMOUNT', ...(state === undefined ? ['STATE'] : []), 'REFERENCE', 'KEY'];
  const widths = titles.map(() => 0);
  let head: string[][] = [titles];
  const pad = (cell: string, at: number) => {
    const spaces = ' '.repeat((widths[at] ?? 0) - stringWidth(cell));
    if (titles[at] === 'KEY') return cell;
    return titles[at] === 'AMOUNT' ? spaces + cell : cell + spaces;
  };
  return (page: readonly JournalEntry[]): string[] => {
    const rows = page.map((entry) => {
      const { createdAt, amount, currency, reference = '-', key } = entry;
      const cells = [formatAge(createdAt), `${amount} ${currency}`, reference, key].map(show);
      return state === undefined ? cells.toSpliced(2, 0, show(entry.state)) : cells;
    });
    const lines = [...head, ...rows];
    for (const line of lines)
      for (const [at, cell] of line.entries()) widths[at] = Math.max(widths[at] ?? 0, stringWidth(cell));
    const formatted = lines.map((line) => line.map(pad).join('  '));
    const start = head.length;
    head = [];
    return formatted.map((line, at) => (at < start ? out.style('dim', line) : line));
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
