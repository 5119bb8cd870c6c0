/** The table of a journal in SQLite, and its statements. */

import { MAX_DUE_IN } from '../../journal/store.ts';

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
  const index = (column: string, columns: string) =>
    `CREATE INDEX IF NOT EXISTS "${name}_${column}" ON ${table} (${columns}) WHERE ${column} IS NOT NULL`;
  return [
    `CREATE TABLE IF NOT EXISTS ${table} (
      key TEXT PRIMARY KEY,
      version TEXT NOT NULL,
      record TEXT NOT NULL,
      kind TEXT,
      created_at INTEGER,
      attention_at INTEGER,
      due_at INTEGER
    ) STRICT, WITHOUT ROWID`,
    index('created_at', 'created_at, key'),
    index('attention_at', 'attention_at, key'),
    index('due_at', 'kind, due_at'),
  ];
}

/** Builds the statements. The time now is the last value of those that need it, if it is a value. */
export function buildStatements(name: string, now: SqliteNow) {
  const table = quote(name);
  const list = (column: string, until: string) =>
    `SELECT key, version, record, ${column} AS at FROM ${table}
    WHERE (${column}, key) > (?1, ?2) AND ${column} ${until} ORDER BY ${column}, key LIMIT ?3`;
  // A clock that went back leaves times later than a write does.
  const maxDueAt = (time: string) => `${time} + ${MAX_DUE_IN}`;
  const due = (condition: string) => `FROM ${table} WHERE kind = ?1 AND ${condition}`;
  const selectDue = (columns: string, time: string) => {
    const select = (condition: string) =>
      `SELECT ${columns} FROM (SELECT key, due_at ${due(condition)} ORDER BY due_at LIMIT ?2)`;
    return `${select(`due_at <= ${time}`)} UNION ALL ${select(`due_at > ${maxDueAt(time)}`)} LIMIT ?2`;
  };
  return {
    /** Changes nothing. See `SqliteHandle.hasReplicas`. */
    touch: `DELETE FROM ${table} WHERE 0`,
    now: `SELECT ${now(1)} AS now`,
    /** Returns a row also if there is no record. `?1` is the key. */
    read: `SELECT version, record, ${now(2)} AS now FROM (SELECT 1) LEFT JOIN ${table} ON key = ?1`,
    /** Returns a row if it wrote. The values are the columns in their order. */
    insert: `INSERT INTO ${table} (key, version, record, kind, created_at, attention_at, due_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (key) DO NOTHING RETURNING 1 AS written`,
    /** As `insert`, and `?8` is the version that the record must have. */
    update: `UPDATE ${table} SET version = ?2, record = ?3, kind = ?4, created_at = ?5, attention_at = ?6, due_at = ?7
      WHERE key = ?1 AND version = ?8 RETURNING 1 AS written`,
    /** `?1` and `?2` are the last time and key before, and `?3` is the limit. */
    list: {
      createdAt: list('created_at', 'IS NOT NULL'),
      attentionAt: list('attention_at', `<= ${now(4)}`),
    },
    count: `SELECT
        (SELECT count(*) FROM ${table} WHERE created_at IS NOT NULL) AS records,
        (SELECT count(*) FROM ${table} WHERE attention_at <= ${now(1)}) AS attention`,
    /** Returns the keys that are due, and since when. `?1` is the kind, and `?2` the limit. */
    selectDue: selectDue('key, due_at AS at', now(3)),
    /** Returns them in any order, since SQLite does not promise one. `?1` is the kind, `?2` the limit, and `?3` the lease. */
    claimDue: `UPDATE ${table} SET due_at = ${now(4)} + ?3 WHERE key IN (${selectDue('key', now(4))})
      RETURNING key, version, record`,
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
