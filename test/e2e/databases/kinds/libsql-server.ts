import { createClient } from '@libsql/client';
import type { JournalOptions } from '../../../../src/stores/index.ts';
import { fromLibsql, sqliteJournal } from '../../../../src/stores/sqlite/index.ts';
import type { OpenJournal, TestDatabase } from '../database.ts';
import { missingServer, startLibsqlServer } from '../libsql-server.ts';

/**
 * sqld 0.24 lets writers wait in busy threads. With 20 of them on two busy cores it can stop to write for good, by clients
 * other than ours too, so five processes write one at a time each.
 */
const CONCURRENCY = 1;

async function open(place: string, options?: JournalOptions, table?: string): Promise<OpenJournal> {
  const client = createClient({ url: place, concurrency: CONCURRENCY });
  return {
    journal: sqliteJournal(fromLibsql(client), { ...options, table }),
    close: async () => client.close(),
  };
}

export const database: TestDatabase = {
  missing: missingServer,
  conformsInTurn:
    'sqld 0.24 lets writers wait in busy threads, so a few of them keep two cores from all others',
  start: () => startLibsqlServer(),
  // The first charge makes the table.
  prepare: async () => {},
  open,
  async dump(place) {
    const client = createClient({ url: place });
    const { rows } = await client.execute('SELECT * FROM payments_journal');
    client.close();
    return JSON.stringify(rows);
  },
};
