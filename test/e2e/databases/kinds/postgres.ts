import { Pool } from 'pg';
import { postgresJournal } from '../../../../src/journal/postgres.ts';
import type { TestDatabase } from '../database.ts';
import { startServer } from '../postgres-database.ts';

/** PostgreSQL through a Pool of `pg`. */
export const database: TestDatabase = {
  start: startServer,

  async prepare(place) {
    const pool = new Pool({ connectionString: place });
    await postgresJournal(pool).migrate();
    await pool.end();
  },

  async open(place, options, table) {
    const pool = new Pool({ connectionString: place, max: 4 });
    const journal = postgresJournal(pool, { ...options, table });
    if (table !== undefined) await journal.migrate();
    return { journal, close: () => pool.end() };
  },

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
