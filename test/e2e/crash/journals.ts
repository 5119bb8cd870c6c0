import { DatabaseSync } from 'node:sqlite';
import { type JournalStore, memoryJournal } from '../../../src/journal/index.ts';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { isUnresolved, referenceOf } from '../../../src/ledger/payment.ts';
import { parseLedgerRecord } from '../../../src/ledger/record.ts';
import type { OpenJournal } from '../databases/database.ts';
import { loadDatabase } from '../databases/load-database.ts';
import { type JournalKind, negativeControls } from './journal-kinds.ts';
import { replaceStore } from './watched-store.ts';

/** Wraps each commit of SQLite. A kill from outside is not exact enough to hit it. */
export type AroundCommit = (commit: () => void) => void;

/** Opens this process's handle on the shared journal. With `other`, Redis uses its other client library. */
export async function openJournal(
  kind: JournalKind,
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
        journal: kind === 'sqlite' ? journal : replaceStore(journal, freeExpiredKeys),
        close: async () => database.close(),
      };
    }
    case 'redis':
      if (other) return openOtherRedis(place, lease);
      break;
    case 'none':
      throw new Error('This run has no journal.');
  }
  // Only here: workers start hundreds of times, and each needs one client.
  const database = await loadDatabase(kind);
  return database.open(place, { lease });
}

async function openOtherRedis(url: string, lease: number): Promise<OpenJournal> {
  const [{ createClient }, { redisJournal }] = await Promise.all([
    import('redis'),
    import('../../../src/journal/redis.ts'),
  ]);
  const client = await createClient({ url }).connect();
  return { journal: redisJournal(client, { lease }), close: () => client.close() };
}

/** Creates the journal's tables before the workers start. */
export async function prepareJournal(kind: JournalKind, place: string): Promise<void> {
  if (kind === 'sqlite' || negativeControls.includes(kind)) return;
  const database = await loadDatabase(kind);
  await database.prepare(place);
}

/** Makes the obvious mistake: takes an expired lease as proof that nothing was sent. */
function freeExpiredKeys(store: JournalStore): JournalStore {
  return {
    ...store,
    async read(key) {
      const read = await store.read(key);
      const record = read.record && parseLedgerRecord(JSON.parse(read.record.text));
      if (!read.record || !record) return read;
      const payments = record.payments.map((payment) =>
        isUnresolved(payment, read.now) && referenceOf(payment) === undefined
          ? { ...payment, charge: { is: 'none', why: 'not_sent' } }
          : payment,
      );
      return { ...read, record: { ...read.record, text: JSON.stringify({ ...record, payments }) } };
    },
  };
}
