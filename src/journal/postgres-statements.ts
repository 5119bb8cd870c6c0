/** Each step of the journal is one statement. `$1` is the key, and the others are as `JournalStore.write` has them. */
export interface PostgresStatements {
  readonly read: string;
  readonly insert: string;
  readonly update: string;
}

/** Whoever has turned it off for speed would lose the record of a charge when the server crashes. */
const DURABLE = `(SELECT CASE current_setting('synchronous_commit') WHEN 'off'
  THEN set_config('synchronous_commit', 'on', true) END) AS durable`;

const WRITTEN = "clock_timestamp(), clock_timestamp() + $4::float8 * interval '1 millisecond'";

export function postgresStatements(table: string): PostgresStatements {
  return {
    read: `SELECT version, record::text AS record, extract(epoch FROM clock_timestamp() - written_at) * 1000 AS age
      FROM ${table} WHERE key = $1 AND (dropped_at IS NULL OR dropped_at > clock_timestamp())`,
    // Each write drops more than it adds, and never so much that it takes long.
    insert: `WITH dropped AS (
        DELETE FROM ${table} WHERE key IN (
          SELECT key FROM ${table} WHERE dropped_at <= clock_timestamp() AND key <> $1
          LIMIT 10 FOR UPDATE SKIP LOCKED))
      INSERT INTO ${table} AS kept (key, version, record, written_at, dropped_at)
      SELECT $1, $2, $3::json, ${WRITTEN} FROM ${DURABLE}
      ON CONFLICT (key) DO UPDATE SET version = excluded.version, record = excluded.record,
        written_at = excluded.written_at, dropped_at = excluded.dropped_at
      WHERE kept.dropped_at <= clock_timestamp()
      RETURNING 1`,
    update: `UPDATE ${table} AS kept SET version = $2, record = $3::json, (written_at, dropped_at) = ROW(${WRITTEN})
      FROM ${DURABLE} WHERE kept.key = $1 AND kept.version = $5 RETURNING 1`,
  };
}
