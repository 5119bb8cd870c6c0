import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import {
  fromQuery,
  type PostgresJournalOptions,
  postgresJournal,
} from '../../../../src/stores/postgres/index.ts';
import type { TestDatabase } from '../database.ts';

/** PGlite: PostgreSQL inside this process, on a folder. All handles of a place share one. */
const open = new Map<string, PGlite>();

function connect(place: string): PGlite {
  const found = open.get(place);
  if (found) return found;
  const created = new PGlite(place);
  open.set(place, created);
  return created;
}

async function close(place: string): Promise<void> {
  const found = open.get(place);
  open.delete(place);
  await found?.close();
}

async function openTable(place: string, options: PostgresJournalOptions) {
  const journal = postgresJournal(openHandle(place), options);
  if (options.table !== undefined) await journal.migrate();
  return journal;
}

export const openHandle = (place: string) => fromQuery((text, values) => connect(place).query(text, values));

export const database: TestDatabase = {
  oneProcess: 'PGlite opens a folder in one process only.',

  async start() {
    const folder = mkdtempSync(join(tmpdir(), 'payments-pglite-'));
    const place = join(folder, 'data');
    return {
      place,
      async takeAway() {
        await connect(place).close();
      },
      async bringBack() {
        open.delete(place);
      },
      async stop() {
        await close(place);
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },

  prepare: (place) => postgresJournal(openHandle(place)).migrate(),

  open: async (place, options, table) => ({
    journal: await openTable(place, { ...options, table }),
    close: async () => {},
  }),

  async dump(place) {
    const { rows } = await connect(place).query<{ text: string }>(
      'SELECT payments_journal::text AS text FROM payments_journal',
    );
    return rows.map(({ text }) => text).join('\n');
  },
};
