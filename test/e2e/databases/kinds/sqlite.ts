import { DatabaseSync } from 'node:sqlite';
import { sqliteJournal } from '../../../../src/stores/sqlite/index.ts';
import type { TestDatabase } from '../database.ts';
import { createSqliteFile, dumpSqliteFile } from '../sqlite-file.ts';

/** A file of SQLite, through the module of Node. */
export const database: TestDatabase = {
  start: async () => createSqliteFile(),
  // The first charge makes the table.
  prepare: async () => {},
  async open(place, options, table) {
    const handle = new DatabaseSync(place);
    return { journal: sqliteJournal(handle, { ...options, table }), close: async () => handle.close() };
  },
  dump: dumpSqliteFile,
};
