import postgres from 'postgres';
import { fromPostgresJs } from '../../../../src/stores/postgres/index.ts';
import { createPostgresDatabase } from '../postgres-database.ts';

/** PostgreSQL through postgres.js. */
export const database = createPostgresDatabase((place) => {
  const sql = postgres(place, { max: 4 });
  return { handle: fromPostgresJs(sql), close: () => sql.end() };
});
