import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Pool } from 'pg';
import type { JournalOptions } from '../../../src/stores/index.ts';
import {
  type PostgresHandle,
  type PostgresJournal,
  type PostgresPool,
  postgresJournal,
} from '../../../src/stores/postgres/index.ts';
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
    table?: string,
  ): Promise<{ journal: PostgresJournal; close(): Promise<void> }> => {
    const { handle, close } = await open(place);
    const journal = postgresJournal(handle, { ...options, table });
    if (table !== undefined) await journal.migrate();
    return { journal, close };
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

/** Starts PostgreSQL 18, or the version of another module. */
export async function startServer(module?: string): Promise<RunningDatabase> {
  const { url, takeAway, bringBack, stop } = await startPostgres(module);
  return {
    place: url,
    takeAway,
    bringBack,
    async stop() {
      await waitForClosedConnections(url);
      await stop();
    },
  };
}

/** A test that leaves a connection open waits no longer than this, in milliseconds. */
const MAX_CLOSING_TIME = 60_000;

/** Drivers resolve before their connections are closed. One that is still open gets an error when the server stops. */
async function waitForClosedConnections(connectionString: string): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  const startedAt = performance.now();
  const countOthers = async () => {
    const { rows } = await client.query(
      `SELECT count(*)::int AS others FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    );
    return Number(rows[0]?.others);
  };
  while ((await countOthers()) > 0 && performance.now() - startedAt < MAX_CLOSING_TIME) await sleep(10);
  await client.end();
}
