import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import { toEntry } from '../../src/journal/list.ts';
import { parseLedgerRecord } from '../../src/ledger/record.ts';
import {
  createJournal,
  type Journal,
  type JournalOptions,
  type JournalState,
  type JournalStore,
  memoryJournal,
  type StoredRecord,
} from '../../src/stores/index.ts';
import { sqliteJournal } from '../../src/stores/sqlite/index.ts';

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

type Write = JournalStore['write'];

/** Returns the state of the latest payment that a write of a key records; `undefined`: it records a claim of a reference. */
export function stateOf(text: string): JournalState | undefined {
  const record = parseLedgerRecord(JSON.parse(text));
  const charge = record?.payments.at(-1)?.charge;
  // At the end of its lease a payment is still being sent.
  const now = charge?.is === 'sending' ? charge.until - 1 : 0;
  return record && toEntry({ kind: record.kind, id: '' }, record, record.payments.length, now).state;
}

/** Records in a map that a test can read and break, for journals with this lease. */
export function sharedStore(lease: number) {
  const records = new Map<string, StoredRecord>();
  const store: JournalStore = {
    async read(key) {
      return { record: records.get(key) ?? null, now: Date.now() };
    },
    async write(key, { expected, version, text }) {
      if ((records.get(key)?.version ?? null) !== expected) return false;
      records.set(key, { version, text });
      return true;
    },
  };
  return {
    store,
    records,
    journal: (options?: JournalOptions) => createJournal(store, { lease, ...options }),
    /** Makes a journal whose writes that leave a key in one of these states go through `step`. */
    intercepted: (states: readonly JournalState[], step: (...write: Parameters<Write>) => Promise<boolean>) =>
      createJournal(interceptWrites(store, states, step), { lease }),
  };
}

/** Returns the store with its writes that leave a key in one of these states replaced. */
function interceptWrites(
  store: JournalStore,
  states: readonly JournalState[],
  step: (...write: Parameters<Write>) => Promise<boolean>,
): JournalStore {
  return {
    ...store,
    write: (key, change) => {
      const state = stateOf(change.text);
      return state && states.includes(state) ? step(key, change) : store.write(key, change);
    },
  };
}
