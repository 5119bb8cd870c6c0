/** The table of a journal in SQLite, and its statements. */

import { MAX_DUE_IN } from './store.ts';

/** A plain name can still be a word of SQL, such as `order`. */
const quote = (name: string) => `"${name}"`;

/**
 * Returns SQL for the time now, in milliseconds since 1970, given the number of the next value. It is either that value, or
 * the clock of the database. SQLite's `now` is the same wherever a statement uses it.
 */
export type SqliteNow = (index: number) => string;

/** Returns the statements that make the table and its indexes. They can run any number of times. */
export function buildSchema(name: string): readonly string[] {
  const table = quote(name);
  return [
    `CREATE TABLE IF NOT EXISTS ${table} (
      key TEXT PRIMARY KEY,
      version TEXT NOT NULL,
      record TEXT NOT NULL,
      written_at INTEGER NOT NULL,
      kind TEXT,
      state TEXT,
      created_at INTEGER,
      reference TEXT,
      due_at INTEGER
    ) STRICT, WITHOUT ROWID`,
    `CREATE INDEX IF NOT EXISTS "${name}_state" ON ${table} (state, created_at, key)`,
    `CREATE INDEX IF NOT EXISTS "${name}_reference" ON ${table} (reference) WHERE reference IS NOT NULL`,
    `CREATE INDEX IF NOT EXISTS "${name}_due_at" ON ${table} (kind, due_at) WHERE due_at IS NOT NULL`,
  ];
}

/** Builds the statements. The time now is the last value of each but `count` and `delete`, if it is a value. */
export function buildStatements(name: string, now: SqliteNow) {
  const table = quote(name);
  const read = (time: string) => `version, record, ${time} - written_at AS age`;
  const listed = (time: string) => `key, ${read(time)}, created_at AS created`;
  const list = (column: string) =>
    `SELECT ${listed(now(5))} FROM ${table} WHERE ${column} = ?1 AND (created_at, key) > (?2, ?3)
    ORDER BY created_at, key LIMIT ?4`;
  // A clock that went back leaves times later than a write does.
  const maxDueAt = (time: string) => `${time} + ${MAX_DUE_IN}`;
  const due = (condition: string) => `FROM ${table} WHERE kind = ?1 AND ${condition}`;
  const selectDue = (condition: string) =>
    `SELECT key FROM (SELECT key ${due(condition)} ORDER BY due_at LIMIT ?2)`;
  const dueKeys = (time: string) =>
    `${selectDue(`due_at <= ${time}`)} UNION ALL ${selectDue(`due_at > ${maxDueAt(time)}`)} LIMIT ?2`;
  return {
    /** `?1` is the key. */
    read: `SELECT ${read(now(2))} FROM ${table} WHERE key = ?1`,
    /**
     * Returns a row if it wrote. The values are key, version, record, kind, state, when it was created, reference, and in how
     * many milliseconds it is due.
     */
    insert: `INSERT INTO ${table} (key, version, record, kind, state, created_at, reference, due_at, written_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ${now(9)} + ?8, ${now(9)})
      ON CONFLICT (key) DO NOTHING RETURNING 1 AS written`,
    /** As `insert`, and `?9` is the version that the record must have. */
    update: `UPDATE ${table} SET version = ?2, record = ?3, kind = ?4, state = ?5, created_at = ?6, reference = ?7,
        due_at = ${now(10)} + ?8, written_at = ${now(10)}
      WHERE key = ?1 AND version = ?9 RETURNING 1 AS written`,
    /** `?1` is the value, `?2` and `?3` are the last time and key before, and `?4` is the limit. */
    list: { state: list('state'), reference: list('reference') },
    count: `SELECT state, count(*) AS records FROM ${table} WHERE state IS NOT NULL GROUP BY state`,
    /** Returns keys that are due, in their order. `?1` is the kind, and `?2` the limit. */
    dueKeys: dueKeys(now(3)),
    /** Returns them in any order, since SQLite does not promise one. `?1` is the kind, `?2` the limit, and `?3` the lease. */
    claimDue: `UPDATE ${table} SET due_at = ${now(4)} + ?3 WHERE key IN (${dueKeys(now(4))}) RETURNING ${listed(now(4))}`,
    /** `?1` is the kind. */
    countDue: `SELECT
        (SELECT count(*) ${due(`due_at <= ${now(2)}`)}) +
        (SELECT count(*) ${due(`due_at > ${maxDueAt(now(2))}`)}) AS due,
        (SELECT min(due_at) ${due(`due_at > ${now(2)} AND due_at <= ${maxDueAt(now(2))}`)}) - ${now(2)} AS later`,
    /** `?1` is a JSON list of pairs of key and version: D1 takes a hundred values at most. Returns a row for each. */
    delete: `DELETE FROM ${table} WHERE key IN (SELECT json_extract(value, '$[0]') FROM json_each(?1))
      AND (key, version) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?1))
      RETURNING 1 AS deleted`,
  };
}
