import { Pool } from 'pg';
import type { JournalOptions } from '../../../src/journal/index.ts';
import {
  type PostgresHandle,
  type PostgresJournal,
  type PostgresPool,
  postgresJournal,
} from '../../../src/journal/postgres.ts';
import { startPostgres } from '../../helpers/databases.ts';
import type { RunningDatabase, TestDatabase } from './database.ts';

/** A handle of a driver, and what ends its connections. */
export interface OpenHandle {
  readonly handle: PostgresHandle | PostgresPool;
  close(): Promise<void>;
}

/** Makes the database under test of a driver. */
export function createPostgresDatabase(
  open: (place: string) => OpenHandle | Promise<OpenHandle>,
  start: () => Promise<RunningDatabase> = startServer,
): TestDatabase {
  const openJournal = async (
    place: string,
    options?: JournalOptions,
  ): Promise<{ journal: PostgresJournal; close(): Promise<void> }> => {
    const { handle, close } = await open(place);
    return { journal: postgresJournal(handle, options), close };
  };
  return {
    start,
    async prepare(place) {
      const { journal, close } = await openJournal(place);
      await journal.migrate();
      await close();
    },
    open: openJournal,
    async dump(place) {
      const pool = new Pool({ connectionString: place });
      try {
        const { rows } = await pool.query('SELECT payments_journal::text AS text FROM payments_journal');
        return rows.map(({ text }) => String(text)).join('\n');
      } finally {
        await pool.end();
      }
    },
  };
}

export async function startServer(): Promise<RunningDatabase> {
  const { url, takeAway, bringBack, stop } = await startPostgres();
  return { place: url, takeAway, bringBack, stop };
}
