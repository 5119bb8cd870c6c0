/** The stores of SQLite, without a journal around them. */

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished, vi } from 'vitest';
import type { SqliteDatabase, SqliteHandle } from '../../src/journal/sqlite.ts';
import { createConnectionRunner } from '../../src/journal/sqlite-connection.ts';
import { createHandleRunner } from '../../src/journal/sqlite-handle.ts';
import { createSqliteStore } from '../../src/journal/sqlite-store.ts';
import { createSqliteHandle } from './sqlite-handle.ts';
import type { ClockedStore } from './store-suite.ts';
import { createTempFolder } from './temp-folder.ts';

export const TABLE = 'payments_journal';

export const openStore = (database: SqliteDatabase, table = TABLE) =>
  createSqliteStore(createConnectionRunner(database), table);

export const openHandleStore = (handle: SqliteHandle, table = TABLE) =>
  createSqliteStore(createHandleRunner(handle), table);

/** Opens connections to a new file, closed and removed with the test. */
export function useSqliteFile() {
  const folder = createTempFolder();
  const open: DatabaseSync[] = [];
  onTestFinished(() => {
    for (const database of open) if (database.isOpen) database.close();
    folder.remove();
  });
  return (options: { timeout?: number } = {}) => {
    const database = new DatabaseSync(join(folder.path, 'payments.db'), { timeout: 0, ...options });
    open.push(database);
    return database;
  };
}

type SqliteKind = readonly [
  kind: string,
  open: (
    database: DatabaseSync,
    watch?: (sql: string) => void,
  ) => ClockedStore & { readonly store: ReturnType<typeof openStore> },
];

/** The ways to reach a database. `watch` gets each statement that is run. */
export const sqliteKinds: readonly [SqliteKind, SqliteKind] = [
  [
    'SQLite by a connection',
    (database, watch = () => {}) => {
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
  ],
  [
    'SQLite by a handle',
    (database, watch = () => {}) => {
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
  ],
];

export { firstWrite } from './store-writes.ts';
