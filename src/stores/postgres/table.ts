/** The table of a journal in PostgreSQL, and its statements. */

import { MAX_DUE_IN, toStoredTime } from '../../journal/store.ts';
import { assertTableName } from '../sql.ts';

/**
 * Returns the statement that makes the table, for a merchant's own migrations. It can run any number of times.
 *
 * @throws {ConfigurationError} if `table` is not a plain name in lower case.
 */
export function postgresSchema(table = 'payments_journal'): string {
  assertTableName(table);
  const records = quoteTable(table);
  const name = table.replace(/^.*\./, '');
  // The longest name of a table leaves 12 characters for the rest.
  const indexes = Object.entries({
    created: 'created_at, key COLLATE "C"',
    attention: 'attention_at, key COLLATE "C"',
    due: 'kind, due_at',
  }).map(([suffix, columns]) => ({ index: `${name}_${suffix}`, column: `${suffix}_at`, columns }));
  // Without the lock, one of two processes that make a table at once would fail. What exists already is not touched: to
  // add it again would wait for each transaction that is open, and every charge would wait behind that. Some drivers print
  // notices: those of a table that exists are not wanted.
  return `DO $$ DECLARE
  shown_messages text := current_setting('client_min_messages');
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('${table}'));
  PERFORM set_config('client_min_messages', 'warning', true);
  CREATE TABLE IF NOT EXISTS ${records} (
    key text PRIMARY KEY,
    version text NOT NULL,
    record json NOT NULL,
    kind text,
    created_at bigint,
    attention_at bigint,
    due_at bigint
  );
  IF (
    SELECT count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE indrelid = '${records}'::regclass AND relname IN (${indexes.map(({ index }) => `'${index}'`).join(', ')})
  ) < ${indexes.length} THEN
${indexes.map(({ index, column, columns }) => `    CREATE INDEX IF NOT EXISTS "${index}" ON ${records} (${columns}) WHERE ${column} IS NOT NULL;`).join('\n')}
  END IF;
  PERFORM set_config('client_min_messages', shown_messages, true);
END $$`;
}

/** A plain name can still be a word of SQL, such as `order`. */
const quoteTable = (table: string) => table.replace(/[^.]+/g, '"$&"');

/** A clock of PostgreSQL, in whole milliseconds since 1970. */
const toMilliseconds = (clock: string) => `floor(extract(epoch FROM ${clock}) * 1000)::bigint`;

/** The time when a record is read or written. */
const NOW = toMilliseconds('clock_timestamp()');

/** The time to look up in an index, which PostgreSQL does with `statement_timestamp()` only. */
const NOW_INDEXED = toMilliseconds('statement_timestamp()');

/** With both ends of a range, PostgreSQL uses the index also before it has statistics of the table. */
const isReached = (column: string) => `${column} BETWEEN 0 AND ${NOW_INDEXED}`;

export type PostgresStatements = ReturnType<typeof buildPostgresStatements>;

/** Whether a statement is in the transaction that has its mark. Without a mark it can be a part of any transaction. */
const INSIDE = `coalesce(current_setting('payments_journal.mark', true) = $1::text, false)`;

/** No two servers have started in the same microsecond. */
const SERVER = '(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint::text';

/** With `synchronous_commit` off, a crash of the server would lose the record of a charge. */
const DURABLE = `(SELECT CASE current_setting('synchronous_commit') WHEN 'off'
  THEN set_config('synchronous_commit', 'on', true) END) AS durable`;

const listedColumns = (column: string) => `key, version, record::text AS record, ${column}::text AS at`;

const COLUMNS = 'key, version, record, kind, created_at, attention_at, due_at';

/**
 * Builds the statements: each step of the journal is one. Its values are text or `NULL`, and so are its columns: drivers
 * convert other types, each in its own way. The name of a column is one word, because some drivers change `a_name` to `aName`.
 */
