/**
 * Proves that what a journal writes is committed, through a driver that cannot show whether a connection is inside a
 * transaction. What is recorded there could be rolled back after the charge.
 *
 * Before a write, a mark is set that lasts until the end of its transaction. Outside a transaction, that is the end of the
 * statement itself. A write that finds the mark is inside a transaction: it does nothing. So nothing of the journal is
 * written into a transaction of the merchant, not even a row lock.
 *
 * The transaction might also begin between the two statements, or on one connection of several. So a write returns the
 * number of its transaction, and PostgreSQL is asked for the status of that. Only `committed` is proof. While the
 * transaction is open, its status is `in progress` for everyone, also for itself. Another server can have another
 * transaction of that number. So only the server that wrote is believed, in the same run.
 */

import * as z from 'zod/mini';
import { JournalError } from '../../errors.ts';
import { hasSqlState, IS_ABORTED, IS_OVERTAKEN } from './errors.ts';
import { type PostgresHandle, type PostgresRow, parseColumns } from './handles.ts';
import type { PostgresStatements } from './table.ts';

const markSchema = z.object({ mark: z.string() });
const resultSchema = z.object({ inside: z.string(), txid: z.nullable(z.string()), server: z.string() });
const statusSchema = z.object({ status: z.nullable(z.string()) });

/**
 * Runs `insert`, `update`, `claimDue` or `delete`. What it wrote is committed once this returns. Returns `undefined` if a concurrent
 * write was first, with a strict isolation level: nothing was written. The mark is added to the values.
 */
export async function writeCommitted(
  handle: PostgresHandle,
  sql: PostgresStatements,
  statement: string,
  values: readonly (string | null)[],
): Promise<readonly PostgresRow[] | undefined> {
  if (handle.isTransaction) throw insideTransaction(false);
  const mark = crypto.randomUUID();
  await setMark(handle, sql, mark);
  let rows: readonly PostgresRow[];
  try {
    rows = await handle.runStatement(statement, [mark, ...values]);
  } catch (error) {
    if (hasSqlState(error, IS_OVERTAKEN)) return undefined;
    throw error;
  }
  const { inside, txid, server } = parseColumns(resultSchema, rows[0]);
  if (inside !== 'false') throw insideTransaction();
  if (txid !== null) await assertCommitted(handle, sql, txid, server);
  return rows;
}

async function setMark(handle: PostgresHandle, sql: PostgresStatements, mark: string): Promise<void> {
  try {
    const [row] = await handle.runStatement(sql.mark, [mark]);
    if (parseColumns(markSchema, row).mark === mark) return;
  } catch (error) {
    throw hasSqlState(error, IS_ABORTED) ? insideTransaction() : error;
  }
  throw unproven('not known: a query returned the result of another one');
}

async function assertCommitted(
  handle: PostgresHandle,
  sql: PostgresStatements,
  txid: string,
  server: string,
): Promise<void> {
  const [row] = await handle.runStatement(sql.status, [txid, server]);
  const { status } = parseColumns(statusSchema, row);
  if (status === 'committed') return;
  throw status === 'in progress'
    ? insideTransaction()
    : unproven(status ?? 'not known to the server that answered');
}

/** Runs `insert` or `update` as a part of any transaction that is open. Returns `undefined` as above. */
export async function writeAnywhere(
  handle: PostgresHandle,
  sql: PostgresStatements,
  statement: string,
  values: readonly (string | null)[],
): Promise<readonly PostgresRow[] | undefined> {
  try {
    return await handle.runStatement(statement, [null, ...values]);
  } catch (error) {
    if (!hasSqlState(error, IS_OVERTAKEN)) throw error;
    // A transaction of the merchant has failed as a whole: its next statement fails too, and its own error is needed.
    await handle.runStatement(sql.mark, ['']).catch(() => {
      throw error;
    });
    return undefined;
  }
}

/** @param retryable - Whether the same handle can be outside a transaction later. */
const insideTransaction = (retryable = true) =>
  new JournalError(
    "The journal's handle is inside a transaction, which could be rolled back after the charge. Nothing is sent without " +
      'a committed record. Give the journal a handle outside it.',
    { retryable },
  );

const unproven = (status: string) =>
  new JournalError(
    `PostgreSQL does not confirm that the record is committed: its transaction is ${status}. Nothing is sent without that. ` +
      'Connect the journal to the primary.',
    { retryable: true },
  );
