import { assertOptions, createJournal, type Journal, type JournalOptions } from './journal.ts';
import type { JournalStore } from './store.ts';

/** What {@link memoryJournal} takes. */
export interface MemoryJournalOptions extends JournalOptions {
  /**
   * Where the records are kept. Journals over one store are like processes over one database.
   *
   * @default a new {@link memoryStore}
   */
  store?: JournalStore | undefined;
}

/**
 * A journal in this process's memory, for tests, and against two calls at once. **It does not outlive the process**, so
 * it is no protection against a crash: for that, take `payment-collection-client/journal/sqlite`, `/postgres` or
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
  /** By the clock on the wall, which the lease goes by. */
  writtenAt: number;
  /** By the monotonic clock, which nobody can set. */
  keptUntil: number;
}

/**
 * Records in memory, for several journals of one test: each is like a process of its own over one database.
 *
 * @example
 * ```ts
 * const store = memoryStore();
 * const [web, worker] = [memoryJournal({ store }), memoryJournal({ store })];
 * ```
 */
export function memoryStore(): JournalStore {
  const records = new Map<string, Entry>();
  let sweep = records.entries();

  const readLive = (key: string): Entry | undefined => {
    const kept = records.get(key);
    return kept && kept.keptUntil > performance.now() ? kept : undefined;
  };
  // Two looks for each write: what is dropped is found sooner than new records come.
  const evictExpired = () => {
    const now = performance.now();
    for (let looks = 0; looks < 2; looks++) {
      const next = sweep.next();
      if (next.done) sweep = records.entries();
      else if (next.value[1].keptUntil <= now) records.delete(next.value[0]);
    }
  };

  return {
    async read(key) {
      const kept = readLive(key);
      return kept ? { version: kept.version, text: kept.text, age: Date.now() - kept.writtenAt } : null;
    },
    async write(key, { expected, version, text, ttl: keepFor }) {
      if ((readLive(key)?.version ?? null) !== expected) return false;
      const keptUntil = performance.now() + (keepFor ?? Number.POSITIVE_INFINITY);
      records.set(key, { version, text, writtenAt: Date.now(), keptUntil });
      evictExpired();
      return true;
    },
  };
}
