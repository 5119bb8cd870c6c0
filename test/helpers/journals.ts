import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import { getJournalCore, JOURNAL_CORE, type JournalCore } from '../../src/journal/core.ts';
import {
  createJournal,
  type Journal,
  type JournalOptions,
  type JournalStore,
  memoryJournal,
  type StoredRecord,
} from '../../src/journal/index.ts';
import { sqliteJournal } from '../../src/journal/sqlite.ts';

/** A SQLite file of the test's own. */
export function sqliteFile() {
  const folder = mkdtempSync(join(tmpdir(), 'payments-journal-'));
  const path = join(folder, 'journal.db');
  const open: DatabaseSync[] = [];
  onTestFinished(() => {
    for (const database of open) database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const connect = () => {
    const database = new DatabaseSync(path);
    open.push(database);
    return database;
  };
  return { path, connect, journal: (options?: JournalOptions) => sqliteJournal(connect(), options) };
}

/** Makes journals over one set of records: each is as another process would have it. */
export type Handles = () => Journal;

export const kinds: [string, (options?: JournalOptions) => Handles][] = [
  [
    'memory',
    (options) => {
      const journal = memoryJournal(options);
      return () => journal;
    },
  ],
  [
    'SQLite',
    (options) => {
      const file = sqliteFile();
      return () => file.journal(options);
    },
  ],
];

type Write = Parameters<JournalStore['write']>;

/** Under it no heartbeat writes, and no claim expires, however slow the machine is. */
export const LONG_LEASE = 600_000;

/** Records in a map that a test can read and break, for journals with this lease. */
export function sharedStore(lease = LONG_LEASE) {
  const records = new Map<string, { version: string; text: string; writtenAt: number }>();
  const writes: { key: string; state: string; text: string }[] = [];
  let clock: () => number = Date.now;
  const store: JournalStore = {
    async read(key): Promise<StoredRecord | null> {
      const kept = records.get(key);
      return kept ? { version: kept.version, text: kept.text, age: clock() - kept.writtenAt } : null;
    },
    async write(...[key, { expected, version, text }]: Write) {
      if ((records.get(key)?.version ?? null) !== expected) return false;
      records.set(key, { version, text, writtenAt: clock() });
      writes.push({ key, state: JSON.parse(text).state, text });
      return true;
    },
  };
  return {
    store,
    records,
    /** Every write that was done, in order. */
    writes,
    states: (key: string) => writes.filter((write) => write.key === key).map(({ state }) => state),
    journal: (options?: JournalOptions) => createJournal(store, { lease, ...options }),
    /** The store's own clock from now on. */
    setClock(now: () => number) {
      clock = now;
    },
  };
}

/** Creates a journal whose steps, the internal ones too, go through `change` first. A merchant cannot. */
export function changed<Kind extends Journal>(journal: Kind, change: Partial<Journal & JournalCore>): Kind {
  const core = { ...getJournalCore(journal), ...change };
  return Object.defineProperty({ ...journal, ...change }, JOURNAL_CORE, { value: core });
}
