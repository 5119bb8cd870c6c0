import type { DatabaseSync } from 'node:sqlite';
import * as z from 'zod/mini';
import { networks } from '../../api/input.ts';
import { transactionStatuses } from '../../api/transaction.ts';
import { defaultFinalStatuses } from '../../schedule.ts';
import { parseJson } from '../../support/untrusted.ts';
import { type Entry, failures, keyModes, type LedgerObserver } from '../service/ledger.ts';
import { isHttpAddress } from '../service/validate-request.ts';
import { SandboxError } from './options.ts';

/** Written into the file. A change of the table needs a new number. */
const VERSION = 3;

const TABLE = `CREATE TABLE transactions (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  reference TEXT NOT NULL UNIQUE,
  entry TEXT NOT NULL
) STRICT;
PRAGMA user_version = ${VERSION};`;

/** Epoch milliseconds, up to the largest that a date can have. */
const timestamp = z.number().check(z.gte(0), z.lte(8.64e15));

/** What is kept of an {@link Entry}, as JSON. */
const entrySchema = z.object({
  reference: z.string(),
  mode: z.enum(keyModes),
  amount: z.string(),
  currency: z.string(),
  customer_email: z.string(),
  createdAt: timestamp,
  mobileMoney: z.nullable(z.object({ phone: z.string(), network: z.enum(networks) })),
  returnUrl: z.nullable(z.string().check(z.refine(isHttpAddress))),
  status: z.enum(transactionStatuses),
  failure: z.nullable(z.enum(failures)),
  changedAt: timestamp,
  plan: z.nullable(
    z.union([
      z.object({
        settleAt: timestamp,
        status: z.enum(defaultFinalStatuses),
        isExpiry: z.optional(z.boolean()),
      }),
      z.object({ statuses: z.array(z.enum(transactionStatuses)) }),
    ]),
  ),
});

/** The SQLite database that keeps the transactions. Each change is written at once. */
export interface StateFile {
  /** The transactions of earlier runs, in the order of creation. */
  readonly entries: readonly Entry[];
  readonly observer: LedgerObserver;
  close(): void;
}

/**
 * Opens the file, or creates it.
 *
 * @throws {SandboxError} if it is damaged, if another sandbox has it open, or if it is not a state file
 */
export function openStateFile(file: string): StateFile {
  const database = openDatabase(file);
  try {
    const check = database.prepare('PRAGMA quick_check(1)').get();
    if (check?.quick_check !== 'ok') throw new Error(`quick_check: ${check?.quick_check}`);
    const entries = database.prepare('SELECT entry FROM transactions ORDER BY position').all();
    const save = database.prepare(
      `INSERT INTO transactions (reference, entry) VALUES (?, ?)
       ON CONFLICT (reference) DO UPDATE SET entry = excluded.entry`,
    );
    const remove = database.prepare('DELETE FROM transactions WHERE reference = ?');
    const write = (entry: Entry) => void save.run(entry.reference, JSON.stringify(entry));
    return {
      entries: entries.map(parseEntry),
      observer: { created: write, changed: write, deleted: ({ reference }) => void remove.run(reference) },
      close: () => database.close(),
    };
  } catch (cause) {
    database.close();
    throw new SandboxError(`The state file ${file} is damaged. Choose another, or delete it.`, { cause });
  }
}

function openDatabase(file: string): DatabaseSync {
  // Not an import: Node 22 before 22.13 has no such module, and only a sandbox with a state file needs it.
  const sqlite = process.getBuiltinModule?.('node:sqlite');
  if (!sqlite) {
    throw new SandboxError(
      `To keep state the sandbox needs node:sqlite: Node 22.13 or later, not ${process.version}.`,
    );
  }
  let database: DatabaseSync | undefined;
  try {
    database = new sqlite.DatabaseSync(file);
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;');
    createStateTable(database, file);
    return database;
  } catch (error) {
    if (database?.isOpen) database.close();
    if (error instanceof SandboxError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const message = reason.includes('locked')
      ? `The state file ${file} is in use by another sandbox.`
      : `The state file ${file} cannot be used: ${reason}.`;
    throw new SandboxError(message, { cause: error });
  }
}

function createStateTable(database: DatabaseSync, file: string): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_master').get() === undefined;
  if (version === 0 && isEmpty) {
    database.exec(TABLE);
  } else if (version !== VERSION) {
    throw new SandboxError(`${file} is not a state file of this version of the sandbox. Choose another.`);
  }
}

function parseEntry({ entry }: Readonly<Record<string, unknown>>): Entry {
  const kept = entrySchema.parse(parseJson(String(entry)));
  return { ...kept, hidden: null, createdSeq: 0, changedSeq: 0, plannedSeq: 0 };
}
