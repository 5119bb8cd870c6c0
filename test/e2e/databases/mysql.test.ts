import { createPool, type Pool } from 'mysql2/promise';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { mysqlJournal } from '../../../src/journal/mysql.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import type { RunningDatabase } from './database.ts';
import { database } from './kinds/mysql.ts';

let server: RunningDatabase;
let pool: Pool;
beforeAll(async () => {
  server = await database.start();
  await database.prepare(server.place);
  pool = createPool(server.place);
});
afterAll(async () => {
  await pool?.end();
  await server?.stop();
});
describe('conforms', () => {
  const cases = journalConformance((options) => mysqlJournal(pool, options));
  test.each(cases)('$name', ({ run }) => run());
});
