import type { JournalStore, RecordChange } from '../../src/journal/index.ts';

export interface StoredEntry {
  version: string;
  text: string;
  writtenAt: number;
  droppedAt: number | null;
}

/** Each decision of a store, so that a test can replace one by a mistake. */
export interface StoreDecisions {
  keyOf(key: string): string;
  /** Whether the write is made. */
  fits(found: StoredEntry | undefined, change: RecordChange): boolean;
  /** Runs between the check and the write. */
  meanwhile(): Promise<void> | undefined;
  ageOf(kept: StoredEntry): number;
  kept(change: RecordChange, before: StoredEntry | undefined): StoredEntry;
  report(written: boolean): boolean;
}

const right: StoreDecisions = {
  keyOf: (key) => key,
  fits: (found, { expected }) => (found?.version ?? null) === expected,
  meanwhile: () => undefined,
  ageOf: ({ writtenAt }) => performance.now() - writtenAt,
  kept: ({ version, text, ttl: keepFor }) => {
    const now = performance.now();
    return { version, text, writtenAt: now, droppedAt: keepFor === null ? null : now + keepFor };
  },
  report: (written) => written,
};

/** Creates a store on a map. Each call returns another handle on it. */
export function createFaultyStore(
  records: Map<string, StoredEntry>,
  wrong: Partial<StoreDecisions> = {},
): JournalStore {
  const { keyOf, fits, meanwhile, ageOf, kept, report } = { ...right, ...wrong };
  const current = (key: string) => {
    const found = records.get(keyOf(key));
    return found && (found.droppedAt ?? Number.POSITIVE_INFINITY) > performance.now() ? found : undefined;
  };
  return {
    async read(key) {
      const found = current(key);
      return found ? { version: found.version, text: found.text, age: ageOf(found) } : null;
    },
    async write(key, change) {
      const found = current(key);
      const written = fits(found, change);
      const waiting = meanwhile();
      if (waiting) await waiting;
      if (written) records.set(keyOf(key), kept(change, found));
      return report(written);
    },
  };
}
