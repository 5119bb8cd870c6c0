import type { Context, Hono } from 'hono';
import { faultSchema, parseWebhookFault, webhookFaultSchema } from '../service/faults.ts';
import type { PaymentService } from '../service/service.ts';
import { isHttpAddress } from '../service/validate-request.ts';
import type { Webhooks } from '../service/webhooks.ts';
import type { ActivityLog } from './activity-log.ts';
import { parseFilter } from './find-transactions.ts';
import { advances } from './pages/clock-card.ts';
import { type DashboardContext, dashboardPage, liveDashboard } from './pages/dashboard.ts';
import { readFault, readTimes } from './pages/form-fields.ts';
import { messagePage } from './pages/layout.ts';
import { liveWebhooks, readForgedFields, webhooksPage } from './pages/webhooks.ts';
import { type Env, parseForm, streamUpdates } from './respond.ts';

/** Adds the transactions, the webhooks, and what their forms do. */
export function addDashboard(app: Hono<Env>, context: DashboardContext): void {
  const { service, activity, webhooks } = context;
  const { clock } = service;
  app.get('/', (c) => c.html(dashboardPage(context, parseFilter(c.req.query()))));
  app.get('/events/dashboard', (c) =>
    streamUpdates(c, activity, liveDashboard(context, parseFilter(c.req.query()))),
  );
  app.get('/webhooks', (c) => c.html(webhooksPage(webhooks, clock, c.req.query('about') ?? '')));
  app.get('/events/webhooks', (c) => streamUpdates(c, activity, liveWebhooks(webhooks, clock)));
  addFaultActions(app, service, activity);
  addWebhookActions(app, webhooks, service);
  app.post('/time', async (c) => {
    const { minutes, back } = await parseForm(c);
    if (!advances.has(minutes)) return refuse(c, 'Invalid form', 'Press a button of the time.');
    clock.advance(Number(minutes) * 60_000);
    activity.notifyChange();
    return c.redirect(back === '/webhooks' ? '/webhooks#time' : '/#time', 303);
  });
}

function refuse(c: Context<Env>, title: string, text: string, status: 400 | 404 = 400) {
  const isWebhook = c.req.path.startsWith('/webhooks');
  const link = isWebhook ? { href: '/webhooks', label: 'All webhooks' } : undefined;
  return c.html(messagePage(title, text, link), status);
}

/** Responds with what is wrong if the service refuses a value. */
function attempt(c: Context<Env>, title: string, act: () => Response): Response | Promise<Response> {
  try {
    return act();
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return refuse(c, title, error.message);
    throw error;
  }
}

function addFaultActions(app: Hono<Env>, service: PaymentService, activity: ActivityLog): void {
  app.post('/faults', async (c) => {
    const form = await parseForm(c);
    return attempt(c, 'Invalid fault', () => {
      service.orderFault(String(form.operation), readFault(faultSchema, form), readTimes(form));
      activity.notifyChange();
      return c.redirect('/#faults', 303);
    });
  });
  app.post('/faults/stop', (c) => {
    service.faults.clear();
    activity.notifyChange();
    return c.redirect('/#faults', 303);
  });
}

function addWebhookActions(app: Hono<Env>, webhooks: Webhooks, { ledger }: PaymentService): void {
  app.post('/webhooks/receiver', async (c) => {
    const { url } = await parseForm(c);
    if (typeof url !== 'string' || (url !== '' && !isHttpAddress(url))) {
      return refuse(c, 'Invalid address', 'The receiver must be an http or https address.');
    }
    webhooks.deliverTo(url === '' ? null : url);
    return c.redirect('/webhooks#receiver', 303);
  });
  app.post('/webhooks/faults', async (c) => {
    const form = await parseForm(c);
    return attempt(c, 'Invalid fault', () => {
      const fault = parseWebhookFault(readFault(webhookFaultSchema, form));
      webhooks.fault(fault, { times: readTimes(form) });
      return c.redirect('/webhooks#faults', 303);
    });
  });
  app.post('/webhooks/faults/stop', (c) => {
    webhooks.clearFaults();
    return c.redirect('/webhooks#faults', 303);
  });
  app.post('/webhooks/send', async (c) => {
    const form = await parseForm(c);
    const { about } = form;
    if (typeof about !== 'string') return refuse(c, 'Invalid form', 'Name the transaction of the webhook.');
    if (!ledger.find(about)) {
      return refuse(c, 'Not found', 'There is no transaction with this reference.', 404);
    }
    if (webhooks.url === null) return refuse(c, 'No receiver', 'Set a receiver of webhooks first.');
    return attempt(c, 'Invalid webhook', () => {
      webhooks.send(about, form.forged === 'yes' ? readForgedFields(form) : undefined);
      return c.redirect('/webhooks', 303);
    });
  });
  app.post('/webhooks/flush', (c) => {
    // A slow receiver must not hold up the page, which shows each delivery as it ends.
    void webhooks.flush();
    return c.redirect('/webhooks', 303);
  });
}
