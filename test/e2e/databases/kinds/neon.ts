import { fromQuery } from '../../../../src/stores/postgres/index.ts';
import { openNeonHttp, startNeon } from '../neon-proxy.ts';
import { createPostgresDatabase } from '../postgres-database.ts';

/** PostgreSQL through Neon's driver over HTTP, with a proxy of the tests in place of Neon's own. */
export const database = createPostgresDatabase((place) => {
  const sql = openNeonHttp(place);
  return { handle: fromQuery((text, values) => sql.query(text, values)), close: async () => {} };
}, startNeon);
