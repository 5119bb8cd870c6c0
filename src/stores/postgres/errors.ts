/** What errors of PostgreSQL mean, in the form of any driver. */

import { isObject } from '../../support/untrusted.ts';
import { explainMissingTable } from '../sql.ts';

/** With a strict isolation level, the database refuses a write that a concurrent one has overtaken: none was made. */
export const IS_OVERTAKEN = ['40001'];

/** The transaction has failed. Each further statement of it fails too. */
export const IS_ABORTED = ['25P02'];

/**
 * A prepared statement could not be executed: the server does not have it (after `DISCARD ALL`, for example), has another
 * one of that name, or its table was changed. Nothing was done.
 */
export const IS_UNPREPARED = ['26000', '42P05', '0A000'];

/** A table does not exist. */
const IS_MISSING = ['42P01'];

const MAX_CAUSE_DEPTH = 5;

/**
 * Whether an error has one of these codes of PostgreSQL. Most drivers put it into `code`, and Drizzle into that of `cause`.
 * Prisma 7 puts it into `meta.driverAdapterError.cause.originalCode`, and older versions into `meta.code`.
 */
export function hasSqlState(error: unknown, states: readonly string[], depth = 0): boolean {
  if (!isObject(error) || depth > MAX_CAUSE_DEPTH) return false;
  const { code, originalCode, cause, meta, driverAdapterError } = Object(error);
  return (
    [code, originalCode].some((state) => states.includes(state)) ||
    [cause, meta, driverAdapterError].some((inner) => hasSqlState(inner, states, depth + 1))
  );
}

export const explainMissingTablePostgres = explainMissingTable(
  (error) => hasSqlState(error, IS_MISSING),
  'Nothing was recorded. Run journal.migrate(), or the text of postgresSchema().',
);
