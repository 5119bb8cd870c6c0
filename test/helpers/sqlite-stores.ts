/** The stores of SQLite, without a journal around them. */

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished, vi } from 'vitest';
import { createConnectionRunner } from '../../src/stores/sqlite/connection.ts';
import { createHandleRunner } from '../../src/stores/sqlite/handle.ts';
import type { SqliteDatabase, SqliteHandle } from '../../src/stores/sqlite/index.ts';
import { createSqliteStore } from '../../src/stores/sqlite/store.ts';
import type { ClockedStore } from './store-suite.ts';
import { createTempFolder } from './temp-folder.ts';

export const TABLE = 'payments_journal';

export const openStore = (database: SqliteDatabase, table = TABLE) =>
  createSqliteStore(createConnectionRunner(database), table);

export const openHandleStore = (handle: SqliteHandle, table = TABLE) =>
  createSqliteStore(createHandleRunner(handle), table);

/** Closed with the test. */
export function openMemory(): DatabaseSync {
  const database = new DatabaseSync(':memory:');
  onTestFinished(() => database.close());
  return database;
}

/** Opens connections to a new file, closed and removed with the test. */
export function useSqliteFile() {
  const folder = createTempFolder();
  const open: DatabaseSync[] = [];
  onTestFinished(() => {
    for (const database of open) if (database.isOpen) database.close();
    folder.remove();
  });
  return () => {
    const database = new DatabaseSync(join(folder.path, 'payments.db'), { timeout: 0 });
    open.push(database);
    return database;
  };
}

/** A handle of promises on a connection of `node:sqlite`, as drivers of remote databases have one. */
export function createSqliteHandle(database: DatabaseSync): SqliteHandle {
  return {
    async batch(statements) {
      database.exec('BEGIN IMMEDIATE');
      try {
        const results = statements.map(({ sql, values }) => database.prepare(sql).all(...values));
        database.exec('COMMIT');
        return results;
      } catch (error) {
        database.exec('ROLLBACK');
        throw error;
      }
    },
  };
}

type OpenKind = (
  database: DatabaseSync,
  watch?: (sql: string) => void,
) => ClockedStore & { readonly store: ReturnType<typeof openStore> };

/** The ways to reach a database. `watch` gets each statement that is run. */
export const sqliteKinds: Readonly<Record<'a connection' | 'a handle', OpenKind>> = {
  'a connection': (database, watch = () => {}) => {
    onTestFinished(() => void vi.useRealTimers());
    const store = openStore({
      exec: (sql) => database.exec(sql),
      prepare(sql) {
        watch(sql);
        return database.prepare(sql);
      },
    });
    return { store, setNow: (now) => void vi.useFakeTimers({ toFake: ['Date'], now }) };
  },
  'a handle': (database, watch = () => {}) => {
    const { batch } = createSqliteHandle(database);
    let time = "'now'";
    const store = openHandleStore({
      batch: (statements) =>
        batch(
          statements.map(({ sql, values }) => {
            watch(sql);
            return { sql: sql.replaceAll("'now'", time), values };
          }),
        ),
    });
    return {
      store,
      setNow(now) {
        time = `${now / 1000}, 'unixepoch', 'subsec'`;
      },
    };
  },
};
