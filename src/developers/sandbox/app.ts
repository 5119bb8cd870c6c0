import { inspect } from 'node:util';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { HTTPException } from 'hono/http-exception';
import { Hono } from 'hono/tiny';
import { HttpRejection } from '../service/validate-request.ts';
import { sandboxAssets } from './assets/assets.ts';
import type { SandboxContext } from './context.ts';
import { addForms } from './forms.ts';
import { isForeignForm, pageHeaders, refuseOtherForms, refuseOtherHosts } from './guards.ts';
import { addCheckout } from './pages/checkout.ts';
import { addDashboard } from './pages/dashboard.ts';
import { messagePage } from './pages/layout.ts';
import { addPhone } from './pages/phone.ts';
import { addWebhooks } from './pages/webhooks.ts';
import type { Env } from './request.ts';
import { createScriptApi } from './script-api.ts';
import { createScriptRoutes, SCRIPT_API_PATH } from './script-routes.ts';

/** The path of the base URL, with the version prefix. */
export const API_PATH = '/api/v1';

const MAX_API_BODY_BYTES = 2 ** 20;
const MAX_FORM_BYTES = 16_384;

const FOREIGN_FORM =
  "This form takes requests of the sandbox's own pages only. Nothing was changed.\n" +
  `In a script use the JSON API, such as POST ${SCRIPT_API_PATH}/transactions/:reference {"status":"success"}.\n` +
  'It is described in docs/reference/payment-sandbox.md.\n';

/** Creates the whole sandbox as one app: the service's API, the API for scripts, and the pages. */
export function createApp(context: SandboxContext): Hono<Env> {
  const { url, allowHosts, changes } = context;
  const routes = createScriptRoutes(context);
  const app = new Hono<Env>();
  app.onError(explainError);
  app.use(refuseOtherHosts(url, allowHosts));
  app.route(API_PATH, createApi(context));
  app.use(async (c, next) => {
    await next();
    // Every open page shows what a script or another page has changed.
    if (c.req.method !== 'GET') changes.notify();
  });
  app.route(SCRIPT_API_PATH, createScriptApi(routes, url));
  app.use(pageHeaders, bodyLimit({ maxSize: MAX_FORM_BYTES }), refuseOtherForms(url));
  addForms(app, routes);
  addDashboard(app, context);
  addWebhooks(app, context);
  addPhone(app, context);
  addCheckout(app, context);
  app.get('/assets/:name', (c) => {
    const asset = sandboxAssets.get(c.req.param('name'));
    return asset ? c.body(asset.text, 200, { 'content-type': asset.type }) : c.notFound();
  });
  app.notFound((c) => c.html(messagePage('Not found', 'There is no such page in the sandbox.'), 404));
  return app;
}

/** Responds to what a page refuses, and to an error that nobody expects. */
function explainError(error: Error, c: Context<Env>): Response | Promise<Response> {
  // A script reads this text, and does not guess at a header.
  if (isForeignForm(error)) return c.text(FOREIGN_FORM, 403);
  if (error instanceof HTTPException) {
    const response = error.getResponse();
    return c.newResponse(response.body, response);
  }
  if (error instanceof HttpRejection) {
    const isMissing = error.status === 404;
    const title = isMissing ? 'Not found' : 'Nothing was changed';
    return c.html(messagePage(title, error.message), isMissing ? 404 : 400);
  }
  const { incoming } = c.env;
  // A client that disconnects in the middle of a body causes an error here, and reads no response.
  if (!(incoming.destroyed && !incoming.complete)) process.stderr.write(`${inspect(error)}\n`);
  return c.text('Internal Server Error', 500);
}

/** Creates the service's API: docs/reference/service.md. */
function createApi({ service, handle }: SandboxContext): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.use(
    bodyLimit({
      maxSize: MAX_API_BODY_BYTES,
      onError: (c) => c.json({ status: false, message: 'The body is larger than 1 MiB.' }, 413),
    }),
  );
  app.all('*', async ({ req, env }) => {
    const { outgoing } = env;
    const response = await handle(req.raw);
    if (response.type !== 'error') {
      const recordLoss = () => {
        if (!outgoing.writableFinished) service.loseResponse(req.raw);
      };
      if (outgoing.closed) recordLoss();
      else outgoing.once('close', recordLoss);
      return response;
    }
    env.incoming.socket.resetAndDestroy();
    return RESPONSE_ALREADY_SENT;
  });
  return app;
}
