/** How a journal reaches PostgreSQL without `pg`: through postgres.js, Prisma, or any function that runs a statement. */

import * as z from 'zod/mini';
import { ConfigurationError, JournalError } from '../../errors.ts';
import { isObject } from '../../support/untrusted.ts';

/** A row whose columns are text or `NULL`. */
export type PostgresRow = Readonly<Record<string, string | null>>;

/**
 * PostgreSQL, through a driver of yours. Make it with {@link fromPostgresJs}, {@link fromPrisma} or {@link fromQuery}, and
 * give it to {@link postgresJournal}.
 */
export interface PostgresHandle {
  /** Runs one statement. Its values are text or `null`, and so are the columns of the rows that it returns. */
  runStatement(text: string, values: readonly (string | null)[]): Promise<readonly PostgresRow[]>;
  /** Runs the statement that makes the tables. */
  runSchema(text: string): Promise<void>;
  /** Whether it can be seen without a query that each statement would be part of a transaction. */
  readonly isTransaction: boolean;
}

/** What is used of `postgres()`, which is usually named `sql`. */
export interface PostgresJsSql {
  /** Runs a statement. Without values it can be any statement that returns no rows. */
  unsafe(text: string, values?: (string | null)[]): PromiseLike<readonly object[]>;
}

/** What is used of a `PrismaClient`. */
export interface PrismaPostgresClient {
  /** Runs a statement, and returns its rows. */
  $queryRawUnsafe(text: string, ...values: (string | null)[]): PromiseLike<unknown>;
  /** Runs a statement that returns no rows. */
  $executeRawUnsafe(text: string): PromiseLike<unknown>;
}

/**
 * Runs one statement, with `$1`, `$2` and so on for its values, and returns its rows as objects, or an object that has them
 * as `rows`. Each value is text or `null`.
 */
export type PostgresQuery = (text: string, values: (string | null)[]) => PromiseLike<unknown>;

/**
 * Returns a handle of postgres.js for {@link postgresJournal}. Any options of `postgres()` can be set, `transform` too. With
 * PgBouncer before version 1.21 it needs `prepare: false`, as for your own queries.
 *
 * Give it `sql` itself. Inside `sql.begin`, charging with the handle of that transaction is refused.
 *
 * @throws {ConfigurationError} if `sql` is not what `postgres()` returns.
 *
 * @example
 * ```ts
 * const journal = postgresJournal(fromPostgresJs(sql)); // sql: what postgres() returns
 * ```
 */
export function fromPostgresJs(sql: PostgresJsSql): PostgresHandle {
  if (typeof sql?.unsafe !== 'function')
    throw new ConfigurationError('fromPostgresJs takes what postgres() of postgres.js returns.');
  return {
    isTransaction: 'savepoint' in sql && !('begin' in sql),
    runStatement: async (text, values) => readRows(await sql.unsafe(text, [...values])),
    runSchema: async (text) => void (await sql.unsafe(text)),
  };
}

/**
 * Returns a handle of Prisma for {@link postgresJournal}. A client with extensions works too.
 *
 * Give it the `PrismaClient`. Inside `prisma.$transaction`, charging with the client of that transaction is refused.
 *
 * @throws {ConfigurationError} if `prisma` is not a `PrismaClient`.
 *
 * @example
 * ```ts
 * const journal = postgresJournal(fromPrisma(prisma)); // prisma: your PrismaClient
 * ```
 */
export function fromPrisma(prisma: PrismaPostgresClient): PostgresHandle {
  if (typeof prisma?.$queryRawUnsafe !== 'function' || typeof prisma.$executeRawUnsafe !== 'function')
    throw new ConfigurationError('fromPrisma takes a PrismaClient of a PostgreSQL database.');
  return {
    // The client of a transaction has no $connect. Prisma 7 gives it a $transaction, for savepoints.
    isTransaction: !hasMethod(prisma, '$connect'),
    runStatement: async (text, values) => readRows(await prisma.$queryRawUnsafe(text, ...values)),
    runSchema: async (text) => void (await prisma.$executeRawUnsafe(text)),
  };
}

/**
 * Returns a handle for {@link postgresJournal} of any driver: Neon, PGlite, Drizzle, Kysely and others. The function must
 * run the statement as it is, once, on the primary server, and outside any transaction. A statement has to be committed
 * when its result comes back.
 *
 * @throws {ConfigurationError} if `query` is not a function.
 *
 * @example
 * ```ts
 * // neonSql: what neon() of @neondatabase/serverless returns
 * const journal = postgresJournal(fromQuery((text, values) => neonSql.query(text, values)));
 * ```
 */
export function fromQuery(query: PostgresQuery): PostgresHandle {
  if (typeof query !== 'function')
    throw new ConfigurationError('fromQuery takes a function: (text, values) => rows.');
  return {
    isTransaction: false,
    runStatement: async (text, values) => readRows(await query(text, [...values])),
    runSchema: async (text) => void (await query(text, [])),
  };
}

export const isPostgresHandle = (client: object): client is PostgresHandle =>
  'runStatement' in client && 'runSchema' in client;

const MADE_WITH = {
  postgresJs: 'fromPostgresJs(sql)',
  prisma: 'fromPrisma(prisma)',
  query: 'fromQuery((text, values) => rows)',
};

/** Returns how a handle that is not of `pg` is given to the journal; `undefined` for what can be of `pg`. */
export function suggestHandle(client: unknown): string | undefined {
  if (typeof client === 'function')
    return hasMethod(client, 'unsafe') && !hasMethod(client, 'transaction')
      ? MADE_WITH.postgresJs
      : MADE_WITH.query;
  if (!isObject(client)) return undefined;
  if (hasMethod(client, '$queryRawUnsafe')) return MADE_WITH.prisma;
  // Drizzle, Kysely, and PGlite, whose query is otherwise like that of pg.
  const isOther = ['execute', 'executeQuery', 'exec'].some((name) => hasMethod(client, name));
  return isOther ? MADE_WITH.query : undefined;
}

const hasMethod = (owner: object, name: string) => typeof Reflect.get(owner, name) === 'function';

const rowSchema = z.record(z.string(), z.nullable(z.string()));

function readRows(result: unknown): PostgresRow[] {
  const rows: unknown = Array.isArray(result) ? result : Object(result).rows;
  if (!Array.isArray(rows)) throw unreadableRows();
  return rows.map(readRow);
}

/** Some drivers write the names of columns with a capital letter. */
function readRow(row: unknown): PostgresRow {
  const columns = Object.entries(Object(row)).map(([name, value]) => [name.toLowerCase(), value]);
  return parseColumns(rowSchema, Object.fromEntries(columns));
}

/** Returns the columns of a row, as a schema has them. What cannot be read must not count as "nothing was found". */
export function parseColumns<T>(schema: z.ZodMiniType<T>, row: unknown): T {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  throw unreadableRows();
}

export const unreadableRows = () =>
  new JournalError(
    'The query of the journal must return [{ column: text }] or { rows: [{ column: text }] }. Its result cannot be read. ' +
      'Nothing is sent without a record.',
  );
