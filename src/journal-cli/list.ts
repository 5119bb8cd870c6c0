import type { Journal, JournalEntry, JournalState } from '../journal/journal.ts';
import type { ListCommand } from './arguments.ts';
import { COMMAND, nameConfig } from './command-line.ts';
import { limitJournal } from './limit-time.ts';
import { toJsonLine } from './printable-text.ts';
import type { Screen } from './screen.ts';
import { type Column, Table } from './table.ts';
import { formatAge } from './time.ts';

/** How many rows are laid out at once: memory is bounded, however long the list is. */
const ROWS_OF_PAGE = 100;

/** Lists keys. Returns whether one of them is unresolved. */
export async function listKeys(journal: Journal, command: ListCommand, screen: Screen): Promise<boolean> {
  const { state, limit = Number.POSITIVE_INFINITY, json, config } = command;
  const printer = json ? createJsonPrinter(screen) : createTablePrinter(state, screen);
  let listed = 0;
  let unresolved = 0;
  const page: JournalEntry[] = [];
  const printPage = async () => page.length === 0 || (await printer.print(page.splice(0)));
  let hasMore = false;
  try {
    // One more than is shown tells whether there are more.
    for await (const entry of readInTime(journal, state, limit + 1)) {
      hasMore = listed === limit;
      if (hasMore) break;
      listed++;
      if (entry.state === 'unknown') unresolved++;
      page.push(entry);
      if (page.length === ROWS_OF_PAGE && !(await printPage())) break;
    }
  } finally {
    // If some records cannot be read, the error comes after all others.
    await printPage();
  }
  const more = hasMore ? [`There are more keys than --limit ${limit}.`] : [];
  const isEmpty = listed === 0 && (state === 'all' || !(await hasKeys(journal)));
  await printer.end([isEmpty ? NO_KEYS : describeEnd(listed, unresolved, { state, config }), ...more]);
  return unresolved > 0;
}

/** A wrong path or prefix is an empty journal, in which nothing is unresolved. */
export const NO_KEYS = 'The journal has no keys at all. Is it the journal of your shop?';

async function hasKeys(journal: Journal): Promise<boolean> {
  for await (const _ of readInTime(journal, 'all', 1)) return true;
  return false;
}

async function* readInTime(
  journal: Journal,
  state: JournalState | 'all',
  limit: number,
): AsyncGenerator<JournalEntry, void, void> {
  const entries = journal.list({ state: state === 'all' ? undefined : state, limit });
  try {
    for (;;) {
      const next = await limitJournal(() => entries.next());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // It is not awaited: a database that hangs would keep it.
    entries.return().catch(() => {});
  }
}

interface Printer {
  /** Returns `false` if nothing reads the output any more. */
  print(entries: readonly JournalEntry[]): Promise<boolean>;
  end(summary: readonly string[]): Promise<unknown>;
}

function createJsonPrinter({ print, redact }: Screen): Printer {
  return {
    print: (entries) => print(...entries.map((entry) => toJsonLine(entry, redact.recorded))),
    end: async () => {},
  };
}

function createTablePrinter(state: JournalState | 'all', screen: Screen): Printer {
  let table: Table<JournalEntry> | undefined;
  return {
    print(entries) {
      table ??= new Table(screen, pickColumns(state, entries, screen));
      return screen.print(...table.format(entries));
    },
    end(summary) {
      const whole = table?.isShortened ? ['What has … in it is shortened: --json prints it whole.'] : [];
      return screen.print(...(table ? [''] : []), ...summary, ...whole);
    },
  };
}

function describeEnd(
  listed: number,
  unresolved: number,
  { state, config }: Pick<ListCommand, 'state' | 'config'>,
): string {
  if (listed === 0) return state === 'unknown' ? 'No unresolved keys.' : `No keys in the state ${state}.`;
  const keys = `${listed} ${listed === 1 ? 'key' : 'keys'}`;
  if (unresolved === 0) return `${keys}, none unresolved.`;
  if (unresolved < listed) return `${keys}, ${unresolved} unresolved.`;
  const show = [COMMAND, 'show', 'KEY', ...nameConfig(config)].join(' ');
  return `${unresolved} unresolved ${unresolved === 1 ? 'key' : 'keys'}. What to do: ${show}`;
}

function pickColumns(
  state: JournalState | 'all',
  entries: readonly JournalEntry[],
  { show }: Screen,
): Column<JournalEntry>[] {
  const now = Date.now();
  const columns: Column<JournalEntry>[] = [
    { title: 'KEY', minWidth: 16, cell: ({ key }) => show(key) },
    {
      title: 'AMOUNT',
      align: 'right',
      minWidth: 22,
      cell: ({ amount, currency }) => show(`${amount} ${currency}`),
    },
    { title: 'STARTED', minWidth: 11, cell: ({ createdAt }) => formatAge(createdAt, now) },
  ];
  if (state === 'all') columns.push({ title: 'STATE', minWidth: 11, cell: (entry) => entry.state });
  if (state === 'all' || entries.some(({ reference }) => reference !== undefined))
    columns.push({ title: 'REFERENCE', minWidth: 12, cell: ({ reference = '' }) => show(reference) });
  return columns;
}
