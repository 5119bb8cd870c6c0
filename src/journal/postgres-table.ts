/**
 * The two tables of a journal in PostgreSQL, and its statements. What a record is found by is generated from the record
 * itself. So it cannot differ from it, also if an older version of this package writes to the table.
 */

import { ConfigurationError } from '../errors.ts';
import { MAX_CLOCK_STEP, MIN_CLOCK_STEP, RETENTION_MARGIN } from './retention.ts';
import { MAX_DUE_IN } from './store.ts';

/**
 * Returns the statement that makes the two tables, for a merchant's own migrations. It can run any number of times. The
 * second table holds one row: the time that `retention` is measured with.
 *
 * It also changes a table that an older version of this package made: run it before you deploy a newer version. It then
 * rewrites the table once, which takes seconds for each 100,000 records, and charges wait for that. Processes of the older
 * version keep working.
 *
 * @throws {ConfigurationError} if `table` is not a plain name in lower case.
 */
export function postgresSchema(table = 'payments_journal'): string {
  if (typeof table !== 'string' || !/^(?:[a-z_][a-z\d_]{0,62}\.)?[a-z_][a-z\d_]{0,50}$/.test(table))
    throw new ConfigurationError('table must be a plain name in lower case, such as payments_journal.');
  const { records, clock } = quoteTables(table);
  const name = table.replace(/^.*\./, '');
  const indexes = ['kept_until', 'state', 'reference', 'due_at'].map((suffix) => `${name}_${suffix}`);
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
    kept_until float8
  );
  IF NOT EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = '${records}'::regclass AND attname = 'due_at' AND NOT attisdropped
  ) THEN
    ALTER TABLE ${records}
      ADD COLUMN due_at timestamptz,
      ADD COLUMN state text GENERATED ALWAYS AS (${READABLE} ->> 'state') STORED,
      ADD COLUMN created_at timestamptz GENERATED ALWAYS AS (${CREATED_AT}) STORED,
      ADD COLUMN reference text GENERATED ALWAYS AS (${REFERENCE}) STORED;
    UPDATE ${records} SET due_at = clock_timestamp() WHERE state IN ('begun', 'unknown');
  END IF;
  IF (
    SELECT count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE indrelid = '${records}'::regclass AND relname IN (${indexes.map((index) => `'${index}'`).join(', ')})
  ) < ${indexes.length} THEN
    CREATE INDEX IF NOT EXISTS "${name}_kept_until" ON ${records} (kept_until) WHERE kept_until IS NOT NULL;
    CREATE INDEX IF NOT EXISTS "${name}_state" ON ${records} (state, created_at, key COLLATE "C");
    CREATE INDEX IF NOT EXISTS "${name}_reference" ON ${records} (reference) WHERE reference IS NOT NULL;
    CREATE INDEX IF NOT EXISTS "${name}_due_at" ON ${records} (due_at) WHERE due_at IS NOT NULL;
  END IF;
  CREATE TABLE IF NOT EXISTS ${clock} (
    id int PRIMARY KEY CHECK (id = 1),
    counted float8 NOT NULL,
    told_at timestamptz NOT NULL
  );
  INSERT INTO ${clock} VALUES (1, 0, clock_timestamp()) ON CONFLICT DO NOTHING;
  PERFORM set_config('client_min_messages', shown_messages, true);
