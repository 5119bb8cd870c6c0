import type {
  JournalStore,
  ListedRecord,
  ListQuery,
  RecordChange,
  RecordIndex,
  RecordKind,
} from '../../src/journal/index.ts';

/** What a store keeps of a text. */
interface KeptText {
  version: string;
  text: string;
  writtenAt: number;
  droppedAt: number | null;
}

export interface StoredEntry extends KeptText {
  index: RecordIndex | null;
  /** By the clock of the store; `null`: never. */
  dueAt: number | null;
}

/** Each decision of a store, so that a test can replace one by a mistake. */
export interface StoreDecisions {
  keyOf(key: string): string;
  /** Whether the write is made. */
  fits(found: StoredEntry | undefined, change: RecordChange): boolean;
  /** Runs between the check and the write, and between finding what is due and claiming it. */
  meanwhile(): Promise<void> | undefined;
  ageOf(kept: StoredEntry): number;
  kept(change: RecordChange, before: StoredEntry | undefined): KeptText;
  report(written: boolean): boolean;
  indexOf(change: RecordChange, before: StoredEntry | undefined): RecordIndex | null;
  dueAtOf(change: RecordChange, before: StoredEntry | undefined): number | null;
  /** Whether a record comes after the last one of the page before. */
  isAfter(record: ListedRecord, after: NonNullable<ListQuery['after']>): boolean;
  /** In which order records are listed. */
  compareListed(one: ListedRecord, other: ListedRecord): number;
  isDue(entry: StoredEntry): boolean;
  /** In which order records are claimed. */
  compareDue(one: StoredEntry, other: StoredEntry): number;
  /** What a claim changes. */
  claimed(entry: StoredEntry, lease: number): Partial<StoredEntry>;
}

export const compareAge = (one: ListedRecord, other: Pick<ListedRecord, 'createdAt' | 'key'>) =>
  one.createdAt - other.createdAt || Number(one.key > other.key) - Number(one.key < other.key);

const right: StoreDecisions = {
  keyOf: (key) => key,
  fits: (found, { expected }) => (found?.version ?? null) === expected,
  meanwhile: () => undefined,
  ageOf: ({ writtenAt }) => performance.now() - writtenAt,
  kept: ({ version, text }) => ({ version, text, writtenAt: performance.now(), droppedAt: null }),
  report: (written) => written,
  indexOf: ({ index }) => index,
  dueAtOf: ({ dueIn }) => (dueIn === null ? null : performance.now() + dueIn),
  isAfter: (record, after) => compareAge(record, after) > 0,
  compareListed: compareAge,
  isDue: ({ dueAt }) => dueAt !== null && dueAt <= performance.now(),
  compareDue: (one, other) => (one.dueAt ?? 0) - (other.dueAt ?? 0),
  claimed: (_, lease) => ({ dueAt: performance.now() + lease }),
};

/** Creates a store on a map. Each call returns another handle on it. */
export function createFaultyStore(
  records: Map<string, StoredEntry>,
  wrong: Partial<StoreDecisions> = {},
): Required<Omit<JournalStore, 'writeAll' | 'listByReferences'>> {
  const { keyOf, fits, meanwhile, ageOf, kept, report, ...index } = { ...right, ...wrong };
  const current = (key: string) => {
    const found = records.get(keyOf(key));
    return found && (found.droppedAt ?? Number.POSITIVE_INFINITY) > performance.now() ? found : undefined;
  };
  const readAll = () => [...records.keys()].flatMap((key) => ({ key, entry: current(key) }));
  const toListed = (key: string, entry: StoredEntry | undefined): ListedRecord[] => {
    if (!entry?.index) return [];
    const { version, text, index: found } = entry;
    return [{ key, version, text, age: ageOf(entry), createdAt: found.createdAt }];
  };
  const findDue = (kind: RecordKind) =>
    readAll()
      .flatMap(({ key, entry }) =>
        entry?.index?.kind === kind && index.isDue(entry) ? [{ key, entry }] : [],
      )
      .sort((one, other) => index.compareDue(one.entry, other.entry));
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
      if (written) {
        const entry = { index: index.indexOf(change, found), dueAt: index.dueAtOf(change, found) };
        records.set(keyOf(key), { ...kept(change, found), ...entry });
      }
      return report(written);
    },
    async list({ by, value, after, limit }) {
      return readAll()
        .flatMap(({ key, entry }) => (entry?.index?.[by] === value ? toListed(key, entry) : []))
        .filter((record) => after === null || index.isAfter(record, after))
        .sort(index.compareListed)
        .slice(0, limit);
    },
    async count() {
      const counts: Record<string, number> = {};
      for (const { entry } of readAll())
        if (entry?.index) counts[entry.index.state] = (counts[entry.index.state] ?? 0) + 1;
      return counts;
    },
    async claimDue({ kind, limit, lease }) {
      const due = findDue(kind).slice(0, limit);
      const waiting = meanwhile();
      if (waiting) await waiting;
      const claimed = due.flatMap(({ key, entry }) => toListed(key, entry));
      for (const { entry } of due) Object.assign(entry, index.claimed(entry, lease));
      return claimed;
    },
    async countDue({ kind }) {
      const now = performance.now();
      const later = readAll().flatMap(({ entry }) =>
        entry?.index?.kind === kind && entry.dueAt !== null && !index.isDue(entry) ? [entry.dueAt - now] : [],
      );
      return { due: findDue(kind).length, nextIn: later.length === 0 ? null : Math.min(...later) };
    },
    async delete(unneeded) {
      const found = unneeded.filter(({ key, version }) => current(key)?.version === version);
      for (const { key } of found) records.delete(keyOf(key));
      return found.length;
    },
  };
}
