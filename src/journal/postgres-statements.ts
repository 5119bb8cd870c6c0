import { LONGEST_STEP, MARGIN, SHORTEST_STEP } from './counted-time.ts';

/** Each step of the journal is one statement. `$1` is the key, and the others are as `JournalStore.write` has them. */
export interface PostgresStatements {
  readonly read: string;
  readonly insert: string;
  readonly update: string;
}

/** Whoever has turned it off for speed would lose the record of a charge when the server crashes. */
const DURABLE = `(SELECT CASE current_setting('synchronous_commit') WHEN 'off'
  THEN set_config('synchronous_commit', 'on', true) END) AS durable`;

/** Since the counted time was recorded, in milliseconds. */
const STEP = '(extract(epoch FROM clock_timestamp() - told_at) * 1000)::float8';

/** `table` and `clock` are quoted. */
export function postgresStatements(table: string, clock: string): PostgresStatements {
  const counted = `(SELECT counted + least(${STEP}, ${LONGEST_STEP}) FROM ${clock})`;
  // What the clock went back is taken away once it is recorded. Until then it must not make a new record look old.
  const stamped = `(SELECT counted + greatest(least(${STEP}, ${LONGEST_STEP}), 0) FROM ${clock})`;
  const written = `clock_timestamp(), ${stamped} + $4::float8 + ${MARGIN}`;
  // Nobody waits for another process that records it.
  const tick = `ticked AS (
        UPDATE ${clock} SET counted = counted + least(${STEP}, ${LONGEST_STEP}), told_at = clock_timestamp()
        WHERE id IN (SELECT id FROM ${clock} WHERE abs(${STEP}) >= ${SHORTEST_STEP} FOR UPDATE SKIP LOCKED))`;
  return {
    read: `SELECT version, record::text AS record, extract(epoch FROM clock_timestamp() - written_at) * 1000 AS age
      FROM ${table} WHERE key = $1`,
    // Each write drops more than it adds, and never so much that it takes long.
    insert: `WITH ${tick}, dropped AS (
        DELETE FROM ${table} WHERE key IN (
          SELECT key FROM ${table} WHERE kept_until <= ${counted} AND key <> $1
          LIMIT 10 FOR UPDATE SKIP LOCKED))
      INSERT INTO ${table} AS kept (key, version, record, written_at, kept_until)
      SELECT $1, $2, $3::json, ${written} FROM ${DURABLE}
      ON CONFLICT (key) DO UPDATE SET version = excluded.version, record = excluded.record,
        written_at = excluded.written_at, kept_until = excluded.kept_until
      WHERE kept.kept_until <= ${counted}
      RETURNING 1`,
    update: `WITH ${tick}
      UPDATE ${table} AS kept SET version = $2, record = $3::json, (written_at, kept_until) = ROW(${written})
      FROM ${DURABLE} WHERE kept.key = $1 AND kept.version = $5 RETURNING 1`,
  };
}
