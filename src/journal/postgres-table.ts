/** The table of a journal in PostgreSQL, and its statements. */

import { assertTableName } from './sql.ts';
import { MAX_DUE_IN, MAX_KEYS_OF_REFERENCE } from './store.ts';

/**
 * Returns the statement that makes the table, for a merchant's own migrations. It can run any number of times.
 *
 * @throws {ConfigurationError} if `table` is not a plain name in lower case.
 */
export function postgresSchema(table = 'payments_journal'): string {
  assertTableName(table);
  const records = quoteTable(table);
  const name = table.replace(/^.*\./, '');
  const indexes = ['state', 'reference', 'due_at'].map((suffix) => `'${name}_${suffix}'`);
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
    written_at timestamptz NOT NULL,
    kind text,
    state text,
    created_at timestamptz,
    reference text,
    due_at timestamptz
  );
  IF (
    SELECT count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE indrelid = '${records}'::regclass AND relname IN (${indexes.join(', ')})
  ) < ${indexes.length} THEN
    CREATE INDEX IF NOT EXISTS "${name}_state" ON ${records} (state, created_at, key COLLATE "C");
    CREATE INDEX IF NOT EXISTS "${name}_reference" ON ${records} (reference) WHERE reference IS NOT NULL;
    CREATE INDEX IF NOT EXISTS "${name}_due_at" ON ${records} (kind, due_at) WHERE due_at IS NOT NULL;
  END IF;
  PERFORM set_config('client_min_messages', shown_messages, true);
