import Database from 'better-sqlite3';
import type { JournalOptions } from '../../../../src/stores/index.ts';
import { sqliteJournal } from '../../../../src/stores/sqlite/index.ts';
import type { OpenJournal, TestDatabase } from '../database.ts';
import { createSqliteFile, dumpSqliteFile } from '../sqlite-file.ts';

async function open(place: string, options?: JournalOptions, table?: string): Promise<OpenJournal> {
  // Its own wait would stop the whole process.
  const handle = new Database(place, { timeout: 0 });
  return { journal: sqliteJournal(handle, { ...options, table }), close: async () => void handle.close() };
}

export const database: TestDatabase = {
  start: async () => createSqliteFile(),
  // The first charge makes the table.
  prepare: async () => {},
  open,
  dump: dumpSqliteFile,
};
