/** Sends statements from this process to the Worker `workers/shop.ts`, which runs them in workerd. */

import * as z from 'zod';
import type { D1Binding, D1Statement, SqliteHandle } from '../../../src/stores/sqlite/index.ts';

const row = z.record(z.string(), z.unknown());
const rows = z.array(z.array(row));
const d1Results = z.array(z.object({ success: z.boolean(), results: z.array(row) }));
const responseSchema = z.object({ result: z.optional(z.unknown()), error: z.optional(z.string()) });

/** Returns what a Worker has as `env.DB`. A connection that breaks is reported as D1 reports it. */
export function connectD1(place: string): D1Binding {
  return {
    prepare: (sql) => createStatement(sql, []),
    batch: async (statements) => d1Results.parse(await send(`${place}/d1/statements`, statements)),
    withSession: () => {
      throw new Error('There is no session of a database that another process has.');
    },
  };
}

/** Returns the handle that the Durable Object has on its own storage. */
export function connectObject(place: string): SqliteHandle {
  return { batch: async (statements) => rows.parse(await send(`${place}/object/statements`, statements)) };
}

/** Returns all that is in the table of a journal, as text. */
export async function dumpTables(handle: SqliteHandle): Promise<string> {
  const rows = await handle.batch([{ sql: 'SELECT * FROM payments_journal', values: [] }]);
  return JSON.stringify(rows);
}

/** As JSON it is its text and values. */
function createStatement(sql: string, values: readonly unknown[]): D1Statement {
  return Object.assign({ sql, values }, { bind: (...bound: unknown[]) => createStatement(sql, bound) });
}

async function send(url: string, statements: unknown): Promise<unknown> {
  const body = JSON.stringify(statements);
  // workerd closes an idle connection after seconds, which a busy process notices only when it sends over it.
  const headers = { connection: 'close' };
  const response = await fetch(url, { method: 'POST', headers, body }).catch((cause: unknown) => {
    throw new Error('D1_ERROR: Network connection lost.', { cause });
  });
  const { result, error } = responseSchema.parse(await response.json());
  if (error === undefined) return result;
  throw new Error(error);
}