END $$`;
}

/** From milliseconds since 1970, as text. */
const toTime = (milliseconds: string) => `to_timestamp(${milliseconds}::text::float8 / 1000)`;

/** From a number of milliseconds, which can be `NULL`. */
const toInterval = (milliseconds: string) => `${milliseconds}::float8 * interval '1 millisecond'`;

/** A plain name can still be a word of SQL, such as `order`. */
const quoteTable = (table: string) => table.replace(/[^.]+/g, '"$&"');

export type PostgresStatements = ReturnType<typeof buildPostgresStatements>;

/** Whether a statement is in the transaction that has its mark. Without a mark it can be a part of any transaction. */
const INSIDE = `coalesce(current_setting('payments_journal.mark', true) = $1::text, false)`;

/** No two servers have started in the same microsecond. */
const SERVER = '(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint::text';

/** With `synchronous_commit` off, a crash of the server would lose the record of a charge. */
const DURABLE = `(SELECT CASE current_setting('synchronous_commit') WHEN 'off'
  THEN set_config('synchronous_commit', 'on', true) END) AS durable`;

/** The columns of a record that was read. */
const READ_COLUMNS =
  'version, record::text AS record, (extract(epoch FROM clock_timestamp() - written_at) * 1000)::text AS age';

/** Those of one that was listed. Rounded to what is stored, the time comes back as it was. */
const LISTED_COLUMNS = `key, ${READ_COLUMNS},
    round((extract(epoch FROM created_at) * 1000)::numeric, 3)::text AS created`;

/**
 * Builds the statements: each step of the journal is one. Its values are text or `NULL`, and so are its columns: drivers
 * convert other types, each in its own way. The name of a column is one word, because some drivers change `a_name` to `aName`.
 */
export function buildPostgresStatements(table: string) {
  const records = quoteTable(table);
  const indexed = `$5::text, $6::text, ${toTime('$7')}, $8::text, clock_timestamp() + ${toInterval('$9::text')}`;
  const writeResult = `SELECT ${INSIDE}::text AS inside, (SELECT txid FROM written) AS txid, ${SERVER} AS server`;
  const list = (column: string) => `SELECT ${LISTED_COLUMNS} FROM ${records}
      WHERE ${column} = $1::text AND (created_at, key COLLATE "C") > (${toTime('$2')}, $3::text)
      ORDER BY created_at, key COLLATE "C" LIMIT $4::text::int`;
  // Unlike clock_timestamp(), this is looked up in the index. With both ends of a range, PostgreSQL uses the index also
  // before it has statistics of the table.
  const now = 'statement_timestamp()';
  const maxDueAt = `${now} + ${toInterval(String(MAX_DUE_IN))}`;
  const isDue = `due_at > '-infinity' AND due_at <= ${now}`;
  // A clock that went back leaves times later than a write does.
  const isTooLate = `due_at > ${maxDueAt} AND due_at < 'infinity'`;
  const countIf = (condition: string) =>
    `(SELECT count(*) FROM ${records} WHERE kind = $1::text AND ${condition})`;
  const lockDue = (condition: string, limit: string) => `(
        SELECT key, due_at FROM ${records} WHERE kind = $4::text AND ${condition} AND NOT ${INSIDE}
        ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)`;

  return {
    /** `$1` is the mark. It lasts until the transaction ends, which without `BEGIN` is the end of the statement. */
    mark: "SELECT set_config('payments_journal.mark', $1::text, true) AS mark",
    /** `$1` is the key. */
    read: `SELECT ${READ_COLUMNS} FROM ${records} WHERE key = $1::text`,
    /**
     * `$1` is the mark, `$2` the key, and the others are those of `JournalStore.write`. In the transaction that has the mark
     * it does nothing, and `inside` is `true`. It always returns a row: in that, `txid` is `NULL` if nothing was written.
     */
    insert: `WITH written AS (
        INSERT INTO ${records} (key, version, record, kind, state, created_at, reference, due_at, written_at)
        SELECT $2::text, $3::text, $4::text::json, ${indexed}, clock_timestamp() FROM ${DURABLE} WHERE NOT ${INSIDE}
        ON CONFLICT (key) DO NOTHING
        RETURNING txid_current()::text AS txid)
      ${writeResult}`,
    /** As `insert`, and `$10` is the version that the record must have. */
    update: `WITH written AS (
        UPDATE ${records}
        SET version = $3::text, record = $4::text::json,
          (kind, state, created_at, reference, due_at, written_at) = ROW(${indexed}, clock_timestamp())
        FROM ${DURABLE} WHERE key = $2::text AND version = $10::text AND NOT ${INSIDE}
        RETURNING txid_current()::text AS txid)
      ${writeResult}`,
    /**
     * `$1` is the mark, and `$2` a JSON list of writes of different keys, with `created` and `due` in milliseconds. Returns a row
     * for each, if it does anything: `written` is `NULL` for an update that was not made, since another transaction might
     * have locked the record. It waits for no record but one that is just being inserted, so writers do not block each other.
     */
    writeAll: `WITH given AS MATERIALIZED (
        SELECT key, version, record::json AS record, kind, state, ${toTime('created')} AS created_at, reference,
          clock_timestamp() + ${toInterval('due')} AS due_at, clock_timestamp() AS written_at, expected
        FROM json_to_recordset($2::json) AS given (key text, version text, record text, kind text, state text,
          created float8, reference text, due float8, expected text), ${DURABLE} WHERE NOT ${INSIDE}),
      free AS MATERIALIZED (
        SELECT key FROM ${records} AS kept JOIN given USING (key)
        WHERE key = ANY (ARRAY(SELECT key FROM given WHERE expected IS NOT NULL)) AND kept.version = expected
        FOR UPDATE OF kept SKIP LOCKED),
      updated AS (
        UPDATE ${records} AS kept SET (version, record, kind, state, created_at, reference, due_at, written_at) =
          ROW(given.version, given.record, given.kind, given.state, given.created_at, given.reference, given.due_at, given.written_at)
        FROM free JOIN given USING (key) WHERE kept.key = ANY (ARRAY(SELECT key FROM free)) AND kept.key = free.key AND kept.version = expected
        RETURNING kept.key),
      inserted AS (
        INSERT INTO ${records} (key, version, record, kind, state, created_at, reference, due_at, written_at)
        SELECT key, version, record, kind, state, created_at, reference, due_at, written_at
        FROM given WHERE expected IS NULL ORDER BY key
        ON CONFLICT (key) DO NOTHING RETURNING key)
      SELECT key, CASE WHEN key IN (SELECT key FROM updated UNION ALL SELECT key FROM inserted) THEN 'true'
        WHEN expected IS NULL THEN 'false' END AS written
      FROM given`,
    /** Returns the `status` of the transaction of a write: `$1` is its `txid`, and `$2` its `server`, since another can have that number. */
    status: `SELECT CASE ${SERVER} WHEN $2::text THEN txid_status($1::text::bigint) END AS status`,
    /** `$1` is the value, `$2` and `$3` are the last time and key before, and `$4` is the limit. */
    list: { state: list('state'), reference: list('reference') },
    /** `$1` is a JSON list of references. */
    listByReferences: `SELECT found.* FROM json_array_elements_text($1::text::json) AS wanted (name) CROSS JOIN LATERAL (
        SELECT ${LISTED_COLUMNS} FROM ${records} WHERE reference = wanted.name LIMIT ${MAX_KEYS_OF_REFERENCE}) AS found`,
    count: `SELECT state, count(*)::text AS records FROM ${records} WHERE state IS NOT NULL GROUP BY state`,
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
        UPDATE ${records} SET due_at = clock_timestamp() + ${toInterval('$3::text')}
        WHERE key = ANY (ARRAY(SELECT key FROM found))
        RETURNING key, version, record, written_at, created_at, txid_current()::text AS txid)
      SELECT ${INSIDE}::text AS inside, txid, ${SERVER} AS server, ${LISTED_COLUMNS}
      FROM (SELECT) AS one LEFT JOIN (claimed JOIN found USING (key)) ON true ORDER BY due_at`,
    /** `$1` is the kind. */
    countDue: `SELECT (${countIf(isDue)} + ${countIf(isTooLate)})::text AS due,
        (SELECT (extract(epoch FROM min(due_at) - ${now}) * 1000)::text FROM ${records}
          WHERE kind = $1::text AND due_at > ${now} AND due_at <= ${maxDueAt}) AS later`,
    /** `$1` is the mark, as in `insert`, and `$2` a JSON list of objects with `key` and `version`. */
    delete: `WITH deleted AS (
        DELETE FROM ${records} AS kept USING json_to_recordset($2::text::json) AS given (key text, version text)
        WHERE kept.key = given.key AND kept.version = given.version AND NOT ${INSIDE}
        RETURNING txid_current()::text AS txid)
      SELECT ${INSIDE}::text AS inside, (SELECT max(txid) FROM deleted) AS txid, ${SERVER} AS server,
        (SELECT count(*) FROM deleted)::text AS deleted`,
  };
}
