import { assertOptions, createJournal, type JournalOptions } from './create-journal.ts';
import type { Journal } from './journal.ts';
import type { JournalStore } from './store.ts';

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
  const { store = memoryStore(), ...rest } = assertOptions(options);
  return createJournal(store, rest);
}

interface Entry {
  version: string;
  text: string;
  /** By the wall clock, which the lease goes by. */
  writtenAt: number;
  /** By the monotonic clock, which cannot be set. */
  expiresAt: number;
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
  const records = new Map<string, Entry>();
  let cursor = records.entries();

  const readLive = (key: string): Entry | undefined => {
    const entry = records.get(key);
    return entry && entry.expiresAt > performance.now() ? entry : undefined;
  };
  // Two entries for each write: expired ones are found faster than new ones are added.
  const evictExpired = () => {
    const now = performance.now();
    for (let count = 0; count < 2; count++) {
      const next = cursor.next();
      if (next.done) cursor = records.entries();
      else if (next.value[1].expiresAt <= now) records.delete(next.value[0]);
    }
  };

  return {
    async read(key) {
      const entry = readLive(key);
      return entry ? { version: entry.version, text: entry.text, age: Date.now() - entry.writtenAt } : null;
    },
    async write(key, { expected, version, text, ttl }) {
      if ((readLive(key)?.version ?? null) !== expected) return false;
      const expiresAt = performance.now() + (ttl ?? Number.POSITIVE_INFINITY);
      records.set(key, { version, text, writtenAt: Date.now(), expiresAt });
      evictExpired();
      return true;
    },
  };
}
