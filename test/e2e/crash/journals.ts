import { DatabaseSync } from 'node:sqlite';
import { type Journal, memoryJournal } from '../../../src/journal/index.ts';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { redisJournal } from '../../../src/journal/redis.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import type { JournalKind } from './kinds.ts';

export interface OpenJournal {
  journal: Journal;
  close(): Promise<void>;
}

/** What happens around each commit of SQLite, which no kill from outside would hit. */
export type AroundCommit = (commit: () => void) => void;

/** A process's own handle on the journal that all share; `other` takes the other client of Redis. */
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
    case 'expired is free': {
      const database = new DatabaseSync(place);
      const watched = {
        prepare: (sql: string) => database.prepare(sql),
        exec: (sql: string) =>
          sql === 'COMMIT' ? aroundCommit(() => database.exec(sql)) : database.exec(sql),
      };
      const journal = sqliteJournal(watched, { lease });
      return {
        journal: kind === 'sqlite' ? journal : forgetful(journal),
        close: async () => database.close(),
      };
    }
    case 'postgres': {
      const pool = await poolAt(place);
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

/** Makes what has to be there before many processes come. */
export async function prepareJournal(kind: JournalKind, place: string): Promise<void> {
  if (kind !== 'postgres') return;
  const pool = await poolAt(place);
  await postgresJournal(pool).migrate();
  await pool.end();
}

/** Each client is loaded by those only that use it: a worker is started hundreds of times. */
async function poolAt(connectionString: string) {
  const { Pool } = (await import('pg')).default;
  return new Pool({ connectionString, max: 4 });
}

/** A journal with the mistake that comes first to mind: a process that died is taken to have sent nothing. */
function forgetful(journal: Journal): Journal {
  return {
    ...journal,
    async claim(key, attempt) {
      const entry = await journal.read(key);
      if (entry?.state === 'unknown' && entry.reference === undefined)
        await journal.resolve(key, 'not_charged').catch(() => {});
      return journal.claim(key, attempt);
    },
  };
}
