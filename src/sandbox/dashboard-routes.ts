import type { Context, Hono } from 'hono';
import type { PaymentService } from '../testing/service.ts';
import { isHttpAddress } from '../testing/validate-request.ts';
import type { Webhooks } from '../testing/webhooks.ts';
import type { ActivityLog } from './activity-log.ts';
import { parseFilter } from './find-transactions.ts';
import { advances } from './pages/clock-card.ts';
import { type DashboardContext, dashboardPage, liveDashboard } from './pages/dashboard.ts';
import { parseFaultForm } from './pages/fault-form.ts';
import { messagePage } from './pages/layout.ts';
import { parseSendForm, parseWebhookFaultForm } from './pages/webhook-form.ts';
import { liveWebhooks, webhooksPage } from './pages/webhooks.ts';
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
    const count = advances.get(minutes);
    if (count === undefined) return refuse(c, 'Invalid form', 'Press a button of the time.');
    clock.advance(count * 60_000);
    activity.notifyChange();
    return c.redirect(back === '/webhooks' ? '/webhooks#time' : '/#time', 303);
  });
}

function refuse(c: Context<Env>, title: string, text: string, status: 400 | 404 = 400) {
  const isWebhook = c.req.path.startsWith('/webhooks');
  const link = isWebhook ? { href: '/webhooks', label: 'All webhooks' } : undefined;
  return c.html(messagePage(title, text, link), status);
}

function addFaultActions(app: Hono<Env>, { faults }: PaymentService, activity: ActivityLog): void {
  app.post('/faults', async (c) => {
    const ordered = parseFaultForm(await parseForm(c));
    if (typeof ordered === 'string') return refuse(c, 'Invalid fault', ordered);
    faults.add(ordered.operation, ordered.fault, ordered.times);
    activity.notifyChange();
    return c.redirect('/#faults', 303);
  });
  app.post('/faults/stop', (c) => {
    faults.clear();
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
    const ordered = parseWebhookFaultForm(await parseForm(c));
    if (typeof ordered === 'string') return refuse(c, 'Invalid fault', ordered);
    webhooks.fault(ordered.fault, { times: ordered.times });
    return c.redirect('/webhooks#faults', 303);
  });
  app.post('/webhooks/faults/stop', (c) => {
    webhooks.clearFaults();
    return c.redirect('/webhooks#faults', 303);
  });
  app.post('/webhooks/send', async (c) => {
    const sent = parseSendForm(await parseForm(c));
    if (!sent) return refuse(c, 'Invalid form', 'Name the transaction of the webhook.');
    if (!ledger.find(sent.about)) {
      return refuse(c, 'Not found', 'There is no transaction with this reference.', 404);
    }
    if (webhooks.url === null) return refuse(c, 'No receiver', 'Set a receiver of webhooks first.');
    webhooks.send(sent.about, sent.forged);
    return c.redirect('/webhooks', 303);
  });
  app.post('/webhooks/flush', (c) => {
    // A slow receiver must not hold up the page, which shows each delivery as it ends.
    void webhooks.flush();
    return c.redirect('/webhooks', 303);
  });
}
