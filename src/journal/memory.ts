import { assertOptions, createJournal, type JournalOptions } from './create-journal.ts';
import type { Journal } from './journal.ts';
import { type JournalStore, type ListedRecord, MAX_DUE_IN, type RecordIndex } from './store.ts';

/** What {@link memoryJournal} takes. */
export interface MemoryJournalOptions extends JournalOptions {
  /**
   * The records. Journals over one store are like processes over one database.
   *
   * @default a new {@link memoryStore}
   */
  store?: JournalStore | undefined;
}

/**
 * Makes a journal in this process's memory, for tests, and against two calls at once. **It does not survive the
 * process**, so it is no protection against a crash: for that, use `payment-collection-client/journal/sqlite`, `/postgres` or
 * `/redis`.
 *
 * @example const payments = new PaymentsClient({ journal: memoryJournal() });
 */
export function memoryJournal(options: MemoryJournalOptions = {}): Journal {
  const { store = memoryStore(), ...rest } = assertOptions(options, 'store');
  return createJournal(store, rest);
}

interface KeptRecord {
  version: string;
  text: string;
  /** By the wall clock, which the lease goes by. */
  writtenAt: number;
  index: RecordIndex | null;
  /** By the wall clock; `null`: never. */
  dueAt: number | null;
}

/**
 * Makes a store in memory, for several journals of one test: each is like a process of its own over one database.
 *
 * @example
 * ```ts
 * const store = memoryStore();
 * const [web, worker] = [memoryJournal({ store }), memoryJournal({ store })];
 * ```
 */
export function memoryStore(): JournalStore {
  const records = new Map<string, KeptRecord>();

  /** The keys that have ever had each reference: each charge looks its own up. */
  const keysByReference = new Map<string, Set<string>>();

  const list = (
    matches: (entry: KeptRecord, index: RecordIndex) => boolean,
    keys: Iterable<string> = records.keys(),
  ): ListedRecord[] => {
    const found: ListedRecord[] = [];
    for (const key of keys) {
      const entry = records.get(key);
      if (!entry?.index || !matches(entry, entry.index)) continue;
      const { version, text, writtenAt, index } = entry;
      found.push({ key, version, text, age: Date.now() - writtenAt, createdAt: index.createdAt });
    }
    return found;
  };
  const isDue = ({ dueAt }: KeptRecord, now: number) =>
    dueAt !== null && (dueAt <= now || dueAt > now + MAX_DUE_IN);

  return {
    async read(key) {
      const entry = records.get(key);
      return entry ? { version: entry.version, text: entry.text, age: Date.now() - entry.writtenAt } : null;
    },
    async write(key, { expected, version, text, index, dueIn }) {
      if ((records.get(key)?.version ?? null) !== expected) return false;
      const now = Date.now();
      const dueAt = dueIn === null ? null : now + dueIn;
      records.set(key, { version, text, writtenAt: now, index, dueAt });
      if (index?.reference != null) {
        const keys = keysByReference.get(index.reference) ?? new Set();
        keysByReference.set(index.reference, keys.add(key));
      }
      return true;
    },
    async list({ by, value, after, limit }) {
      const keys = by === 'reference' ? (keysByReference.get(value) ?? []) : records.keys();
      return list((_, index) => index[by] === value, keys)
        .filter((record) => after === null || compareAge(record, after) > 0)
        .sort(compareAge)
        .slice(0, limit);
    },
    async claimDue({ kind, limit, lease }) {
      const now = Date.now();
      const dueAt = ({ key }: ListedRecord) => records.get(key)?.dueAt ?? 0;
      const due = list((entry, index) => index.kind === kind && isDue(entry, now)).sort(
        (one, other) => dueAt(one) - dueAt(other),
      );
      const claimed = due.slice(0, limit);
      for (const { key } of claimed) {
        const entry = records.get(key);
        if (entry) entry.dueAt = now + lease;
      }
      return claimed;
    },
    async countDue({ kind }) {
      const now = Date.now();
      const live = [...records.values()].filter(({ index }) => index?.kind === kind);
      const due = live.filter((entry) => isDue(entry, now));
      const later = live.flatMap((entry) => (entry.dueAt === null || isDue(entry, now) ? [] : [entry.dueAt]));
      return {
        due: due.length,
        nextIn: later.length === 0 ? null : later.reduce((next, at) => Math.min(next, at)) - now,
      };
    },
    async delete(unneeded) {
      const found = unneeded.filter(({ key, version }) => records.get(key)?.version === version);
      for (const { key } of found) records.delete(key);
      return found.length;
    },
  };
}

type Position = Pick<ListedRecord, 'createdAt' | 'key'>;

function compareAge(one: Position, other: Position): number {
  return one.createdAt - other.createdAt || Number(one.key > other.key) - Number(one.key < other.key);
}
