/**
 * The two tables of a journal in SQLite, and its statements. What a record is found by is generated from the record
 * itself. So it cannot differ from it, also if an older version of this package writes to the table.
 */

import { MAX_CLOCK_STEP, MIN_CLOCK_STEP } from './retention.ts';
import { runInTransaction, type SqliteDatabase } from './sqlite-connection.ts';
import { MAX_DUE_IN } from './store.ts';

/** Makes the tables if they do not exist, and changes those that an older version of this package made. */
export function prepareTables(database: SqliteDatabase, name: string): void {
  const [table, clock] = quoteTables(name);
  if (!hasCurrentColumns(database, name)) {
    runInTransaction(database, false, () => {
      // Another process might have been first.
      if (hasCurrentColumns(database, name)) return;
      database.exec(`
        CREATE TABLE IF NOT EXISTS ${table} (
          key TEXT PRIMARY KEY,
          version TEXT NOT NULL,
          record TEXT NOT NULL,
          written_at INTEGER NOT NULL,
          kept_until INTEGER
        ) STRICT, WITHOUT ROWID;
        ALTER TABLE ${table} ADD COLUMN due_at INTEGER;
        ALTER TABLE ${table} ADD COLUMN state TEXT GENERATED ALWAYS AS (${STATE}) VIRTUAL;
        ALTER TABLE ${table} ADD COLUMN created_at ANY GENERATED ALWAYS AS (${CREATED_AT}) VIRTUAL;
        ALTER TABLE ${table} ADD COLUMN reference TEXT GENERATED ALWAYS AS (${REFERENCE}) VIRTUAL;
        UPDATE ${table} SET due_at = ${Date.now()} WHERE state IN ('begun', 'unknown');
      `);
    });
  }
  database.exec(`
    CREATE INDEX IF NOT EXISTS "${name}_kept_until" ON ${table} (kept_until) WHERE kept_until IS NOT NULL;
    CREATE INDEX IF NOT EXISTS "${name}_state" ON ${table} (state, created_at, key);
    CREATE INDEX IF NOT EXISTS "${name}_reference" ON ${table} (reference) WHERE reference IS NOT NULL;
    CREATE INDEX IF NOT EXISTS "${name}_due_at" ON ${table} (due_at) WHERE due_at IS NOT NULL;
    CREATE TABLE IF NOT EXISTS ${clock} (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      counted INTEGER NOT NULL,
      told_at INTEGER NOT NULL
    ) STRICT;
  `);
}

/** What is not JSON was damaged. It must not make the table unusable: a person finds it among the unresolved keys. */
const VALID = 'iif(json_valid(record), record, NULL)';
/** What is the journal's own has no state. Its keys begin with a tab. */
const STATE = `CASE WHEN json_valid(record) THEN json_extract(record, '$.state') WHEN unicode(key) <> 9 THEN 'unknown' END`;
const CREATED_AT = `CASE WHEN json_type(${VALID}, '$.createdAt') IN ('integer', 'real')
  THEN json_extract(record, '$.createdAt') ELSE written_at END`;
const REFERENCE = `lower(coalesce(json_extract(${VALID}, '$.result.reference'), json_extract(${VALID}, '$.reference')))`;

function hasCurrentColumns(database: SqliteDatabase, name: string): boolean {
  const found = database.prepare(
    `SELECT count(*) FROM pragma_table_xinfo(?, 'main') WHERE name IN ('due_at', 'state', 'created_at', 'reference')`,
  );
  // The row is an array if the merchant opened the database with returnArrays.
  return Number(Object.values(Object(found.get(name)))[0]) === 4;
}

/** A plain name can still be a word of SQL, such as `order`. */
const quoteTables = (name: string) => [`"${name}"`, `"${name}_clock"`] as const;

export type SqliteStatements = ReturnType<typeof prepareStatements>;

/** `?1` is the time now, in milliseconds since 1970, but in `read`, `list` and `count`. */
export function prepareStatements(database: SqliteDatabase, name: string) {
  const [table, clock] = quoteTables(name);
  const counted = `(SELECT counted + min(?1 - told_at, ${MAX_CLOCK_STEP}) FROM ${clock})`;
  // A larger number than a JavaScript number holds exactly would be refused as an integer.
  const listed = 'key, version, record, written_at, CAST(created_at AS REAL) AS created';
  const list = (column: string) =>
    database.prepare(
      `SELECT ${listed} FROM ${table} WHERE ${column} = ? AND (created_at, key) > (?, ?)
      ORDER BY created_at, key LIMIT ?`,
    );
  const listDue = (condition: string) =>
    database.prepare(`SELECT ${listed} FROM ${table} WHERE ${condition} ORDER BY due_at LIMIT ?2`);
  // A clock that went back leaves times later than a write does.
  const maxDueAt = `?1 + ${MAX_DUE_IN}`;
  return {
    read: database.prepare(`SELECT version, record, written_at FROM ${table} WHERE key = ?`),
    // The first write starts the clock.
    countTime: database.prepare(
      `INSERT INTO ${clock} (id, counted, told_at) VALUES (1, 0, ?1)
      ON CONFLICT (id) DO UPDATE SET counted = counted + min(?1 - told_at, ${MAX_CLOCK_STEP}), told_at = ?1
      WHERE abs(?1 - told_at) >= ${MIN_CLOCK_STEP}`,
    ),
    insert: database.prepare(
      `INSERT INTO ${table} (key, version, record, written_at, kept_until, due_at)
      VALUES (?2, ?3, ?4, ?1, ${counted} + ?5, ?1 + ?6)
      ON CONFLICT (key) DO UPDATE SET version = excluded.version, record = excluded.record,
        written_at = excluded.written_at, kept_until = excluded.kept_until, due_at = excluded.due_at
      WHERE kept_until <= ${counted}`,
    ),
    update: database.prepare(
      `UPDATE ${table} SET version = ?3, record = ?4, written_at = ?1, kept_until = ${counted} + ?5, due_at = ?1 + ?6
      WHERE key = ?2 AND version = ?7`,
    ),
    // Each write deletes more than it adds, and never so much that it takes long.
    deleteExpired: database.prepare(
      `DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE kept_until <= ${counted} AND key <> ?2 LIMIT 10)`,
    ),
    list: { state: list('state'), reference: list('reference') },
    count: database.prepare(
      `SELECT state, count(*) AS records FROM ${table} WHERE state IS NOT NULL GROUP BY state`,
    ),
    due: listDue('due_at <= ?1'),
    dueTooLate: listDue(`due_at > ${maxDueAt}`),
    postpone: database.prepare(`UPDATE ${table} SET due_at = ?1 + ?2 WHERE key = ?3`),
    countDue: database.prepare(
      `SELECT
        (SELECT count(*) FROM ${table} WHERE due_at <= ?1) +
        (SELECT count(*) FROM ${table} WHERE due_at > ${maxDueAt}) AS due,
        (SELECT min(due_at) FROM ${table} WHERE due_at > ?1 AND due_at <= ${maxDueAt}) - ?1 AS next_in`,
    ),
  };
}
