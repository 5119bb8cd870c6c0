import { isIP } from 'node:net';
import { inspect } from 'node:util';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { bodyLimit } from 'hono/body-limit';
import { csrf } from 'hono/csrf';
import { HTTPException } from 'hono/http-exception';
import { secureHeaders } from 'hono/secure-headers';
import { Hono } from 'hono/tiny';
import type { PaymentService } from '../service/service.ts';
import { messagePage } from './pages/layout.ts';
import type { Env } from './respond.ts';
import { addPages, type PageContext } from './routes.ts';
import { createScriptApi, SCRIPT_API_PATH } from './script-api.ts';

/** The path of the base URL, with the version prefix. */
export const API_PATH = '/api/v1';

const MAX_API_BODY_BYTES = 2 ** 20;
const MAX_FORM_BYTES = 16_384;

const FOREIGN_FORM =
  "This form takes requests of the sandbox's own pages only. Nothing was changed.\n" +
  `In a script use the JSON API, such as POST ${SCRIPT_API_PATH}/transactions/:reference {"status":"success"}.\n` +
  'It is described in docs/reference/sandbox-api.md.\n';

export interface AppContext extends PageContext {
  /** The address of the sandbox. */
  readonly url: string;
  /** More names that it accepts. */
  readonly allowHosts: readonly string[];
  readonly allowTestCharges: boolean;
  /** Responds to a request below the base URL. */
  readonly handle: PaymentService['handle'];
}

/** Creates the whole sandbox as one app: the service's API and the pages. */
export function createApp(context: AppContext): Hono<Env> {
  const { url, allowHosts } = context;
  const app = new Hono<Env>();
  app.onError((error, c) => {
    if (error instanceof HTTPException) {
      // Only `csrf` throws it. A script reads this text, and does not guess at a header.
      if (error.status === 403) return c.text(FOREIGN_FORM, 403);
      const response = error.getResponse();
      return c.newResponse(response.body, response);
    }
    const { incoming } = c.env;
    // A client that disconnects in the middle of a body causes an error here, and reads no response.
    if (!(incoming.destroyed && !incoming.complete)) process.stderr.write(`${inspect(error)}\n`);
    return c.text('Internal Server Error', 500);
  });
  app.use(async (c, next) => {
    const { hostname, host } = new URL(c.req.url);
    if (isOwnHost(hostname, url) || allowHosts.includes(hostname)) return next();
    return c.text(
      `This sandbox does not accept the name ${host}. To allow it: --allow-host ${hostname}`,
      421,
    );
  });
  app.route(API_PATH, createApi(context));
  app.route(SCRIPT_API_PATH, createScriptApi(context));
  app.use(
    pageHeaders,
    bodyLimit({ maxSize: MAX_FORM_BYTES }),
    // Behind a TLS proxy a request arrives as http, and the origin of its form is https.
    csrf({ origin: (origin, c) => origin === url || origin === new URL(c.req.url).origin }),
  );
  addPages(app, context);
  app.notFound((c) => c.html(messagePage('Not found', 'There is no such page in the sandbox.'), 404));
  return app;
}

/**
 * Whether a request names this sandbox as its host. Another site can make its own name point to this machine ("DNS
 * rebinding"). Its page would then have the origin of the sandbox, and could read and press everything.
 */
function isOwnHost(hostname: string, ownUrl: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    isIP(host) !== 0 ||
    hostname === new URL(ownUrl).hostname
  );
}

/** Creates the service's API: docs/reference/service.md. */
function createApi({ service, handle }: AppContext): Hono<{ Bindings: HttpBindings }> {
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

const pageHeaders = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'"],
    connectSrc: ["'self'"],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
  },
  // With `no-referrer` a browser would not send the origin of a form.
  referrerPolicy: 'same-origin',
  // The sandbox is plain HTTP, and other programs use the same host name.
  strictTransportSecurity: false,
});
