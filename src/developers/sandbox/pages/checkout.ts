/** The checkout page: docs/reference/service.md, "Start a checkout payment". */

import type { Hono } from 'hono';
import { html } from 'hono/html';
import type { Html } from '../../../ui/markup.ts';
import { type Entry, isCharge, type Ledger } from '../../service/ledger.ts';
import { HttpRejection } from '../../service/validate-request.ts';
import type { SandboxContext } from '../context.ts';
import { type Env, endIfOpen, findEntry, parseForm } from '../request.ts';
import { formatMoney, layout, renderTime } from './layout.ts';

/** What each button of the page does, and what the page then shows. */
const outcomes = [
  { button: 'pay', status: 'success', mark: '✓', title: 'Paid', text: 'The payment succeeded.' },
  { button: 'fail', status: 'failed', mark: '✕', title: 'Failed', text: 'The payment failed.' },
  {
    button: 'abandon',
    status: 'abandoned',
    mark: '–',
    title: 'Abandoned',
    text: 'The customer left without paying.',
  },
] as const;

type Outcome = (typeof outcomes)[number];

/** Seconds until the page leads back by itself: enough to read what happened. */
const RETURN_DELAY = 3;

/** In the query of the page: its customer has just pressed a button. */
const LEAVING = 'return';

export function addCheckout(app: Hono<Env>, { service: { ledger }, returnUrl }: SandboxContext): void {
  const path = '/checkout/:reference';
  app.get(path, (c) => {
    const entry = findCheckout(ledger, c.req.param('reference'));
    const { reference, customer_email, status } = entry;
    const outcome = outcomes.find((known) => known.status === status);
    const address = createReturnUrl(entry.returnUrl ?? returnUrl, reference);
    const isLeaving = c.req.query(LEAVING) !== undefined;
    const body = html`<section class="card">
${
  outcome
    ? html`<div class="result ${status}" role="status">
${renderOutcome(outcome, entry, ledger)}
${address ? renderWayBack(address, isLeaving) : NO_WAY_BACK}
</div>`
    : renderButtons(entry)
}
<dl>
<dt>Customer</dt><dd>${customer_email}</dd>
<dt>Reference</dt><dd><code>${reference}</code></dd>
</dl>
</section>
<p class="note">This is a sandbox: no money moves.</p>`;
    // The policy of the page forbids a form whose response redirects to another origin, so the page itself leads there.
    const head =
      outcome && address && isLeaving
        ? html`<meta http-equiv="refresh" content="${RETURN_DELAY}; url=${address.href}">`
        : undefined;
    return c.html(layout({ title: `Checkout, ${formatMoney(entry)}`, name: 'checkout', head, body }));
  });
  app.post(path, async (c) => {
    const entry = findCheckout(ledger, c.req.param('reference'));
    const form = await parseForm(c);
    const pressed = outcomes.find(({ button }) => button === form.outcome);
    if (!pressed) throw new HttpRejection(400, 'Press a button of the checkout page.');
    endIfOpen(ledger, entry, pressed.status);
    return c.redirect(`/checkout/${entry.reference}?${LEAVING}`, 303);
  });
}

function findCheckout(ledger: Ledger, reference: string): Entry {
  const entry = findEntry(ledger, reference);
  if (!isCharge(entry)) return entry;
  throw new HttpRejection(
    404,
    'This is a Mobile Money charge. It has no checkout page: approve or decline its prompt on the phone.',
  );
}

/** Adds the reference of a payment to the shop's address, if there is one. */
function createReturnUrl(address: string | undefined, reference: string): URL | null {
  if (address === undefined) return null;
  const url = new URL(address);
  url.searchParams.set('reference', reference);
  return url;
}

function renderButtons(entry: Entry): Html {
  return html`<h1><span>Payment of</span> <strong class="sum">${formatMoney(entry)}</strong></h1>
<form method="post" class="fields">
<button class="primary" name="outcome" value="pay">Pay ${formatMoney(entry)}</button>
<button name="outcome" value="fail">Let the payment fail</button>
<button name="outcome" value="abandon">Leave without paying</button>
</form>`;
}

function renderOutcome({ mark, title, text, status }: Outcome, entry: Entry, ledger: Ledger): Html {
  const reported = ledger.getReportedStatus(entry);
  const seen =
    reported === status
      ? html`Since ${renderTime(entry.changedAt)} verify returns <code>${status}</code>.`
      : html`Verify still returns <code>${reported}</code>.`;
  return html`<span class="mark" aria-hidden="true">${mark}</span>
<h1>${title} <strong class="sum">${formatMoney(entry)}</strong></h1>
<p>${text} ${seen}</p>`;
}

function renderWayBack({ host, href }: URL, isLeaving: boolean): Html {
  return html`<a class="back" href="${href}">Back to the shop</a>
<p class="small">${isLeaving ? `This page leads to ${host} in ${RETURN_DELAY} seconds.` : host}</p>`;
}

const NO_WAY_BACK = html`<p class="small">A real checkout page leads the customer back to the shop. This one does if you start the
sandbox with <code>--return-url</code>.</p>`;
