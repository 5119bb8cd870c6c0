/** Reads what the forms of the pages and the requests of scripts send, and refuses what is not valid. */

import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type * as z from 'zod/mini';
import { isFinal } from '../../schedule.ts';
import type { Entry, FinalStatus, Ledger } from '../service/ledger.ts';
import { HttpRejection } from '../service/validate-request.ts';

export type Env = { Bindings: HttpBindings };

/** The fields of a form. None is trusted. */
export type Form = Readonly<Record<string, unknown>>;

/** Parses the fields of a form. A body that cannot be parsed, such as multipart without a boundary, has none. */
export async function parseForm(c: Context<Env>): Promise<Form> {
  try {
    return await c.req.parseBody();
  } catch {
    return {};
  }
}

/** Where fields are given: an error names it. */
export type FieldSource = 'query' | 'body' | 'form';

/** @throws {HttpRejection} if a field is not valid. It names all that are not. */
export function validate<T>(schema: z.ZodMiniType<T>, value: unknown, source: FieldSource): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  // A misspelt field is often the reason why another one is missing.
  const first = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  const field = first?.path.join('.') || `The ${source}`;
  throw new HttpRejection(400, `${field} ${first?.message ?? 'is not valid'}`, {
    fields: issues.map(({ path, message }) => ({ field: path.join('.'), message })),
  });
}

/** Writes fields as the query of an address: empty, or with the question mark. */
export function formatQuery(fields: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(fields).flatMap(([name, value = '']) =>
    value === '' ? [] : [[name, `${value}`]],
  );
  return given.length > 0 ? `?${new URLSearchParams(given)}` : '';
}

/** @throws {HttpRejection} if there is no such transaction */
export function findEntry(ledger: Ledger, reference: unknown): Entry {
  if (typeof reference !== 'string') throw new HttpRejection(400, 'Name a transaction by its reference.');
  const entry = ledger.find(reference);
  if (entry) return entry;
  throw new HttpRejection(404, 'There is no transaction with this reference.');
}

/** Ends a payment as its customer does. A final status stays as it is. */
export function endIfOpen(ledger: Ledger, { reference, status }: Entry, ending: FinalStatus): void {
  if (!isFinal(status)) ledger.end(reference, ending);
}