export function buildPostgresStatements(table: string) {
  const records = quoteTable(table);
  const indexed = '$5::text, $6::text::bigint, $7::text::bigint, $8::text::bigint';
  const writeResult = `SELECT ${INSIDE}::text AS inside, (SELECT txid FROM written) AS txid, ${SERVER} AS server`;
  const list = (column: string, isListed = 'true') => `SELECT ${listedColumns(column)} FROM ${records}
      WHERE (${column}, key COLLATE "C") > ($1::text::bigint, $2::text) AND ${column} IS NOT NULL AND ${isListed}
      ORDER BY ${column}, key COLLATE "C" LIMIT $3::text::int`;
  const maxDueAt = `${NOW_INDEXED} + ${MAX_DUE_IN}`;
  const isDue = isReached('due_at');
  // A clock that went back leaves times later than a write does.
  const isTooLate = `due_at > ${maxDueAt} AND due_at <= ${toStoredTime(Infinity)}`;
  const countIf = (condition: string) => `(SELECT count(*) FROM ${records} WHERE ${condition})`;
  const lockDue = (condition: string, limit: string) => `(
        SELECT key, due_at FROM ${records} WHERE kind = $4::text AND ${condition} AND NOT ${INSIDE}
        ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)`;

  return {
    /** `$1` is the mark. It lasts until the transaction ends, which without `BEGIN` is the end of the statement. */
    mark: "SELECT set_config('payments_journal.mark', $1::text, true) AS mark",
    /** `$1` is the key. Without a record, its columns are `NULL`. */
    read: `SELECT ${NOW}::text AS now, version, record::text AS record
      FROM (SELECT) AS one LEFT JOIN ${records} ON key = $1::text`,
    /**
     * `$1` is the mark, `$2` the key, and the others are those of `JournalStore.write`. In the transaction that has the mark
     * it does nothing, and `inside` is `true`. It always returns a row: in that, `txid` is `NULL` if nothing was written.
     */
    insert: `WITH written AS (
        INSERT INTO ${records} (${COLUMNS})
        SELECT $2::text, $3::text, $4::text::json, ${indexed} FROM ${DURABLE} WHERE NOT ${INSIDE}
        ON CONFLICT (key) DO NOTHING
        RETURNING txid_current()::text AS txid)
      ${writeResult}`,
    /** As `insert`, and `$9` is the version that the record must have. */
    update: `WITH written AS (
        UPDATE ${records}
        SET version = $3::text, record = $4::text::json, (kind, created_at, attention_at, due_at) = ROW(${indexed})
        FROM ${DURABLE} WHERE key = $2::text AND version = $9::text AND NOT ${INSIDE}
        RETURNING txid_current()::text AS txid)
      ${writeResult}`,
    /**
     * `$1` is the mark, and `$2` a JSON list of writes of different keys, each with its columns and `expected`. Returns a row
     * for each, if it does anything: `written` is `NULL` for an update that was not made, since another transaction might
     * have locked the record. It waits for no record but one that is just being inserted, so writers do not block each other.
     */
    writeAll: `WITH given AS MATERIALIZED (
        SELECT given.* FROM json_to_recordset($2::json) AS given (key text, version text, record text, kind text,
          created_at bigint, attention_at bigint, due_at bigint, expected text), ${DURABLE} WHERE NOT ${INSIDE}),
      free AS MATERIALIZED (
        SELECT key FROM ${records} AS kept JOIN given USING (key)
        WHERE key = ANY (ARRAY(SELECT key FROM given WHERE expected IS NOT NULL)) AND kept.version = expected
        FOR UPDATE OF kept SKIP LOCKED),
      updated AS (
        UPDATE ${records} AS kept SET (version, record, kind, created_at, attention_at, due_at) = ROW(given.version,
          given.record::json, given.kind, given.created_at, given.attention_at, given.due_at)
        FROM free JOIN given USING (key) WHERE kept.key = ANY (ARRAY(SELECT key FROM free)) AND kept.key = free.key AND kept.version = expected
        RETURNING kept.key),
      inserted AS (
        INSERT INTO ${records} (${COLUMNS})
        SELECT key, version, record::json, kind, created_at, attention_at, due_at
        FROM given WHERE expected IS NULL ORDER BY key
        ON CONFLICT (key) DO NOTHING RETURNING key)
      SELECT key, CASE WHEN key IN (SELECT key FROM updated UNION ALL SELECT key FROM inserted) THEN 'true'
        WHEN expected IS NULL THEN 'false' END AS written
      FROM given`,
    /** Returns the `status` of the transaction of a write: `$1` is its `txid`, and `$2` its `server`, since another can have that number. */
    status: `SELECT CASE ${SERVER} WHEN $2::text THEN txid_status($1::text::bigint) END AS status`,
    /** `$1` and `$2` are the time and the key of the record before, and `$3` is the limit. */
    list: {
      createdAt: list('created_at'),
      attentionAt: list('attention_at', `attention_at <= ${NOW_INDEXED}`),
    },
    count: `SELECT ${countIf('created_at IS NOT NULL')}::text AS records, ${countIf(isReached('attention_at'))}::text AS attention`,
    /**
     * `$1` is the mark, as in `insert`, `$2` the limit, `$3` the lease, `$4` the kind. If it finds nothing, `key` is `NULL`.
     *
     * MATERIALIZED: a subquery that is run again, in a join, would lock more than the limit. With the array, each record is
     * looked up by its key, whatever the database expects to find.
     */
    claimDue: `WITH due AS MATERIALIZED ${lockDue(isDue, '$2::text::int')},
      late AS MATERIALIZED ${lockDue(isTooLate, '$2::text::int - (SELECT count(*) FROM due)')},
      found AS (SELECT * FROM due UNION ALL SELECT * FROM late),
      claimed AS (
        UPDATE ${records} SET due_at = ${NOW} + $3::text::bigint
        WHERE key = ANY (ARRAY(SELECT key FROM found))
        RETURNING key, version, record, txid_current()::text AS txid)
      SELECT ${INSIDE}::text AS inside, txid, ${SERVER} AS server, ${NOW}::text AS now, ${listedColumns('due_at')}
      FROM (SELECT) AS one LEFT JOIN (claimed JOIN found USING (key)) ON true ORDER BY due_at`,
    /** `$1` is the kind. */
    countDue: `SELECT (${countIf(`kind = $1::text AND ${isDue}`)} + ${countIf(`kind = $1::text AND ${isTooLate}`)})::text AS due,
        (SELECT (min(due_at) - ${NOW})::text FROM ${records}
          WHERE kind = $1::text AND due_at > ${NOW_INDEXED} AND due_at <= ${maxDueAt}) AS later`,
    /** `$1` is the mark, as in `insert`, and `$2` a JSON list of objects with `key` and `version`. */
    delete: `WITH deleted AS (
        DELETE FROM ${records} AS kept USING json_to_recordset($2::text::json) AS given (key text, version text)
        WHERE kept.key = given.key AND kept.version = given.version AND NOT ${INSIDE}
        RETURNING txid_current()::text AS txid)
      SELECT ${INSIDE}::text AS inside, (SELECT max(txid) FROM deleted) AS txid, ${SERVER} AS server,
        (SELECT count(*) FROM deleted)::text AS deleted`,
  };
}