END $$`;
}

/**
 * The record, so that PostgreSQL can read its fields. It reads no field of a JSON in which any text has a NUL or half a
 * character. The service might send such a text, and the record must be written all the same.
 */
const READABLE = String.raw`regexp_replace(record::text, '\\u(0000|d[89a-f][0-9a-f]{2})', '\\u003f', 'gi')::json`;

/** The latest time of JavaScript's dates, in milliseconds since 1970. A later one could be none of PostgreSQL's. */
const MAX_TIME = 8.64e15;

/** From milliseconds since 1970. */
const toTime = (milliseconds: string) => `to_timestamp(${milliseconds} / 1000)`;

/** Format 1 of the record has no time. */
const CREATED_AT = `CASE WHEN json_typeof(${READABLE} -> 'createdAt') = 'number'
        THEN ${toTime(`least(greatest((${READABLE} ->> 'createdAt')::float8, 0), ${MAX_TIME})`)}
        ELSE written_at END`;

const REFERENCE = `lower(coalesce(${READABLE} -> 'result' ->> 'reference', ${READABLE} ->> 'reference') COLLATE "C")`;

/** From a number of milliseconds, which can be `NULL`. */
const toInterval = (milliseconds: string) => `${milliseconds}::float8 * interval '1 millisecond'`;

/** A plain name can still be a word of SQL, such as `order`. */
function quoteTables(table: string): { records: string; clock: string } {
  const quote = (name: string) => name.replace(/[^.]+/g, '"$&"');
  return { records: quote(table), clock: quote(`${table}_clock`) };
}

/**
 * Each step of the journal is one statement. Its values are text or `NULL`, and so are its columns: drivers convert other
 * types, each in its own way. The name of a column is one word, because some drivers change `a_name` to `aName`.
 */
export interface PostgresStatements {
  /** `$1` is the mark. It lasts until the transaction ends, which without `BEGIN` is the end of the statement. */
  readonly mark: string;
  /** `$1` is the key. */
  readonly read: string;
  /**
   * `$1` is the mark, `$2` the key, and the others are those of `JournalStore.write`. In the transaction that has the mark
   * it does nothing, and `inside` is `true`. It always returns a row: in that, `txid` is `NULL` if nothing was written.
   */
  readonly insert: string;
  /** As `insert`, and `$7` is the version that the record must have. */
  readonly update: string;
  /** `$1` is the `txid` and `$2` the `server` of a write. It returns the `status` of that transaction. */
  readonly status: string;
  /** `$1` is the value, `$2` and `$3` are the last time and key before, and `$4` is the limit. */
  readonly list: { readonly state: string; readonly reference: string };
  readonly count: string;
  /** `$1` is the mark, as in `insert`, `$2` the limit, and `$3` the lease. If it finds nothing, `key` is `NULL`. */
  readonly claimDue: string;
  readonly countDue: string;
}

/** Whether a statement is in the transaction that has its mark. Without a mark it can be a part of any transaction. */
const INSIDE = `coalesce(current_setting('payments_journal.mark', true) = $1::text, false)`;

/** No two servers have started in the same microsecond. */
const SERVER = '(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint::text';

/** With `synchronous_commit` off, a crash of the server would lose the record of a charge. */
const DURABLE = `(SELECT CASE current_setting('synchronous_commit') WHEN 'off'
  THEN set_config('synchronous_commit', 'on', true) END) AS durable`;

/** The time since the counted time was recorded, in milliseconds. */
const CLOCK_STEP = '(extract(epoch FROM clock_timestamp() - told_at) * 1000)::float8';

/** The columns of a record that was read. */
const READ_COLUMNS =
  'version, record::text AS record, (extract(epoch FROM clock_timestamp() - written_at) * 1000)::text AS age';

/** Those of one that was listed. Rounded to what is stored, the time comes back as it was. */
const LISTED_COLUMNS = `key, ${READ_COLUMNS},
    round((extract(epoch FROM created_at) * 1000)::numeric, 3)::text AS created`;

export function buildPostgresStatements(table: string): PostgresStatements {
  const { records, clock } = quoteTables(table);
  const counted = `(SELECT counted + least(${CLOCK_STEP}, ${MAX_CLOCK_STEP}) FROM ${clock})`;
  // What the clock went back is taken away once it is recorded. Until then it must not make a new record look old.
  const stamped = `(SELECT counted + greatest(least(${CLOCK_STEP}, ${MAX_CLOCK_STEP}), 0) FROM ${clock})`;
  const keptUntil = `${stamped} + $5::text::float8 + ${RETENTION_MARGIN}`;
  const written = `clock_timestamp(), ${keptUntil}, clock_timestamp() + ${toInterval('$6::text')}`;
  // No process waits for another one that records it.
  const tick = `ticked AS (
        UPDATE ${clock} SET counted = counted + least(${CLOCK_STEP}, ${MAX_CLOCK_STEP}), told_at = clock_timestamp()
        WHERE id IN (
          SELECT id FROM ${clock} WHERE abs(${CLOCK_STEP}) >= ${MIN_CLOCK_STEP} AND NOT ${INSIDE}
          FOR UPDATE SKIP LOCKED))`;
  const writeResult = `SELECT ${INSIDE}::text AS inside, (SELECT txid FROM written) AS txid, ${SERVER} AS server`;
  const list = (column: string) => `SELECT ${LISTED_COLUMNS} FROM ${records}
      WHERE ${column} = $1::text AND (created_at, key COLLATE "C") > (${toTime('$2::text::float8')}, $3::text)
      ORDER BY created_at, key COLLATE "C" LIMIT $4::text::int`;
  // Unlike clock_timestamp(), this is looked up in the index. With both ends of a range, PostgreSQL uses the index also
  // before it has statistics of the table.
  const now = 'statement_timestamp()';
  const maxDueAt = `${now} + ${toInterval(String(MAX_DUE_IN))}`;
  const isDue = `due_at > '-infinity' AND due_at <= ${now}`;
  // A clock that went back leaves times later than a write does.
  const isTooLate = `due_at > ${maxDueAt} AND due_at < 'infinity'`;
  const lockDue = (condition: string, limit: string) => `(
        SELECT key, due_at FROM ${records} WHERE ${condition} AND NOT ${INSIDE}
        ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)`;

  return {
    mark: "SELECT set_config('payments_journal.mark', $1::text, true) AS mark",
    read: `SELECT ${READ_COLUMNS} FROM ${records} WHERE key = $1::text`,
    // Each write deletes more than it adds, and never so much that it takes long.
    insert: `WITH ${tick}, dropped AS (
        DELETE FROM ${records} WHERE key IN (
          SELECT key FROM ${records} WHERE kept_until <= ${counted} AND key <> $2::text AND NOT ${INSIDE}
          LIMIT 10 FOR UPDATE SKIP LOCKED)),
      written AS (
        INSERT INTO ${records} AS kept (key, version, record, written_at, kept_until, due_at)
        SELECT $2::text, $3::text, $4::text::json, ${written} FROM ${DURABLE} WHERE NOT ${INSIDE}
        ON CONFLICT (key) DO UPDATE SET version = excluded.version, record = excluded.record,
          written_at = excluded.written_at, kept_until = excluded.kept_until, due_at = excluded.due_at
        WHERE kept.kept_until <= ${counted}
        RETURNING txid_current()::text AS txid)
      ${writeResult}`,
    update: `WITH ${tick}, written AS (
        UPDATE ${records} AS kept
        SET version = $3::text, record = $4::text::json, (written_at, kept_until, due_at) = ROW(${written})
        FROM ${DURABLE} WHERE kept.key = $2::text AND kept.version = $7::text AND NOT ${INSIDE}
        RETURNING txid_current()::text AS txid)
      ${writeResult}`,
    // Another server can have a transaction of the same number.
    status: `SELECT CASE ${SERVER} WHEN $2::text THEN txid_status($1::text::bigint) END AS status`,
    list: { state: list('state'), reference: list('reference') },
    count: `SELECT state, count(*)::text AS records FROM ${records} WHERE state IS NOT NULL GROUP BY state`,
    // MATERIALIZED: a subquery that is run again, in a join, would lock more than the limit. With the array, each record is
    // looked up by its key, whatever the database expects to find.
    claimDue: `WITH due AS MATERIALIZED ${lockDue(isDue, '$2::text::int')},
      late AS MATERIALIZED ${lockDue(isTooLate, '$2::text::int - (SELECT count(*) FROM due)')},
      found AS (SELECT * FROM due UNION ALL SELECT * FROM late),
      claimed AS (
        UPDATE ${records} SET due_at = clock_timestamp() + ${toInterval('$3::text')}
        WHERE key = ANY (ARRAY(SELECT key FROM found))
        RETURNING key, version, record, written_at, created_at, txid_current()::text AS txid)
      SELECT ${INSIDE}::text AS inside, txid, ${SERVER} AS server, ${LISTED_COLUMNS}
      FROM (SELECT) AS one LEFT JOIN (claimed JOIN found USING (key)) ON true ORDER BY due_at`,
    countDue: `SELECT (
        (SELECT count(*) FROM ${records} WHERE ${isDue}) +
        (SELECT count(*) FROM ${records} WHERE ${isTooLate}))::text AS due,
        (SELECT (extract(epoch FROM min(due_at) - ${now}) * 1000)::text FROM ${records}
          WHERE due_at > ${now} AND due_at <= ${maxDueAt}) AS next`,
  };
}
