/** What a journal is tried on: one database, through one of the handles that people have on it. */

import type { Journal, JournalOptions } from '../../../src/stores/index.ts';

/** Each file of `kinds/` exports one as `database`. Its name is that of the file. */
export interface TestDatabase {
  /** What is not installed on this machine, and how to install it. The tests are then skipped with this notice. */
  readonly missing?: string | undefined;
  /** Why only one process can have it open, if so. It is then tried in one process, and not in processes that are killed. */
  readonly oneProcess?: string | undefined;
  /** Why its cases of `journalConformance` are run in turn, if so. Those of the others are run at the same time. */
  readonly conformsInTurn?: string | undefined;
  /** Starts the server, or makes the file. */
  start(): Promise<RunningDatabase>;
  /** Makes the tables, once, before a handle is opened. */
  prepare(place: string): Promise<void>;
  /**
   * Opens a handle of its own, as each process does. Workers that are killed open one, too. With a name of a storage it is in a
   * table, or under a prefix, of that name, which is made if it does not exist.
   */
  open(place: string, options?: JournalOptions, storage?: string): Promise<OpenJournal>;
  /** Returns all that the database holds of the journal, as text, to search it for what must not be there. */
  dump(place: string): Promise<string>;
}

export interface RunningDatabase {
  /** A file or a URL: all that another process needs to open a handle. It stays the same when the database comes back. */
  readonly place: string;
  /** Stops the database as in an outage, with what it has confirmed kept. */
  takeAway(): Promise<void>;
  /** Starts it again, at the same place. */
  bringBack(): Promise<void>;
  stop(): Promise<void>;
}

export interface OpenJournal {
  readonly journal: Journal;
  close(): Promise<void>;
}
