/**
 * At most one charge for each `idempotencyKey`, recorded in PostgreSQL, through `pg`, postgres.js, Prisma or another driver.
 *
 * @module payment-collection-client/journal/postgres
 */

import { ConfigurationError } from '../../errors.ts';
import { assertOptions, createJournal, type JournalOptions } from '../../journal/create-journal.ts';
import type { Journal } from '../../journal/journal.ts';
import { isObject } from '../../support/untrusted.ts';
import type { PostgresClient, PostgresPool } from './connection.ts';
import { isPostgresHandle, type PostgresHandle, suggestHandle } from './handles.ts';
import { createPostgresStore } from './store.ts';
import { postgresSchema } from './table.ts';

export type { JournalOptions } from '../../journal/create-journal.ts';
export type { Journal } from '../../journal/journal.ts';
export type { PooledPostgresClient, PostgresClient, PostgresPool } from './connection.ts';
export {
  fromPostgresJs,
  fromPrisma,
  fromQuery,
  type PostgresHandle,
  type PostgresJsSql,
  type PostgresQuery,
  type PostgresRow,
  type PrismaPostgresClient,
} from './handles.ts';
export { postgresSchema } from './table.ts';

/** What {@link postgresJournal} takes besides the pool. */
export interface PostgresJournalOptions extends JournalOptions {
  /**
   * The table, with its schema if it has one: `payments.journal`.
   *
   * @default 'payments_journal'
   */
  table?: string | undefined;
}

/** A {@link Journal} in PostgreSQL. */
export interface PostgresJournal extends Journal {
  /**
   * Makes the table if it does not exist; a schema named in `table` must exist. It can be called at every start, by any
   * number of processes at once, and needs the right to create tables. If your own migrations make tables, put the text of
   * {@link postgresSchema} there instead. It throws the database's own error.
   */
  migrate(): Promise<void>;
}

/**
 * Makes a journal in PostgreSQL 14 or later, through your own `pg` 8.21 or later, or through what {@link fromPostgresJs},
 * {@link fromPrisma} or {@link fromQuery} returns. docs/guides/postgres.md says what to set, and what is refused.
 *
 * Give it the **`Pool`** with a connection to spare: each write commits by itself, so a transaction of yours on another
 * connection is not affected. While a `Client` is inside a transaction of yours, `read`, `list` and a `resolve` without a
 * reference are part of that. Charging and follow-ups are refused: what is recorded there could be rolled back after the charge.
 *
 * @throws {ConfigurationError} if an option cannot work.
 *
 * @example
 * ```ts
 * import { Pool } from 'pg';
 * import { postgresJournal } from 'payment-collection-client/journal/postgres';
 *
 * const journal = postgresJournal(new Pool());
 * await journal.migrate();
 * const payments = new PaymentsClient({ journal });
 * ```
 */
export function postgresJournal(
  client: PostgresPool | PostgresClient | PostgresHandle,
  options: PostgresJournalOptions = {},
): PostgresJournal {
  const { table = 'payments_journal', ...rest } = assertOptions(options, 'table');
  assertClient(client);
  const schema = postgresSchema(table);
  const journal = createJournal(createPostgresStore(client, table), rest);
  return Object.assign(journal, {
    async migrate() {
      await (isPostgresHandle(client) ? client.runSchema(schema) : client.query(schema));
    },
  });
}

function assertClient(client: PostgresPool | PostgresClient | PostgresHandle): void {
  const handle = suggestHandle(client);
  if (handle !== undefined)
    throw new ConfigurationError(`postgresJournal cannot use this as it is. Use ${handle}.`);
  if (isObject(client) && (isPostgresHandle(client) || typeof client.query === 'function')) return;
  throw new ConfigurationError(
    'postgresJournal takes a Pool or a Client of pg. Use fromPostgresJs, fromPrisma or fromQuery for any other driver.',
  );
}
