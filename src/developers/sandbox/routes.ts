import type { Context, Hono } from 'hono';
import * as z from 'zod/mini';
import { isFinal } from '../../schedule.ts';
import type { Entry, Ledger } from '../service/ledger.ts';
import type { PaymentService } from '../service/service.ts';
import { assets } from './assets/assets.ts';
import { addDashboard } from './dashboard-routes.ts';
import { checkoutOutcomes, checkoutPage, createReturnUrl } from './pages/checkout.ts';
import type { DashboardContext } from './pages/dashboard.ts';
import { messagePage } from './pages/layout.ts';
import { formatPhonePath, livePhone, parsePhoneFilter, phonePage } from './pages/phone.ts';
import { type Env, parseForm, streamUpdates } from './respond.ts';

/** What the pages show and control. */
export interface PageContext extends DashboardContext {
  /** Where the checkout page leads back to, unless the payment names another address. */
  readonly returnUrl: string | undefined;
}

/** Adds every page, and what its buttons do. */
export function addPages(app: Hono<Env>, context: PageContext): void {
  const { service, activity, returnUrl } = context;
  const readFilter = (c: Context<Env>) => parsePhoneFilter(c.req.query(), service.clock.now());
  app.get('/phone', (c) => c.html(phonePage(service.ledger, readFilter(c))));
  app.get('/events/phone', (c) => streamUpdates(c, activity, livePhone(service.ledger, readFilter(c))));
  app.get('/assets/:name', (c) => {
    const asset = assets.get(c.req.param('name'));
    return asset ? c.body(asset.text, 200, { 'content-type': asset.type }) : c.notFound();
  });
  addDashboard(app, context);
  addPhoneActions(app, service);
  addCheckout(app, service.ledger, returnUrl);
}

const phoneLink = { href: '/phone', label: 'The phone' };

const decisionSchema = z.object({
  reference: z.string(),
  decision: z.enum(['approve', 'decline']),
  pin: z._default(z.string(), ''),
});

/** Approves or declines a prompt. The PIN is neither stored nor compared: any four digits are accepted. */
function addPhoneActions(app: Hono<Env>, { ledger, clock }: PaymentService): void {
  app.post('/phone', async (c) => {
    const form = await parseForm(c);
    const parsed = decisionSchema.safeParse(form);
    if (!parsed.success)
      return c.html(messagePage('Invalid form', 'Approve or decline a prompt.', phoneLink), 400);
    const { reference, decision, pin } = parsed.data;
    const entry = ledger.find(reference);
    if (!entry?.mobileMoney) {
      return c.html(messagePage('Not found', 'There is no such prompt.', phoneLink), 404);
    }
    const filter = parsePhoneFilter(form, clock.now());
    if (decision === 'approve' && !/^[0-9]{4}$/.test(pin)) {
      return c.html(phonePage(ledger, filter, { reference, message: 'A PIN has four digits.' }), 400);
    }
    decide(ledger, entry, decision);
    const { number, since, isNew } = filter;
    return c.redirect(formatPhonePath(isNew ? { number } : { number, since }), 303);
  });
  app.post('/decide', async (c) => {
    const parsed = decisionSchema.safeParse(await parseForm(c));
    if (!parsed.success) return c.html(messagePage('Invalid form', 'Approve or decline a charge.'), 400);
    const entry = ledger.find(parsed.data.reference);
    if (!entry?.mobileMoney) return c.html(messagePage('Not found', 'There is no such charge.'), 404);
    decide(ledger, entry, parsed.data.decision);
    return c.redirect('/', 303);
  });
}

/** A final status stays as it is. */
function decide(ledger: Ledger, { reference, status }: Entry, decision: 'approve' | 'decline'): void {
  if (!isFinal(status)) ledger.settle(reference, decision === 'approve' ? 'success' : 'failed');
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
