import { inspect } from 'node:util';
import type { HttpBindings } from '@hono/node-server';
import { bodyLimit } from 'hono/body-limit';
import { csrf } from 'hono/csrf';
import { HTTPException } from 'hono/http-exception';
import { secureHeaders } from 'hono/secure-headers';
import { Hono } from 'hono/tiny';
import type { PaymentService } from '../testing/service.ts';
import type { Activity } from './activity.ts';
import { isOwnHost } from './address.ts';
import { API_PATH, api } from './api.ts';
import { assets } from './assets/assets.ts';
import { addAnswers, addCheckout, formOf } from './customer.ts';
import { parseFaultForm } from './fault-form.ts';
import { liveEvents } from './live.ts';
import { type Access, dashboardPage, liveDashboard } from './pages/dashboard.ts';
import { messagePage } from './pages/layout.ts';
import { livePhone, phonePage } from './pages/phone.ts';

/** What the pages and the API are made of. */
export interface Parts {
  readonly service: PaymentService;
  readonly activity: Activity;
  readonly access: Access;
  /** Where the sandbox is reached. */
  readonly url: string;
}

type Env = { Bindings: HttpBindings };

export function createApp({ service, activity, access, url }: Parts): Hono<Env> {
  const app = new Hono<Env>();
  app.onError((error, c) => {
    if (error instanceof HTTPException) {
      const response = error.getResponse();
      return c.newResponse(response.body, response);
    }
    const { incoming } = c.env;
    // Whoever hung up in the middle of a body reads no answer, and has done nothing that is worth a stack.
    if (!(incoming.destroyed && !incoming.complete)) process.stderr.write(`${inspect(error)}\n`);
    return c.text('Internal Server Error', 500);
  });
  app.use(async (c, next) => {
    const { hostname, host } = new URL(c.req.url);
    if (isOwnHost(hostname, url)) return next();
    return c.text(`This is no sandbox for ${host}. If it is meant to be: --public-url http://${host}`, 421);
  });
  app.route(API_PATH, api(service));
  app.use(
    pageHeaders,
    bodyLimit({ maxSize: 16_384 }),
    // Behind a proxy that speaks https, a request comes in as http, and its form says https.
    csrf({ origin: (origin, c) => origin === url || origin === new URL(c.req.url).origin }),
  );

  app.get('/', (c) => c.html(dashboardPage(service, activity, access)));
  app.get('/events/dashboard', (c) => liveEvents(c, activity, liveDashboard(service, activity)));
  app.get('/phone', (c) => c.html(phonePage(activity)));
  app.get('/events/phone', (c) => liveEvents(c, activity, livePhone(activity)));
  app.get('/assets/:name', (c) => {
    const asset = assets.get(c.req.param('name'));
    return asset ? c.body(asset.text, 200, { 'content-type': asset.type }) : c.notFound();
  });

  addCheckout(app, service.ledger);
  addAnswers(app, service.ledger, activity);
  addFaults(app, service, activity);
  app.notFound((c) => c.html(messagePage('Not found', 'There is no such page in the sandbox.'), 404));
  return app;
}

function addFaults(app: Hono<Env>, { faults }: PaymentService, activity: Activity): void {
  app.post('/faults', async (c) => {
    const ordered = parseFaultForm(await formOf(c));
    if (typeof ordered === 'string') return c.html(messagePage('That cannot break so', ordered), 400);
    faults.add(ordered.operation, ordered.fault, ordered.times);
    activity.wake();
    return c.redirect('/', 303);
  });
  app.post('/faults/stop', (c) => {
    faults.clear();
    activity.wake();
    return c.redirect('/', 303);
  });
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
  // With `no-referrer` a browser would not say which origin a form comes from.
  referrerPolicy: 'same-origin',
  // It is plain HTTP, and other things live on this host.
  strictTransportSecurity: false,
});
