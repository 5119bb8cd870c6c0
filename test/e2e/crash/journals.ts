import { DatabaseSync } from 'node:sqlite';
import { type Journal, memoryJournal } from '../../../src/journal/index.ts';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { redisJournal } from '../../../src/journal/redis.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { note } from '../../helpers/resolution-note.ts';
import type { JournalKind } from './journal-kinds.ts';

export interface OpenJournal {
  journal: Journal;
  close(): Promise<void>;
}

/** Wraps each commit of SQLite. A kill from outside is not exact enough to hit it. */
export type AroundCommit = (commit: () => void) => void;

/** Opens this process's handle on the shared journal. With `other`, Redis uses its other client library. */
export async function openJournal(
  kind: Exclude<JournalKind, 'none'>,
  place: string,
  options: { lease: number; other: boolean; aroundCommit: AroundCommit },
): Promise<OpenJournal> {
  const { lease, other, aroundCommit } = options;
  switch (kind) {
    case 'memory':
      return { journal: memoryJournal({ lease }), close: async () => {} };
    case 'sqlite':
    case 'frees expired keys': {
      const database = new DatabaseSync(place);
      const watched = {
        prepare: (sql: string) => database.prepare(sql),
        exec: (sql: string) =>
          sql === 'COMMIT' ? aroundCommit(() => database.exec(sql)) : database.exec(sql),
      };
      const journal = sqliteJournal(watched, { lease });
      return {
        journal: kind === 'sqlite' ? journal : freeExpiredKeys(journal),
        close: async () => database.close(),
      };
    }
    case 'postgres': {
      const pool = await openPool(place);
      return { journal: postgresJournal(pool, { lease }), close: () => pool.end() };
    }
    case 'redis': {
      if (other) {
        const { createClient } = await import('redis');
        const client = await createClient({ url: place }).connect();
        return { journal: redisJournal(client, { lease }), close: () => client.close() };
      }
      const { Redis } = await import('ioredis');
      const client = new Redis(place);
      return { journal: redisJournal(client, { lease }), close: async () => client.disconnect() };
    }
  }
}

/** Creates the journal's table before the workers start. */
export async function prepareJournal(kind: JournalKind, place: string): Promise<void> {
  if (kind !== 'postgres') return;
  const pool = await openPool(place);
  await postgresJournal(pool).migrate();
  await pool.end();
}

/** Imports the client only here: workers start hundreds of times, and most need no PostgreSQL. */
async function openPool(connectionString: string) {
  const { Pool } = (await import('pg')).default;
  return new Pool({ connectionString, max: 4 });
}

/** Creates a journal with the obvious mistake: it takes an expired lease as proof that nothing was sent. */
function freeExpiredKeys(journal: Journal): Journal {
  return {
    ...journal,
    async claim(key, intent) {
      const entry = await journal.read(key);
      if (entry?.state === 'unknown' && entry.reference === undefined)
        await journal.resolve(key, 'not_charged', note).catch(() => {});
      return journal.claim(key, intent);
    },
  };
}
