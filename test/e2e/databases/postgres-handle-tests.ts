/** What each handle of PostgreSQL is tried with besides the suite of all databases. */

import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  type PostgresClient,
  type PostgresHandle,
  type PostgresPool,
  postgresJournal,
} from '../../../src/journal/postgres.ts';
import { createPostgresStore } from '../../../src/journal/postgres-store.ts';
import { catchError } from '../../helpers/service.ts';
import { testConformance } from '../../helpers/store-suite.ts';
import { createChange, readVersion, requireMethod, writeNew } from '../../helpers/store-writes.ts';
import type { RunningDatabase } from './database.ts';

type Handle = PostgresHandle | PostgresPool | PostgresClient;

/** Runs `use` with a connection of a pool inside a transaction, which is then committed, or rolled back if `use` rejects. */
export async function transactOn<Client extends { query(sql: string): Promise<unknown>; release(): void }>(
  connect: () => Promise<Client>,
  use: (client: Client) => Promise<void>,
): Promise<void> {
  const client = await connect();
  try {
    await client.query('BEGIN');
    await use(client);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

export interface OpenDriver {
  readonly handle: Handle;
  /**
   * Runs `use` with a handle inside a transaction, which is then committed; or rolled back if `use` rejects.
   */
  transact(use: (handle: Handle) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/**
 * Tests a driver on a server of its own. Without `conforms`, another suite runs the conformance cases. Without `setsIsolation`,
 * each connection keeps the isolation level that it began with.
 */
export function describeDriver(
  name: string,
  start: () => Promise<RunningDatabase>,
  open: (place: string) => OpenDriver | Promise<OpenDriver>,
  { conforms = true, setsIsolation = true } = {},
): void {
  describe(`the handle of ${name}`, () => {
    let running: RunningDatabase;
    const openHere = async () => {
      const driver = await open(running.place);
      onTestFinished(() => driver.close());
      return driver;
    };

    const openStore = async () => {
      const { handle, transact } = await openHere();
      return { store: createPostgresStore(handle, TABLE), transact };
    };

    beforeAll(async () => {
      running = await start();
      const { handle, close } = await open(running.place);
      await postgresJournal(handle).migrate();
      await postgresJournal(handle).migrate();
      await close();
    });
    afterAll(() => running?.stop());

    if (conforms)
      testConformance(async (table) => {
        const { handle, close } = await open(running.place);
        await postgresJournal(handle, { table }).migrate();
        return { store: createPostgresStore(handle, table), close };
      });

    test('names migrate if the table is missing', async () => {
      const { handle } = await openHere();
      const store = createPostgresStore(handle, 'missing');
      for (const step of [() => store.read('order 1'), () => store.write('order 1', createChange())])
        expect(String(await catchError(step()))).toContain('journal.migrate()');
    });

    test('refuses to write inside a transaction, and writes nothing into it', async () => {
      const { store, transact } = await openStore();
      const key = `of ${name}`;
      const version = await writeNew(store, key);
      await transact(async (inside) => {
        const own = createPostgresStore(inside, TABLE);
        for (const act of [
          () => own.write('order 2', createChange()),
          () => own.write(key, createChange({ expected: version })),
          () => requireMethod(own, 'claimDue')({ kind: 'key', limit: 1, lease: 60_000 }),
          () => requireMethod(own, 'delete')([{ key, version }]),
        ]) {
          const failure = await catchError(act());
          expect(failure).toMatchObject({ name: 'JournalError', outcome: 'not_sent' });
          expect(String(failure)).toContain('inside a transaction');
        }
        expect(await readVersion(own, key)).toBe(version);
      });
      expect([await readVersion(store, 'order 2'), await readVersion(store, key)]).toEqual([null, version]);
      await writeNew(store, 'order 2');
    });

    test('writes as a part of a transaction what need not be committed', async () => {
      const { store, transact } = await openStore();
      const key = `joined through ${name}`;
      const expected = await writeNew(store, key);
      const write = (inside: Handle) =>
        writeNew(createPostgresStore(inside, TABLE), key, { expected, mustCommit: false });
      const rolledBack = transact(async (inside) => {
        await write(inside);
        throw new Error('rolled back');
      });
      expect(String(await catchError(rolledBack))).toContain('rolled back');
      expect(await readVersion(store, key)).toBe(expected);
      let version: string | undefined;
      await transact(async (inside) => {
        version = await write(inside);
      });
      expect(await readVersion(store, key)).toBe(version);
    });

    if (!setsIsolation) return;
    test('writes through a strict isolation level that refuses overtaken writes', async () => {
      const pool = new Pool({ connectionString: running.place });
      // The server can stop before the last connection is closed.
      pool.on('error', () => {});
      await pool.query("ALTER ROLE merchant SET default_transaction_isolation = 'repeatable read'");
      onTestFinished(async () => {
        await pool.query('ALTER ROLE merchant RESET default_transaction_isolation');
        await pool.end();
      });
      const { store } = await openStore();
      const key = `overtaken through ${name}`;
      const expected = await writeNew(store, key);
      const other = await pool.connect();
      await other.query('BEGIN');
      await other.query(`UPDATE ${TABLE} SET version = version WHERE key = $1`, [key]);
      const writing = store.write(key, createChange({ expected }));
      const isBlocked = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
      await expect.poll(async () => (await pool.query(isBlocked)).rows.length).toBe(1);
      await other.query('COMMIT');
      other.release();
      expect(await writing).toBe(true);
    });
  });
}

const TABLE = 'payments_journal';
