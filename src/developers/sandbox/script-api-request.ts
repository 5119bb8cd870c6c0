import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type * as z from 'zod/mini';
import { parseJson } from '../../support/untrusted.ts';
import { HttpRejection, isJsonType } from '../service/validate-request.ts';

/** Returns a refused request as the API sends it. The path of a field is such as `fault.kind`: empty for the whole body. */
export function toErrorResponse({ status, message, fields, headers }: HttpRejection, c: Context): Response {
  const issues = fields.map((issue) => ({ path: issue.field, message: issue.message }));
  const error = issues.length > 0 ? { message, issues } : { message };
  const response = Response.json({ error }, { status, headers: { ...headers } });
  return c.newResponse(response.body, response);
}

const MAX_BODY_BYTES = 65_536;

/**
 * Keeps pages of other websites out. A browser can send their requests to this machine, without its user's knowledge.
 *
 * A write needs the content type of JSON: a browser then first asks for permission, which no response gives. No response
 * has a CORS header, so that no other page can read it.
 *
 * @param ownUrl the address of the sandbox. Behind a TLS proxy a request arrives as http, and its origin is https.
 */
export function refuseOtherSites(ownUrl: string): MiddlewareHandler {
  return async (c, next) => {
    c.header('cache-control', 'no-store');
    c.header('cross-origin-resource-policy', 'same-origin');
    c.header('x-content-type-options', 'nosniff');
    const { method } = c.req;
    if (method === 'GET' || method === 'HEAD') return next();
    const origin = c.req.header('origin');
    const site = c.req.header('sec-fetch-site');
    const isOwnOrigin = origin === undefined || origin === ownUrl || origin === new URL(c.req.url).origin;
    const isOwnSite = site === undefined || site === 'same-origin' || site === 'none';
    if (!isOwnOrigin || !isOwnSite) {
      throw new HttpRejection(403, 'Pages of other websites cannot use this API. Nothing was changed.');
    }
    if (!isJsonType(c.req.header('content-type')) && (method === 'POST' || method === 'PUT')) {
      throw new HttpRejection(
        415,
        'The Content-Type must be application/json, also without a body. Nothing was changed.',
      );
    }
    return next();
  };
}

export const limitBody = bodyLimit({
  maxSize: MAX_BODY_BYTES,
  onError: () => {
    throw new HttpRejection(413, `The body is larger than ${MAX_BODY_BYTES} bytes. Nothing was changed.`);
  },
});

/** Parses the JSON body of a request. An empty one counts as `{}`. */
export async function parseBody<T>(c: Context, schema: z.ZodMiniType<T>): Promise<T> {
  const text = await c.req.text();
  const body = text.trim() === '' ? {} : parseJson(text);
  // JSON has no `undefined`: the body could not be parsed.
  if (body === undefined) throw new HttpRejection(400, 'The body is not JSON. Nothing was changed.');
  return validate(schema, body, 'body');
}

/** Parses the query of a request. */
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
  throw new HttpRejection(400, explainUnchanged(`${field} ${first?.message ?? 'is not valid'}`), {
    fields: issues.map(({ path, message }) => ({ field: path.join('.'), message })),
  });
}

const MAX_MESSAGE_CHARS = 200;

/** Adds that nothing was changed, unless the message is already long. */
function explainUnchanged(message: string): string {
  const sentence = /[.?]$/.test(message) ? message : `${message}.`;
  const whole = `${sentence} Nothing was changed.`;
  return whole.length > MAX_MESSAGE_CHARS ? sentence : whole;
}

/** Returns what a control returns. A value that it refuses is an error of the request. */
export function refuseInvalid<T>(control: () => T): T {
  try {
    return control();
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    throw new HttpRejection(400, explainUnchanged(error.message));
  }
}
