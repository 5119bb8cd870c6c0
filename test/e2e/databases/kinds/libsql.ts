import { createClient } from '@libsql/client';
import type { JournalOptions } from '../../../../src/journal/index.ts';
import { fromLibsql, sqliteJournal } from '../../../../src/journal/sqlite.ts';
import type { OpenJournal, TestDatabase } from '../database.ts';
import { createSqliteFile, dumpSqliteFile } from '../sqlite-file.ts';

async function open(place: string, options?: JournalOptions): Promise<OpenJournal> {
  const client = createClient({ url: `file:${place}` });
  return { journal: sqliteJournal(fromLibsql(client), options), close: async () => client.close() };
}

export const database: TestDatabase = {
  start: async () => createSqliteFile(),
  async prepare(place) {
    const { journal, close } = await open(place);
    await journal.read('order-0');
    await close();
  },
  open,
  dump: dumpSqliteFile,
};
