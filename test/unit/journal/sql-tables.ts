import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { onTestFinished, vi } from 'vitest';
import type { Journal, JournalOptions } from '../../../src/journal/index.ts';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { type SqliteDatabase, type SqliteHandle, sqliteJournal } from '../../../src/journal/sqlite.ts';
import type { DatabaseServer } from '../../helpers/databases.ts';
import { createSqliteHandle } from '../../helpers/sqlite-handle.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';

/** The table of one test, in SQLite or in PostgreSQL. */
export interface SqlTable {
  readonly name: string;
  /** Opens a journal on a connection of its own, as a process has one. */
  open(options?: JournalOptions): Promise<Journal>;
  /** Makes the table, or changes one of the version before. */
  migrate(): Promise<void>;
  /** Runs a statement of the test's own. Each `?` is a value. */
  run(sql: string, ...values: (string | number | null)[]): Promise<Record<string, unknown>[]>;
  /** The statements that the journals have run or prepared. */
  readonly statements: Set<string>;
  /** Sets the clock of the storage ahead of the true time, in milliseconds. */
  setAhead(milliseconds: number): void;
}

const TABLE = 'payments';

/** Creates a SQLite file. */
export async function createSqliteTable(): Promise<SqlTable & { readonly path: string }> {
  return createFile((database, statements) => ({
    exec: (sql) => database.exec(sql),
    prepare: (sql) => {
      statements.add(sql);
      return database.prepare(sql);
    },
  }));
}

/** Creates a SQLite file whose journals use a handle of promises, and the clock of the database. */
export async function createSqliteHandleTable(): Promise<SqlTable & { readonly path: string }> {
  let ahead = 0;
  const table = createFile((database, statements) => {
    const handle = createSqliteHandle(database);
    return {
      batch: (batch) =>
        handle.batch(
          batch.map(({ sql, values }) => {
            statements.add(sql);
            return { sql: sql.replaceAll("'now'", `'now', '${ahead / 1000} seconds'`), values };
          }),
        ),
    };
  });
  return {
    ...table,
    setAhead(milliseconds) {
      ahead = milliseconds;
    },
  };
}

function createFile(
  wrap: (database: DatabaseSync, statements: Set<string>) => SqliteDatabase | SqliteHandle,
): SqlTable & { readonly path: string } {
  const folder = createTempFolder();
  const path = join(folder.path, 'payments.db');
  const connections: DatabaseSync[] = [];
  onTestFinished(() => {
    vi.useRealTimers();
    for (const database of connections) database.close();
    folder.remove();
  });
  const connect = () => {
    const database = new DatabaseSync(path, { timeout: 5_000 });
    connections.push(database);
    return database;
  };
  const own = connect();
  const statements = new Set<string>();
  const open = async (options?: JournalOptions) => {
    return sqliteJournal(wrap(connect(), statements), { ...options, table: TABLE });
  };
  return {
    name: TABLE,
    path,
    statements,
    open,
    async migrate() {
      await (await open()).read('order-17');
    },
    run: async (sql, ...values) => own.prepare(sql).all(...values),
    setAhead(milliseconds) {
      const now = performance.timeOrigin + performance.now();
      vi.useFakeTimers({ toFake: ['Date'], now: Math.round(now + milliseconds) });
    },
  };
}

let tables = 0;

/** Creates the name of a table in PostgreSQL. */
export async function createPostgresTable(server: DatabaseServer): Promise<SqlTable> {
  const table = `${TABLE}_${++tables}`;
  const statements = new Set<string>();
  let ahead = 0;
  const connect = async () => {
    const client = new Client({ connectionString: server.url });
    await client.connect();
    onTestFinished(() => client.end());
    return client;
  };
  const own = await connect();
  const open = async (options?: JournalOptions) => {
    const client = await connect();
    const shifted = {
      query: (sql: string, values?: unknown[]) => {
        statements.add(sql);
        return client.query(
          sql.replaceAll(/(?:clock|statement)_timestamp\(\)/g, `($& + interval '${ahead} milliseconds')`),
          values,
        );
      },
      getTransactionStatus: () => client.getTransactionStatus(),
    };
    return postgresJournal(shifted, { ...options, table });
  };
  return {
    name: table,
    statements,
    open,
    async migrate() {
      await (await open()).migrate();
    },
    async run(sql, ...values) {
      let index = 0;
      const { rows } = await own.query(
        sql.replace(/\?/g, () => `$${++index}`),
        values,
      );
      return rows;
    },
    setAhead(milliseconds) {
      ahead = milliseconds;
    },
  };
}

/** Returns the record of a charge, as this version writes it. */
export function recordText(fields: object = {}): string {
  return JSON.stringify({
    format: 2,
    operation: 'chargeMobileMoney',
    service: 'digest-of-the-service',
    fingerprint: 'c0ffee',
    amount: '25.50',
    currency: 'GHS',
    createdAt: 1_700_000_000_000,
    attempts: 1,
    requestIds: [],
    resolutions: [],
    state: 'unknown',
    ...fields,
  });
}

/** With what the version before made its tables in SQLite. */
export const OLD_SQLITE_TABLE = `
  CREATE TABLE ${TABLE} (
    key TEXT PRIMARY KEY,
    version TEXT NOT NULL,
    record TEXT NOT NULL,
    written_at INTEGER NOT NULL,
    kept_until INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX ${TABLE}_kept_until ON ${TABLE} (kept_until) WHERE kept_until IS NOT NULL;
  CREATE TABLE ${TABLE}_clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    counted INTEGER NOT NULL,
    told_at INTEGER NOT NULL
  ) STRICT`;
