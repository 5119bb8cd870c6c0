/** What each handle of PostgreSQL is tried with besides the suite of all databases. */

import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  type PostgresClient,
  type PostgresHandle,
  type PostgresPool,
  postgresJournal,
} from '../../../src/journal/postgres.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { claimKey, completeKey, countDue, tryClaim } from '../../helpers/claims.ts';
import { claimDueKeys, listKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
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
 * Tests a driver on a server of its own. With `conforms`, it passes the conformance cases too. Without `setsIsolation`, each
 * connection keeps the isolation level that it began with.
 */
export function describeDriver(
  name: string,
  start: () => Promise<RunningDatabase>,
  open: (place: string) => OpenDriver | Promise<OpenDriver>,
  { conforms = false, setsIsolation = true } = {},
): void {
  describe(`the handle of ${name}`, () => {
    let running: RunningDatabase;
    const openHere = async () => {
      const driver = await open(running.place);
      onTestFinished(() => driver.close());
      return driver;
    };

    beforeAll(async () => {
      running = await start();
      const { handle, close } = await open(running.place);
      await postgresJournal(handle).migrate();
      await postgresJournal(handle).migrate();
      await close();
    });
    afterAll(() => running?.stop());

    if (conforms) {
      const cases = journalConformance(async (options, table) => {
        const { handle, close } = await open(running.place);
        const journal = postgresJournal(handle, { ...options, table });
        await journal.migrate();
        return { journal, close };
      });
      test.each(cases)('conforms: $name', ({ run }) => run());
    }

    test('names migrate if the table is missing', async () => {
      const { handle } = await openHere();
      const journal = postgresJournal(handle, { table: 'missing' });
      expect(String(await catchError(tryClaim(journal, 'order-1')))).toContain('journal.migrate()');
    });

    test('keeps any text as it is', async () => {
      const { handle } = await openHere();
      const journal = postgresJournal(handle, { table: 'odd_texts' });
      await journal.migrate();
      const keys = ['null', '7', '{"a":1}', '2026-11-22T10:00:00Z', 'true', "O'Brien \\ $1 ?", 'ключ 🔑'];
      for (const key of keys) {
        const reference = `TXN-${key}`;
        const result = { reference, message: 'a\0b \ud83d \\u0000 \\ud83d \\', amount: '25.50' };
        expect(
          await completeKey(journal, key, {
            state: 'completed',
            result,
          }),
        ).toBe(true);
        expect(await tryClaim(journal, key)).toEqual({
          state: 'completed',
          result,
        });
        expect(await listKeys(journal, { reference })).toEqual([key]);
      }
      expect((await journal.count()).completed).toBe(keys.length);
      expect((await countDue(journal)).due).toBe(keys.length);
      expect((await claimDueKeys(journal)).sort()).toEqual(keys.toSorted());
      expect(await countDue(journal)).toMatchObject({
        due: 0,
        nextIn: expect.any(Number),
      });
    });

    test('refuses to charge inside a transaction, and writes nothing into it', async () => {
      const { handle, transact } = await openHere();
      const journal = postgresJournal(handle);
      await completeKey(journal, `of ${name}`, { state: 'unknown' });
      await transact(async (inside) => {
        const own = postgresJournal(inside);
        const refused = { name: 'JournalError', outcome: 'not_sent' };
        for (const act of [() => tryClaim(own, 'order-2'), () => claimDueKeys(own)]) {
          const failure = await catchError(act());
          expect(failure).toMatchObject(refused);
          expect(String(failure)).toContain('inside a transaction');
        }
        expect(await own.read(`of ${name}`)).toMatchObject({ state: 'unknown' });
      });
      expect(await journal.read('order-2')).toBeNull();
      await claimKey(journal, 'order-2');
    });

    test('resolves as a part of a transaction', async () => {
      const { handle, transact } = await openHere();
      const journal = postgresJournal(handle);
      const key = `resolved through ${name}`;
      await completeKey(journal, key, { state: 'unknown' });
      const rolledBack = transact(async (inside) => {
        await postgresJournal(inside).resolve(key, 'not_charged', note);
        throw new Error('rolled back');
      });
      expect(String(await catchError(rolledBack))).toContain('rolled back');
      expect(await journal.read(key)).toMatchObject({ state: 'unknown' });
      await transact(async (inside) => {
        await postgresJournal(inside).resolve(key, 'not_charged', note);
      });
      expect(await journal.read(key)).toMatchObject({ state: 'not_charged' });
    });

    if (!setsIsolation) return;
    test('charges through a strict isolation level that refuses overtaken writes', async () => {
      const pool = new Pool({ connectionString: running.place });
      // The server can stop before the last connection is closed.
      pool.on('error', () => {});
      await pool.query("ALTER ROLE merchant SET default_transaction_isolation = 'repeatable read'");
      onTestFinished(async () => {
        await pool.query('ALTER ROLE merchant RESET default_transaction_isolation');
        await pool.end();
      });
      const { handle } = await openHere();
      const journal = postgresJournal(handle);
      const key = `overtaken through ${name}`;
      await completeKey(journal, key, { state: 'rejected' });
      const other = await pool.connect();
      await other.query('BEGIN');
      await other.query('UPDATE payments_journal SET written_at = written_at WHERE key = $1', [key]);
      const claiming = tryClaim(journal, key);
      const isBlocked = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
      await expect.poll(async () => (await pool.query(isBlocked)).rows.length).toBe(1);
      await other.query('COMMIT');
      other.release();
      expect(await claiming).toMatchObject({ state: 'claimed' });
    });
  });
}
