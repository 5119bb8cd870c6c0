import type { SqliteHandle } from '../../../src/journal/sqlite.ts';
import type { RunningDatabase } from './database.ts';
import { startWorker } from './miniflare.ts';

/** Starts the Worker that runs statements for other processes. */
export async function startHandles(): Promise<RunningDatabase> {
  const worker = await startWorker('handles');
  return {
    place: worker.url,
    takeAway: () => worker.kill(),
    bringBack: () => worker.start(),
    stop: () => worker.stop(),
  };
}

/** Returns all that is in the tables of a journal, as text. */
export async function dumpTables(handle: SqliteHandle): Promise<string> {
  const tables = ['payments_journal', 'payments_journal_clock'];
  const rows = await handle.batch(tables.map((table) => ({ sql: `SELECT * FROM ${table}`, values: [] })));
  return JSON.stringify(rows);
}
