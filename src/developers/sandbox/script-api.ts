import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { Hono } from 'hono/tiny';
import { isRecord, parseJson } from '../../support/untrusted.ts';
import { HttpRejection } from '../service/validate-request.ts';
import { refuseOtherScripts } from './guards.ts';
import { validate } from './request.ts';
import { noFields, SCRIPT_API_PATH, type ScriptRoute, type ScriptRoutes } from './script-routes.ts';

const MAX_BODY_BYTES = 65_536;

/** Creates the API by which scripts and tests do what the pages and the object `sandbox` do. */
export function createScriptApi(routes: ScriptRoutes, url: string): Hono {
  const app = new Hono();
  app.onError((error, c) => {
    if (error instanceof HttpRejection) return toErrorResponse(error, c);
    throw error;
  });
  const refuseLargeBody = () => {
    throw new HttpRejection(413, `The body is larger than ${MAX_BODY_BYTES} bytes.`);
  };
  app.use(refuseOtherScripts(url), bodyLimit({ maxSize: MAX_BODY_BYTES, onError: refuseLargeBody }));
  const methods = new Map<string, string[]>();
  for (const [name, route] of Object.entries(routes)) {
    const [method = '', path = ''] = name.split(' ');
    app.on(method, path, (c) => respond(c, route, method));
    methods.set(path, [...(methods.get(path) ?? []), method]);
  }
  for (const [path, allowed] of methods) {
    app.all(path, () => {
      const allow = allowed.join(', ');
      throw new HttpRejection(405, `Use ${allow}.`, { headers: { allow } });
    });
  }
  app.all('*', () => {
    throw new HttpRejection(404, `There is no such path. ${SCRIPT_API_PATH} lists what there is.`);
  });
  return app;
}

/** A GET has its fields in the query. Any other request has them in its body, and no query, which would not narrow what it changes. */
async function respond(c: Context, { run, status }: ScriptRoute, method: string): Promise<Response> {
  const query = c.req.query();
  const isRead = method === 'GET';
  if (!isRead) validate(noFields, query, 'query');
  const given = isRead ? query : parseBody(await c.req.text());
  const result = await run(given, isRead ? 'query' : 'body', c.req.param('reference'));
  return isRecord(result) ? c.json(result, status) : c.body(null, 204);
}

/** An empty body counts as `{}`. */
function parseBody(text: string): unknown {
  const body = text.trim() === '' ? {} : parseJson(text);
  // JSON has no `undefined`: the body could not be parsed.
  if (body === undefined) throw new HttpRejection(400, 'The body is not JSON.');
  return body;
}

const MAX_MESSAGE_CHARS = 200;

/** The path of a field is such as `fault.kind`: empty for the whole body. */
function toErrorResponse({ status, message, fields, headers }: HttpRejection, c: Context): Response {
  const sentence = /[.?]$/.test(message) ? message : `${message}.`;
  const whole = `${sentence} Nothing was changed.`;
  const issues = fields.map((issue) => ({ path: issue.field, message: issue.message }));
  const error = {
    message: whole.length > MAX_MESSAGE_CHARS ? sentence : whole,
    ...(issues.length > 0 ? { issues } : {}),
  };
  const response = Response.json({ error }, { status, headers: { ...headers } });
  return c.newResponse(response.body, response);
}
