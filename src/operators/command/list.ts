import { JournalError } from '../../errors.ts';
import type { AttentionItem, Journal, JournalEntry, JournalState } from '../../journal/journal.ts';
import type { Screen } from '../../ui/screen.ts';
import { formatAge, toJsonLine } from '../../ui/text.ts';
import { STATES } from '../words.ts';
import { type Arguments, refuseKeys, usageError } from './arguments.ts';
import type { Run } from './config.ts';
import { COUNT_TIMEOUT, IS_EMPTY, NOTHING_NEEDED } from './count.ts';
import { describeCommand, describeError, limitJournal } from './errors.ts';

/** What needs a person, or a payment in the state that was asked for. */
type Listed = AttentionItem | JournalEntry;

/** Lists what needs a person, or the payments in a state. A record that cannot be read might be a charge, so it needs one. */
export function prepareList(args: Arguments): Run {
  refuseKeys(args);
  const { config, json, state } = args.options;
  const list = prepareQuery(state);
  const limit = parseLimit(args.options.limit);
  return async ({ journal }, screen) => {
    const { out, err, redact } = screen;
    const format = json
      ? (item: Listed) => [toJsonLine(item, redact.recorded)]
      : createFormat(state === undefined, screen);
    try {
      const found = await printItems(list(journal, limit + 1), limit, (item) => out.print(...format(item)));
      if (!json) await out.print(...(await describeListEnd(journal, found, state, config)));
      if (!json && found.hasMore) await out.print(`There are more than --limit ${limit}.`);
      return found.needed > 0;
    } catch (error) {
      if (!isUnreadableRecord(error)) throw error;
      await err.print(...describeError(error, redact), UPGRADE);
      return true;
    }
  };
}

/** One more than is shown tells whether there are more. */
function prepareQuery(given: string | undefined) {
  if (given === undefined) return (journal: Journal, limit: number) => journal.listAttention({ limit });
  const state = given === 'all' ? undefined : given;
  if (state !== undefined && !isState(state))
    throw usageError(`--state takes ${Object.keys(STATES).join(', ')} or all, not "${given}".`);
  return (journal: Journal, limit: number) => journal.list({ state, limit });
}

const isState = (name: string): name is JournalState => Object.hasOwn(STATES, name);

function parseLimit(limit: string | undefined): number {
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  if (/^[1-9]\d{0,8}$/.test(limit)) return Number(limit);
  throw usageError(`--limit takes a whole number from 1 on, not "${limit}".`);
}

interface ListedCount {
  readonly listed: number;
  /** How many of them need a person. */
  readonly needed: number;
  readonly hasMore: boolean;
}

async function printItems(
  items: AsyncGenerator<Listed, void, void>,
  limit: number,
  print: (item: Listed) => Promise<boolean>,
): Promise<ListedCount> {
  let listed = 0;
  let needed = 0;
  try {
    for (;;) {
      const { value } = await limitJournal(() => items.next());
      const hasMore = value !== undefined && listed === limit;
      if (!value || hasMore) return { listed, needed, hasMore };
      listed += 1;
      if ('reason' in value || value.attention !== undefined) needed += 1;
      if (!(await print(value))) return { listed, needed, hasMore };
    }
  } finally {
    // It is not awaited: a database that hangs would keep it.
    items.return().catch(() => {});
  }
}

/** What to do about records that this version cannot read. */
const UPGRADE =
  'A newer version of the package might have written them: install it. Until then they need a person.';

function isUnreadableRecord(error: unknown): error is JournalError {
  return error instanceof JournalError && error.outcome === 'unknown' && !error.retryable;
}

type Cells = Readonly<Record<'time' | 'amount' | 'word' | 'reference' | 'key', string>>;

/** Returns what formats an item as a line, with a head before the first one. The key is last and whole, to be copied. */
function createFormat(isAttention: boolean, { out, show }: Screen) {
  const format = ({ time, amount, word, reference, key }: Cells) =>
    [time.padEnd(10), amount.padStart(14), word.padEnd(16), reference.padEnd(16), key].join('  ');
  const [time, word] = isAttention ? ['SINCE', 'REASON'] : ['STARTED', 'STATE'];
  let head = [out.style('dim', format({ time, amount: 'AMOUNT', word, reference: 'REFERENCE', key: 'KEY' }))];
  return (item: Listed): string[] => {
    const [at, word] = 'reason' in item ? [item.since, item.reason] : [item.createdAt, item.state];
    const { amount, currency, reference = '-', key } = item;
    const line = format({
      time: formatAge(at),
      amount: show(`${amount} ${currency}`),
      word: show(word),
      reference: show(reference),
      key: show(key),
    });
    const lines = [...head, line];
    head = [];
    return lines;
  };
}

async function describeListEnd(
  journal: Journal,
  { listed, needed }: ListedCount,
  state: string | undefined,
  config: string | undefined,
): Promise<string[]> {
  if (listed === 0) {
    const { records } = await limitJournal(() => journal.count(), COUNT_TIMEOUT);
    if (records === 0) return [IS_EMPTY];
    return [state === undefined ? NOTHING_NEEDED : `No payments in the state ${state}.`];
  }
  const payments = listed === 1 ? '1 payment' : `${listed} payments`;
  if (state !== undefined)
    return [
      '',
      `${payments}, ${needed === 0 ? 'none' : needed} of which ${needed === 1 ? 'needs' : 'need'} a person.`,
    ];
  const need = listed === 1 ? 'needs' : 'need';
  return ['', `${payments} ${need} a person. What to do: ${describeCommand('show KEY', config)}`];
}
