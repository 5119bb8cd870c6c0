import { createClient } from '@libsql/client';
import type { JournalOptions } from '../../../../src/stores/index.ts';
import { fromLibsql, sqliteJournal } from '../../../../src/stores/sqlite/index.ts';
import type { OpenJournal, TestDatabase } from '../database.ts';
import { createSqliteFile, dumpSqliteFile } from '../sqlite-file.ts';

async function open(place: string, options?: JournalOptions, table?: string): Promise<OpenJournal> {
  const client = createClient({ url: `file:${place}` });
  return {
    journal: sqliteJournal(fromLibsql(client), { ...options, table }),
    close: async () => client.close(),
  };
}

export const database: TestDatabase = {
  start: async () => createSqliteFile(),
  // The first charge makes the table.
  prepare: async () => {},
  open,
  dump: dumpSqliteFile,
};
