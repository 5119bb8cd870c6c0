import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { onTestFinished, vi } from 'vitest';
import type { Journal, JournalOptions } from '../../../src/journal/index.ts';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { type SqliteDatabase, type SqliteHandle, sqliteJournal } from '../../../src/journal/sqlite.ts';
import { buildSchema } from '../../../src/journal/sqlite-table.ts';
import { createSqliteHandle } from '../../helpers/sqlite-handle.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';
import type { Database } from '../../helpers/use-database.ts';

/** The table of one test, in SQLite or in PostgreSQL. */
export interface SqlTable {
  readonly name: string;
  /** Opens a journal on a connection of its own, as a process has one. */
  open(options?: JournalOptions): Promise<Journal>;
  /** Makes the table. */
  migrate(): Promise<void>;
  /** Returns SQL for a time, given SQL for milliseconds since 1970. */
  toTime(milliseconds: string): string;
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
      own.exec(buildSchema(TABLE).join(';'));
    },
    toTime: (milliseconds) => milliseconds,
    run: async (sql, ...values) => own.prepare(sql).all(...values),
    setAhead(milliseconds) {
      const now = performance.timeOrigin + performance.now();
      vi.useFakeTimers({ toFake: ['Date'], now: Math.round(now + milliseconds) });
    },
  };
}

let tables = 0;

/** Creates the name of a table in PostgreSQL. */
export async function createPostgresTable(server: Database): Promise<SqlTable> {
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
    toTime: (milliseconds) => `to_timestamp((${milliseconds}) / 1000.0)`,
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

/** When a record of {@link insertRecords} began and was written, in milliseconds since 1970. */
export const CREATED_AT = 1_700_000_000_000;

/** Writes records of charges as they are stored. */
export async function insertRecords(
  table: SqlTable,
  records: readonly { key: string; text?: string; state?: string; createdAt?: number }[],
): Promise<void> {
  const rows = records.map(({ key, text, state = 'unknown', createdAt = CREATED_AT }) => {
    const record = text ?? recordText({ state, createdAt });
    return `('${key}', 'version-1', '${record}', ${table.toTime(String(CREATED_AT))}, 'key', '${state}', ${table.toTime(String(createdAt))})`;
  });
  await table.run(
    `INSERT INTO ${table.name} (key, version, record, written_at, kind, state, created_at) VALUES ${rows.join(', ')}`,
  );
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
    createdAt: CREATED_AT,
    attempts: 1,
    requestIds: [],
    resolutions: [],
    state: 'unknown',
    ...fields,
  });
}
