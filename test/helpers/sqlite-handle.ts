import type { DatabaseSync } from 'node:sqlite';
import type { SqliteHandle } from '../../src/journal/sqlite.ts';

/** A handle of promises on a connection of `node:sqlite`, as drivers of remote databases have one. */
export function createSqliteHandle(database: DatabaseSync): SqliteHandle {
  return {
    async batch(statements) {
      database.exec('BEGIN IMMEDIATE');
      try {
        const results = statements.map(({ sql, values }) => database.prepare(sql).all(...values));
        database.exec('COMMIT');
        return results;
      } catch (error) {
        database.exec('ROLLBACK');
        throw error;
      }
    },
  };
}
