/** The handle of a journal on a D1 database of Cloudflare, as a Worker has it. */

import { ConfigurationError } from '../../errors.ts';
import { sleep } from '../../support/timing.ts';
import { isReadOnly, type SqliteHandle, type SqliteStatement } from './handle.ts';

/** What is used of a statement of D1. */
export interface D1Statement {
  bind(...values: (string | number | null)[]): D1Statement;
}

/** What is used of the D1 database that a Worker has as `env.DB`. */
export interface D1Binding {
  prepare(query: string): D1Statement;
  batch(
    statements: D1Statement[],
  ): Promise<readonly { readonly success: boolean; readonly results: readonly unknown[] }[]>;
  /** It is not called. Only a database has it: a session, which can read from a replica, is a type error. */
  withSession(bookmark?: string): unknown;
}

/**
 * Makes the handle of a journal on Cloudflare D1. Each step of the journal is one `batch`, which D1 runs in a transaction of
 * its own. There is no transaction of yours that it could be a part of.
 *
 * Give it the database itself. Its queries all go to the primary. A session of it (`withSession`) can read from a replica,
 * which might not have a charge yet, and is refused.
 *
 * If D1 loses the connection, a step that only reads is repeated up to three times. A write is not repeated: the journal
 * reads whether it was made.
 *
 * @throws {ConfigurationError} if it is not a D1 database, or if it is a session.
 *
 * @example
 * ```ts
 * import { fromD1, sqliteJournal } from 'payment-collection-client/journal/sqlite';
 *
 * // For each request, with its `env`: what one request of a Worker waits for must not belong to another one.
 * const payments = new PaymentsClient({ apiKey: env.API_KEY, journal: sqliteJournal(fromD1(env.DB)) });
 * ```
 */
export function fromD1(database: D1Binding): SqliteHandle {
  if (typeof database?.prepare !== 'function' || typeof database.batch !== 'function')
    throw new ConfigurationError('fromD1 takes a D1 database, such as env.DB.');
  if ('getBookmark' in database)
    throw new ConfigurationError(
      'fromD1 takes the D1 database itself, such as env.DB: a session of it can read from a replica, which might not have ' +
        'a charge yet.',
    );
  const run = async (statements: readonly SqliteStatement[]) => {
    const bound = statements.map(({ sql, values }) => database.prepare(sql).bind(...values));
    const results = await database.batch(bound);
    if (results.length === bound.length && results.every(({ success }) => success === true))
      return results.map((result) => result.results.map((row) => ({ ...Object(row) })));
    throw new Error('D1 did not confirm each statement of a batch.');
  };
  return {
    batch: (statements) => (isReadOnly(statements) ? retryRead(() => run(statements)) : run(statements)),
  };
}

/** Delays before the retries of a read, in milliseconds. */
const RETRY_DELAYS = [50, 200, 800];

async function retryRead<T>(read: () => Promise<T>): Promise<T> {
  for (const delay of RETRY_DELAYS) {
    try {
      return await read();
    } catch (error) {
      if (!isTemporaryD1Error(error)) throw error;
    }
    // Processes that lost their connections at the same time must not all come back at once.
    await sleep(delay * (0.5 + Math.random()), undefined);
  }
  return read();
}

/**
 * What Cloudflare recommends to retry. An overloaded database is not in the list: retries would keep it so.
 *
 * @see https://developers.cloudflare.com/d1/best-practices/retry-queries/
 */
function isTemporaryD1Error(error: unknown): boolean {
  const messages =
    /Network connection lost|storage caused object to be reset|reset because its code was updated/;
  return messages.test(String(error));
}
