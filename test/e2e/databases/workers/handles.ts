/**
 * A Worker that runs statements for other processes: on its D1 database, and through the handle of a Durable Object. So
 * processes that are not in workerd share what workerd keeps.
 */

import type { D1Database, DurableObjectNamespace, DurableObjectState } from '@cloudflare/workers-types';
import {
  fromDurableObject,
  type SqliteHandle,
  type SqliteStatement,
} from '../../../../src/stores/sqlite/index.ts';

interface Env {
  readonly DB: D1Database;
  readonly OBJECTS: DurableObjectNamespace;
}

/** Runs what comes in as JSON, and returns its result, or the message of its error. */
async function respond(
  request: Request,
  run: (statements: readonly SqliteStatement[]) => Promise<unknown>,
): Promise<Response> {
  try {
    return Response.json({ result: await run(await request.json()) });
  } catch (error) {
    return Response.json({ error: String(Object(error).message) });
  }
}

export class Shop {
  readonly #handle: SqliteHandle;

  constructor({ storage }: DurableObjectState) {
    this.#handle = fromDurableObject(storage);
  }

  fetch(request: Request): Promise<Response> {
    return respond(request, (statements) => this.#handle.batch(statements));
  }
}

export default {
  async fetch(request: Request, { DB, OBJECTS }: Env): Promise<Response> {
    if (new URL(request.url).pathname === '/d1')
      return respond(request, (statements) =>
        DB.batch(statements.map(({ sql, values }) => DB.prepare(sql).bind(...values))),
      );
    const body = await request.text();
    const response = await OBJECTS.get(OBJECTS.idFromName('shop')).fetch(request.url, {
      method: 'POST',
      body,
    });
    return Response.json(await response.json());
  },
};
