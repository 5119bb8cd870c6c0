import { Pool } from 'pg';
import { createPostgresDatabase } from '../postgres-database.ts';

/** PostgreSQL through a Pool of `pg`. */
export const database = createPostgresDatabase((place) => {
  const pool = new Pool({ connectionString: place, max: 4 });
  return { handle: pool, close: () => pool.end() };
});
