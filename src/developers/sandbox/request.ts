/** Reads what the forms of the pages and the requests of scripts send, and refuses what is not valid. */

import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type * as z from 'zod/mini';
import { parseJson } from '../../support/untrusted.ts';
import type { Entry, Ledger } from '../service/ledger.ts';
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

/** Parses the JSON body of a request. An empty one counts as `{}`. */
export async function parseBody<T>(c: Context, schema: z.ZodMiniType<T>): Promise<T> {
  const text = await c.req.text();
  const body = text.trim() === '' ? {} : parseJson(text);
  // JSON has no `undefined`: the body could not be parsed.
  if (body === undefined) throw new HttpRejection(400, 'The body is not JSON.');
  return validate(schema, body, 'body');
}

export function parseQuery<T>(c: Context, schema: z.ZodMiniType<T>): T {
  return validate(schema, c.req.query(), 'query');
}

function validate<T>(schema: z.ZodMiniType<T>, value: unknown, name: 'body' | 'query'): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  // A misspelt field is often the reason why another one is missing.
  const isMisspelt = ({ code }: { code: string | undefined }) => code === 'unrecognized_keys';
  const { issues } = parsed.error;
  const first = issues.find(isMisspelt) ?? issues[0];
  const field = first?.path.join('.') || `The ${name}`;
  throw new HttpRejection(400, `${field} ${first?.message ?? 'is not valid'}`, {
    fields: issues.map(({ path, message }) => ({ field: path.join('.'), message })),
  });
}

/** Returns what a control returns. A value that it refuses is an error of the request. */
export function refuseInvalid<T>(control: () => T): T {
  try {
    return control();
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    throw new HttpRejection(400, error.message);
  }
}

/** @throws {HttpRejection} if there is no such transaction */
export function findEntry(ledger: Ledger, reference: unknown): Entry {
  if (typeof reference !== 'string') throw new HttpRejection(400, 'Name a transaction by its reference.');
  const entry = ledger.find(reference);
  if (entry) return entry;
  throw new HttpRejection(404, 'There is no transaction with this reference.');
}
