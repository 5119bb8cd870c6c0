import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import {
  createJournal,
  type Journal,
  type JournalOptions,
  type JournalStore,
  memoryJournal,
  type StoredRecord,
} from '../../src/journal/index.ts';
import { sqliteJournal } from '../../src/journal/sqlite.ts';
import { parseLedgerRecord } from '../../src/ledger/record.ts';
import { parseJson } from '../../src/untrusted.ts';

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

/** Under it no heartbeat writes, and no claim expires, however slow the machine is. */
export const LONG_LEASE = 600_000;

/** Records in a map that a test can read and break, for journals with this lease. */
export function sharedStore(lease = LONG_LEASE) {
  const records = new Map<string, StoredRecord>();
  const writes: { key: string; text: string }[] = [];
  let clock: () => number = Date.now;
  const store: JournalStore = {
    read: async (key) => ({ record: records.get(key) ?? null, now: clock() }),
    async write(key, { expected, version, text }) {
      if ((records.get(key)?.version ?? null) !== expected) return false;
      records.set(key, { version, text });
      writes.push({ key, text });
      return true;
    },
  };
  return {
    store,
    records,
    /** Every write that was done, in order. */
    writes,
    /** What each write has left of the payment of a key. */
    states: (key: string) =>
      writes.flatMap(({ key: written, text }) => (written === `key ${key}` ? readState(text) : [])),
    journal: (options?: JournalOptions) => createJournal(store, { lease, ...options }),
    /** The store's own clock from now on. */
    setClock(now: () => number) {
      clock = now;
    },
  };
}

/** Returns what is known of the charge of a key, in the words of `JournalState`. */
function readState(text: string): string {
  const charge = parseLedgerRecord(parseJson(text))?.payments[0]?.charge;
  switch (charge?.is) {
    case 'sending':
      return 'begun';
    case 'made':
      return 'completed';
    case 'none':
      return charge.why;
    default:
      return charge?.is ?? 'unreadable';
  }
}
