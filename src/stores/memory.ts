import { assertOptions, createJournal, type JournalOptions } from '../journal/create-journal.ts';
import type { Journal } from '../journal/journal.ts';
import {
  type JournalStore,
  type ListedRecord,
  MAX_DUE_IN,
  type RecordChange,
  type RecordIndex,
} from '../journal/store.ts';

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
  const select = (find: (index: RecordIndex) => number | null): ListedRecord[] =>
    [...records].flatMap(([key, { version, text, index }]) => {
      const at = index && find(index);
      return at === null ? [] : [{ key, version, text, at }];
    });

  return {
    async read(key) {
      const kept = records.get(key);
      return { record: kept ? { version: kept.version, text: kept.text } : null, now: Date.now() };
    },
    async write(key, { expected, version, text, index }) {
      if ((records.get(key)?.version ?? null) !== expected) return false;
      records.set(key, { version, text, index });
      return true;
    },
    async list({ by, after, limit }) {
      const now = Date.now();
      const isListed = ({ at }: ListedRecord) => by === 'createdAt' || at <= now;
      return select((index) => index[by])
        .filter((record) => isListed(record) && (after === null || compareTime(record, after) > 0))
        .sort(compareTime)
        .slice(0, limit);
    },
    async count() {
      const now = Date.now();
      return {
        records: select(({ createdAt }) => createdAt).length,
        attention: select(({ attentionAt }) => attentionAt).filter(({ at }) => at <= now).length,
      };
    },
    async claimDue({ kind, limit, lease }) {
      const now = Date.now();
      const due = select((index) => (index.kind === kind ? index.dueAt : null)).filter(isDue(now));
      const claimed = due.sort(compareTime).slice(0, limit);
      for (const { key } of claimed) {
        const kept = records.get(key);
        if (kept?.index) records.set(key, { ...kept, index: { ...kept.index, dueAt: now + lease } });
      }
      return { records: claimed, now };
    },
    async countDue({ kind }) {
      const now = Date.now();
      const planned = select((index) => (index.kind === kind ? index.dueAt : null));
      const due = planned.filter(isDue(now)).length;
      const next = planned.reduce((at, item) => (isDue(now)(item) ? at : Math.min(at, item.at)), Infinity);
      return { due, nextIn: next === Infinity ? null : next - now };
    },
    async delete(unneeded) {
      const found = unneeded.filter(({ key, version }) => records.get(key)?.version === version);
      for (const { key } of found) records.delete(key);
      return found.length;
    },
  };
}

type KeptRecord = Pick<RecordChange, 'version' | 'text' | 'index'>;

const isDue =
  (now: number) =>
  ({ at }: ListedRecord) =>
    at <= now || at > now + MAX_DUE_IN;

type Position = Pick<ListedRecord, 'at' | 'key'>;

function compareTime(one: Position, other: Position): number {
  return one.at - other.at || Number(one.key > other.key) - Number(one.key < other.key);
}
