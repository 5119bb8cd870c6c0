import { createJournal, type Journal, type JournalOptions } from './journal.ts';
import type { JournalStore } from './store.ts';

/**
 * A journal in this process's memory, for tests, and against two calls at once. **It does not outlive the process**, so
 * it is no protection against a crash: for that, take `payment-collection-client/journal/sqlite`, `/postgres` or
 * `/redis`.
 *
 * @example const payments = new PaymentsClient({ journal: memoryJournal() });
 */
export function memoryJournal(options: JournalOptions = {}): Journal {
  return createJournal(memoryStore(), options);
}

interface Kept {
  version: string;
  text: string;
  writtenAt: number;
  droppedAt: number;
}

/** Journals over one of these are like processes over one database. */
export function memoryStore(): JournalStore {
  const records = new Map<string, Kept>();
  let sweep = records.entries();

  const current = (key: string, now: number): Kept | undefined => {
    const kept = records.get(key);
    return kept && kept.droppedAt > now ? kept : undefined;
  };
  // Two looks for each write: what is dropped is found sooner than new records come.
  const dropOld = (now: number) => {
    for (let looks = 0; looks < 2; looks++) {
      const next = sweep.next();
      if (next.done) sweep = records.entries();
      else if (next.value[1].droppedAt <= now) records.delete(next.value[0]);
    }
  };

  return {
    async read(key) {
      const now = Date.now();
      const kept = current(key, now);
      return kept ? { version: kept.version, text: kept.text, age: now - kept.writtenAt } : null;
    },
    async write(key, { expected, version, text, keepFor }) {
      const now = Date.now();
      if ((current(key, now)?.version ?? null) !== expected) return false;
      records.set(key, {
        version,
        text,
        writtenAt: now,
        droppedAt: now + (keepFor ?? Number.POSITIVE_INFINITY),
      });
      dropOld(now);
      return true;
    },
  };
}
