/**
 * The two tables of a journal in SQLite, and its statements. What a record is found by is generated from the record
 * itself. So it cannot differ from it, also if an older version of this package writes to the table.
 */

import { MAX_CLOCK_STEP, MIN_CLOCK_STEP } from './retention.ts';
import { MAX_DUE_IN } from './store.ts';

/** What is not JSON was damaged. It must not make the table unusable: a person finds it among the unresolved keys. */
const VALID = 'iif(json_valid(record), record, NULL)';
/** What is the journal's own has no state. Its keys begin with a tab. */
const STATE = `CASE WHEN json_valid(record) THEN json_extract(record, '$.state') WHEN unicode(key) <> 9 THEN 'unknown' END`;
const CREATED_AT = `CASE WHEN json_type(${VALID}, '$.createdAt') IN ('integer', 'real')
  THEN json_extract(record, '$.createdAt') ELSE written_at END`;
const REFERENCE = `lower(coalesce(json_extract(${VALID}, '$.result.reference'), json_extract(${VALID}, '$.reference')))`;

/** A plain name can still be a word of SQL, such as `order`. */
const quoteTables = (name: string) => [`"${name}"`, `"${name}_clock"`] as const;

/**
 * Returns SQL for the time now, in milliseconds since 1970, given the number of the next value. It is either that value, or
 * the clock of the database. SQLite's `now` is the same wherever a statement uses it.
 */
export type SqliteNow = (index: number) => string;

/** How the tables are made. */
export interface SqliteSchema {
  /** Returns `missing`: how many of the tables and indexes do not exist. */
  readonly countMissing: string;
  /**
   * Makes the table of the records, or adds the columns that one of an older version lacks. It fails if they are there, so
   * it must be run in one transaction. The last statement takes the time now.
   */
  readonly addColumns: readonly string[];
  /** Makes what else does not exist. It can be run any number of times. */
  readonly addIndexes: readonly string[];
}

export function buildSchema(name: string, now: SqliteNow): SqliteSchema {
  const [table, clock] = quoteTables(name);
  const indexes = ['kept_until', 'state', 'reference', 'due_at'].map((suffix) => `${name}_${suffix}`);
  const names = [name, `${name}_clock`, ...indexes].map((object) => `'${object.toLowerCase()}'`);
  return {
    countMissing: `SELECT ${names.length} - count(*) AS missing FROM sqlite_master WHERE lower(name) IN (${names.join(', ')})`,
    addColumns: [
      `CREATE TABLE IF NOT EXISTS ${table} (
        key TEXT PRIMARY KEY,
        version TEXT NOT NULL,
        record TEXT NOT NULL,
        written_at INTEGER NOT NULL,
        kept_until INTEGER
      ) STRICT, WITHOUT ROWID`,
      `ALTER TABLE ${table} ADD COLUMN due_at INTEGER`,
      `ALTER TABLE ${table} ADD COLUMN state TEXT GENERATED ALWAYS AS (${STATE}) VIRTUAL`,
      `ALTER TABLE ${table} ADD COLUMN created_at ANY GENERATED ALWAYS AS (${CREATED_AT}) VIRTUAL`,
      `ALTER TABLE ${table} ADD COLUMN reference TEXT GENERATED ALWAYS AS (${REFERENCE}) VIRTUAL`,
      `UPDATE ${table} SET due_at = ${now(1)} WHERE state IN ('begun', 'unknown')`,
    ],
    addIndexes: [
      `CREATE INDEX IF NOT EXISTS "${name}_kept_until" ON ${table} (kept_until) WHERE kept_until IS NOT NULL`,
      `CREATE INDEX IF NOT EXISTS "${name}_state" ON ${table} (state, created_at, key)`,
      `CREATE INDEX IF NOT EXISTS "${name}_reference" ON ${table} (reference) WHERE reference IS NOT NULL`,
      `CREATE INDEX IF NOT EXISTS "${name}_due_at" ON ${table} (due_at) WHERE due_at IS NOT NULL`,
      `CREATE TABLE IF NOT EXISTS ${clock} (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        counted INTEGER NOT NULL,
        told_at INTEGER NOT NULL
      ) STRICT`,
    ],
  };
}

