import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import * as z from 'zod/mini';
import { isFinal } from '../schedule.ts';
import type { Ledger } from '../testing/ledger.ts';
import type { PaymentService } from '../testing/service.ts';
import type { Webhooks } from '../testing/webhooks.ts';
import type { ActivityLog } from './activity-log.ts';
import { assets } from './assets/assets.ts';
import { checkoutOutcomes, checkoutPage, createReturnUrl } from './pages/checkout.ts';
import { type Access, dashboardPage, liveDashboard } from './pages/dashboard.ts';
import { parseFaultForm } from './pages/fault-form.ts';
import { type LiveView, messagePage } from './pages/layout.ts';
import { livePhone, phonePage } from './pages/phone.ts';

export type Env = { Bindings: HttpBindings };

/** What the pages show and control. */
export interface PageContext {
  readonly service: PaymentService;
  readonly activity: ActivityLog;
  readonly webhooks: Webhooks;
  readonly access: Access;
  /** Where the checkout page leads back to, unless the payment names another address. */
  readonly returnUrl: string | undefined;
}

/** Adds every page, and what its buttons do. */
export function addPages(app: Hono<Env>, { service, activity, access, returnUrl }: PageContext): void {
  app.get('/', (c) => c.html(dashboardPage(service, activity, access)));
  app.get('/events/dashboard', (c) => streamUpdates(c, activity, liveDashboard(service, activity)));
  app.get('/phone', (c) => c.html(phonePage(activity)));
  app.get('/events/phone', (c) => streamUpdates(c, activity, livePhone(activity)));
  app.get('/assets/:name', (c) => {
    const asset = assets.get(c.req.param('name'));
    return asset ? c.body(asset.text, 200, { 'content-type': asset.type }) : c.notFound();
  });
  addFaultActions(app, service, activity);
  addPhoneActions(app, service.ledger, activity);
  addCheckout(app, service.ledger, returnUrl);
}

/** At most one update of a page in this time. */
const UPDATE_INTERVAL = 100;

/** Keeps one page up to date through server-sent events: first the whole view, then with each change. */
function streamUpdates(c: Context, activity: ActivityLog, view: LiveView): Response {
  return streamSSE(c, async (stream) => {
    stream.onAbort(() => activity.notifyChange());
    let sentVersion = -1;
    while (!stream.aborted) {
      const event = sentVersion < activity.lastRemovalVersion ? 'all' : 'some';
      const markup = event === 'all' ? view.renderAll() : view.renderChanges(sentVersion);
      sentVersion = activity.version;
      await stream.writeSSE({ event, data: String(await markup) });
      if (sentVersion === activity.version) await activity.nextChange();
      await stream.sleep(UPDATE_INTERVAL);
    }
  });
}

function addFaultActions(app: Hono<Env>, { faults }: PaymentService, activity: ActivityLog): void {
  app.post('/faults', async (c) => {
    const ordered = parseFaultForm(await parseForm(c));
    if (typeof ordered === 'string') return c.html(messagePage('Invalid fault', ordered), 400);
    faults.add(ordered.operation, ordered.fault, ordered.times);
    activity.notifyChange();
    return c.redirect('/', 303);
  });
  app.post('/faults/stop', (c) => {
    faults.clear();
    activity.notifyChange();
    return c.redirect('/', 303);
  });
}

const phoneLink = { href: '/phone', label: 'The phone' };

const decisionSchema = z.object({
  reference: z.string(),
  decision: z.enum(['approve', 'decline']),
  pin: z._default(z.string(), ''),
});

/** Approves or declines a prompt. The PIN is neither stored nor compared: any four digits are accepted. */
function addPhoneActions(app: Hono<Env>, ledger: Ledger, activity: ActivityLog): void {
  app.post('/phone', async (c) => {
    const parsed = decisionSchema.safeParse(await parseForm(c));
    if (!parsed.success)
      return c.html(messagePage('Invalid form', 'Approve or decline a prompt.', phoneLink), 400);
    const { reference, decision, pin } = parsed.data;
    const entry = ledger.find(reference);
    if (!entry?.mobileMoney) {
      return c.html(messagePage('Not found', 'There is no such prompt.', phoneLink), 404);
    }
    if (decision === 'approve' && !/^[0-9]{4}$/.test(pin)) {
      return c.html(phonePage(activity, { reference, message: 'A PIN has four digits.' }), 400);
    }
    // A final status stays as it is.
    if (!isFinal(entry.status)) ledger.settle(reference, decision === 'approve' ? 'success' : 'failed');
    return c.redirect('/phone', 303);
  });
}

/** The checkout page: docs/reference/service.md, "Start a checkout payment". */
function addCheckout(app: Hono<Env>, ledger: Ledger, returnUrl: string | undefined): void {
  app.get('/checkout/:reference', (c) => {
    const entry = ledger.find(c.req.param('reference'));
    if (!entry || entry.mobileMoney) return refuseCheckout(c, entry !== undefined);
    return c.html(
      checkoutPage(entry, {
        reportedStatus: ledger.getReportedStatus(entry),
        returnUrl: createReturnUrl(entry.returnUrl ?? returnUrl, entry.reference),
        isLeaving: c.req.query(LEAVING) !== undefined,
      }),
    );
  });
  app.post('/checkout/:reference', async (c) => {
    const entry = ledger.find(c.req.param('reference'));
    if (!entry || entry.mobileMoney) return refuseCheckout(c, entry !== undefined);
    const { outcome } = await parseForm(c);
    const status = checkoutOutcomes.get(outcome);
    if (!status) return c.html(messagePage('Invalid form', 'Press a button of the checkout page.'), 400);
    // A final status stays as it is.
    if (!isFinal(entry.status)) ledger.settle(entry.reference, status);
    return c.redirect(`/checkout/${entry.reference}?${LEAVING}`, 303);
  });
}

/** In the query of a checkout page: its customer has just pressed a button. */
const LEAVING = 'return';

function refuseCheckout(c: Context<Env>, isCharge: boolean) {
  if (!isCharge) return c.html(messagePage('Not found', 'There is no transaction with this reference.'), 404);
  const text =
    'This is a Mobile Money charge. It has no checkout page: approve or decline its prompt on the phone.';
  return c.html(messagePage('No checkout page', text, phoneLink), 404);
}

/** Parses the fields of a form. A body that cannot be parsed, such as multipart without a boundary, has none. */
async function parseForm(c: Context<Env>): Promise<Record<string, string | File>> {
  try {
    return await c.req.parseBody();
  } catch {
    return {};
  }
}
