import { transactionStatuses } from '../../api/transaction.ts';
import { type Entry, failures, keyModes } from '../service/ledger.ts';

/** What the dashboard and the API for scripts show of all transactions. What is missing or empty does not restrict it. */
export type TransactionFilter = {
  /** Words, all of which a transaction must have. */
  readonly search?: string | undefined;
  /** A status, or the reason of a `failed` one. */
  readonly status?: string | undefined;
  readonly mode?: string | undefined;
  /** The reference of a transaction: only older ones. */
  readonly before?: string | undefined;
};

export interface FoundTransactions {
  /** Newest first. */
  readonly entries: readonly Entry[];
  /** How many there are on all pages. */
  readonly total: number;
  /** How many of them are newer than this page. */
  readonly newer: number;
}

export const statusFilters = [...transactionStatuses, ...failures] as const;

const MAX_SEARCH_CHARS = 255;

/** Reads a filter from the query of an address. A value that no control of the page sends restricts nothing. */
export function parseFilter(query: Readonly<Record<string, string>>): TransactionFilter {
  const { search, status, mode, before } = query;
  return {
    search: search?.trim().slice(0, MAX_SEARCH_CHARS),
    status: statusFilters.find((known) => known === status),
    mode: keyModes.find((known) => known === mode),
    before,
  };
}

/** Finds at most `max` transactions. `entries` are all of them, in the order of creation. */
export function findTransactions(
  entries: readonly Entry[],
  filter: TransactionFilter,
  max: number,
): FoundTransactions {
  const { search = '', status, mode, before } = filter;
  const words = parseWords(search);
  const isMatch = (entry: Entry) =>
    (!mode || entry.mode === mode) &&
    (!status || entry.status === status || entry.failure === status) &&
    (words.length === 0 || hasWords(entry, words));
  const matches = words.length > 0 || status || mode ? entries.filter(isMatch) : entries;
  // It need not be a match itself, and is perhaps no longer kept.
  const position = before ? entries.findIndex(({ reference }) => reference === before) : -1;
  const end = position < 0 ? matches.length : entries.slice(0, position).filter(isMatch).length;
  return {
    entries: matches.slice(Math.max(end - max, 0), end).reverse(),
    total: matches.length,
    newer: matches.length - end,
  };
}

/** Splits a search into words. A whole phone number is one word: its last nine digits, which all of its forms share. */
function parseWords(search: string): string[] {
  const digits = search.replace(/\D/g, '');
  if (digits.length >= 9 && /^[\d\s()+.-]+$/.test(search)) return [digits.slice(-9)];
  return search.toLowerCase().split(/\s+/).filter(Boolean);
}

function hasWords(entry: Entry, words: readonly string[]): boolean {
  const { reference, mode, amount, currency, customer_email, status, failure, mobileMoney } = entry;
  const phone = mobileMoney ? `${mobileMoney.phone} 0${mobileMoney.phone.replace(/\D/g, '').slice(-9)}` : '';
  const text = [reference, mode, currency, amount, customer_email, status, failure, phone].join(' ');
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word));
}
