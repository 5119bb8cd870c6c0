/** The functions for `fromQuery` of the query builders, as docs/guides/postgres.md shows them. */

import { type SQL, sql } from 'drizzle-orm';
import { CompiledQuery, type Kysely } from 'kysely';
import { fromQuery } from '../../../src/journal/postgres.ts';

/** Drizzle takes no text with `$1`. So each `$1` becomes one of its parameters. */
export const fromDrizzle = (db: { execute(query: SQL): PromiseLike<unknown> }) =>
  fromQuery((text, values) => {
    const parts = text
      .split(/\$(\d+)/)
      .map((part, index) => (index % 2 === 0 ? sql.raw(part) : sql.param(values[Number(part) - 1])));
    return db.execute(sql.join(parts));
  });

export const fromKysely = (db: Kysely<unknown>) =>
  fromQuery((text, values) => db.executeQuery(CompiledQuery.raw(text, values)));