/** Builds the statements. The time now is the last value of each but `count`, if it is a value. */
export function buildStatements(name: string, now: SqliteNow) {
  const [table, clock] = quoteTables(name);
  const countedAt = (time: string) =>
    `(SELECT counted + min(${time} - told_at, ${MAX_CLOCK_STEP}) FROM ${clock})`;
  const read = (time: string) => `version, record, ${time} - written_at AS age`;
  // A larger number than a JavaScript number holds exactly would be refused as an integer.
  const listed = (time: string) => `key, ${read(time)}, CAST(created_at AS REAL) AS created`;
  const list = (column: string) =>
    `SELECT ${listed(now(5))} FROM ${table} WHERE ${column} = ?1 AND (created_at, key) > (?2, ?3)
    ORDER BY created_at, key LIMIT ?4`;
  // A clock that went back leaves times later than a write does.
  const maxDueAt = (time: string) => `${time} + ${MAX_DUE_IN}`;
  const selectDue = (condition: string) =>
    `SELECT key FROM (SELECT key FROM ${table} WHERE ${condition} ORDER BY due_at LIMIT ?1)`;
  const dueKeys = (time: string) =>
    `${selectDue(`due_at <= ${time}`)} UNION ALL ${selectDue(`due_at > ${maxDueAt(time)}`)} LIMIT ?1`;
  return {
    /** `?1` is the key. */
    read: `SELECT ${read(now(2))} FROM ${table} WHERE key = ?1`,
    // The first write starts the clock.
    countTime: `INSERT INTO ${clock} (id, counted, told_at) VALUES (1, 0, ${now(1)})
      ON CONFLICT (id) DO UPDATE SET counted = counted + min(${now(1)} - told_at, ${MAX_CLOCK_STEP}), told_at = ${now(1)}
      WHERE abs(${now(1)} - told_at) >= ${MIN_CLOCK_STEP}`,
    /** Returns a row if it wrote. The values are key, version, record, how long it is kept, and in how long it is due. */
    insert: `INSERT INTO ${table} (key, version, record, written_at, kept_until, due_at)
      VALUES (?1, ?2, ?3, ${now(6)}, ${countedAt(now(6))} + ?4, ${now(6)} + ?5)
      ON CONFLICT (key) DO UPDATE SET version = excluded.version, record = excluded.record,
        written_at = excluded.written_at, kept_until = excluded.kept_until, due_at = excluded.due_at
      WHERE kept_until <= ${countedAt(now(6))}
      RETURNING 1 AS written`,
    /** As `insert`, and `?6` is the version that the record must have. */
    update: `UPDATE ${table}
      SET version = ?2, record = ?3, written_at = ${now(7)}, kept_until = ${countedAt(now(7))} + ?4, due_at = ${now(7)} + ?5
      WHERE key = ?1 AND version = ?6
      RETURNING 1 AS written`,
    // Each write deletes more than it adds, and never so much that it takes long.
    deleteExpired: `DELETE FROM ${table} WHERE key IN (
      SELECT key FROM ${table} WHERE kept_until <= ${countedAt(now(2))} AND key <> ?1 LIMIT 10)`,
    /** `?1` is the value, `?2` and `?3` are the last time and key before, and `?4` is the limit. */
    list: { state: list('state'), reference: list('reference') },
    count: `SELECT state, count(*) AS records FROM ${table} WHERE state IS NOT NULL GROUP BY state`,
    /** Returns keys that are due, in their order. `?1` is the limit. */
    dueKeys: dueKeys(now(2)),
    /** Returns them in any order, since SQLite does not promise one. `?1` is the limit, and `?2` the lease. */
    claimDue: `UPDATE ${table} SET due_at = ${now(3)} + ?2 WHERE key IN (${dueKeys(now(3))}) RETURNING ${listed(now(3))}`,
    countDue: `SELECT
        (SELECT count(*) FROM ${table} WHERE due_at <= ${now(1)}) +
        (SELECT count(*) FROM ${table} WHERE due_at > ${maxDueAt(now(1))}) AS due,
        (SELECT min(due_at) FROM ${table} WHERE due_at > ${now(1)} AND due_at <= ${maxDueAt(now(1))}) - ${now(1)} AS next_in`,
  };
}
