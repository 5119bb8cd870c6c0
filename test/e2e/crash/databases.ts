import { hasRedis } from '../../helpers/databases.ts';
import { listKinds, loadDatabase } from '../databases/load-database.ts';
import { type JournalKind, ownKinds } from './journal-kinds.ts';

/** Starts a database for one use of it. */
export type WithDatabase = (use: Use) => Promise<void>;

type Use = (place?: string) => Promise<void>;

/** The names of all journals that a run can be on. */
export function listJournals(): readonly JournalKind[] {
  return [...ownKinds, ...listKinds().filter((kind) => !ownKinds.includes(kind))];
}

/** Returns what starts the database of a journal. It is a new one for each use. */
export async function findDatabase(kind: JournalKind): Promise<WithDatabase> {
  // SQLite needs no server: the harness gives it a file.
  if (kind === 'sqlite') return (use) => use();
  const { start, missing, oneProcess } = await loadDatabase(kind);
  if (missing !== undefined) throw new Error(`${kind} cannot be tried here: ${missing}`);
  if (oneProcess !== undefined)
    throw new Error(`${kind} cannot be tried by several processes: ${oneProcess}`);
  return async (use) => {
    const running = await start();
    try {
      await use(running.place);
    } finally {
      await running.stop();
    }
  };
}

/** Those of the root that this machine has. */
export function listInstalledJournals(): readonly JournalKind[] {
  if (!hasRedis) console.log('redis-server is not on the PATH: Redis is skipped.');
  return ownKinds.filter((kind) => kind !== 'redis' || hasRedis);
}
