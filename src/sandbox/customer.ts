import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import * as z from 'zod/mini';
import { isFinal, type Ledger } from '../testing/ledger.ts';
import type { Activity } from './activity.ts';
import { checkoutPage, outcomes } from './pages/checkout.ts';
import { messagePage } from './pages/layout.ts';
import { phonePage } from './pages/phone.ts';

type Env = { Bindings: HttpBindings };

/** The checkout page of SPEC.md, 1, and what its buttons do. What has ended stays as it ended. */
export function addCheckout(app: Hono<Env>, ledger: Ledger): void {
  app.get('/checkout/:reference', (c) => {
    const entry = ledger.find(c.req.param('reference'));
    if (entry && !entry.mobileMoney) return c.html(checkoutPage(entry));
    return noCheckout(c, entry !== undefined);
  });
  app.post('/checkout/:reference', async (c) => {
    const entry = ledger.find(c.req.param('reference'));
    if (!entry || entry.mobileMoney) return noCheckout(c, entry !== undefined);
    const { outcome } = await formOf(c);
    const status = outcomes.get(outcome);
    if (!status) return c.html(messagePage('Not understood', 'Press a button of the checkout page.'), 400);
    if (!isFinal(entry.status)) ledger.settle(entry.reference, status);
    return c.redirect(`/checkout/${entry.reference}`, 303);
  });
}

/** The fields of a form; none if the body cannot be read, such as a multipart form without its boundary. */
export async function formOf(c: Context<Env>): Promise<Record<string, string | File>> {
  try {
    return await c.req.parseBody();
  } catch {
    return {};
  }
}

function noCheckout(c: Context<Env>, charged: boolean) {
  if (!charged) return c.html(messagePage('Not found', 'There is no transaction with this reference.'), 404);
  const text = 'This is a Mobile Money charge: it has no checkout page, it rings on the phone.';
  return c.html(messagePage('No checkout page', text, thePhone), 404);
}

const thePhone = { href: '/phone', label: 'The phone' };

const answerSchema = z.object({
  reference: z.string(),
  answer: z.enum(['approve', 'decline']),
  pin: z._default(z.string(), ''),
});

/** What the customer answers to a prompt. The PIN is neither kept nor compared: any four digits are one. */
export function addAnswers(app: Hono<Env>, ledger: Ledger, activity: Activity): void {
  app.post('/phone', async (c) => {
    const read = answerSchema.safeParse(await formOf(c));
    if (!read.success) return c.html(messagePage('Not understood', 'Approve or decline.', thePhone), 400);
    const { reference, answer, pin } = read.data;
    const entry = ledger.find(reference);
    if (!entry?.mobileMoney) {
      return c.html(messagePage('Not found', 'There is no such prompt.', thePhone), 404);
    }
    if (answer === 'approve' && !/^[0-9]{4}$/.test(pin)) {
      return c.html(phonePage(activity, { reference, message: 'A PIN has four digits.' }), 400);
    }
    if (!isFinal(entry.status)) ledger.settle(reference, answer === 'approve' ? 'success' : 'failed');
    return c.redirect('/phone', 303);
  });
}
