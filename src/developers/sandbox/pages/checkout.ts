/** The checkout page: docs/reference/service.md, "Start a checkout payment". */

import type { Hono } from 'hono';
import { html } from 'hono/html';
import { isFinal } from '../../../schedule.ts';
import type { Html } from '../../../ui/markup.ts';
import {
  type Entry,
  type FinalStatus,
  isCharge,
  type KnownStatus,
  type Ledger,
} from '../../service/ledger.ts';
import { HttpRejection } from '../../service/validate-request.ts';
import type { SandboxContext } from '../context.ts';
import { type Env, findEntry, parseForm } from '../request.ts';
import { formatMoney, layout, renderTime } from './layout.ts';

const outcomes: ReadonlyMap<unknown, FinalStatus> = new Map([
  ['pay', 'success'],
  ['fail', 'failed'],
  ['abandon', 'abandoned'],
]);

interface Result {
  mark: string;
  title: string;
  text: string;
}

/** What the page shows of a payment that is final. */
const results: Partial<Record<KnownStatus, Result>> = {
  success: { mark: '✓', title: 'Paid', text: 'The payment succeeded.' },
  failed: { mark: '✕', title: 'Failed', text: 'The payment failed.' },
  abandoned: { mark: '–', title: 'Abandoned', text: 'The customer left without paying.' },
} satisfies Record<FinalStatus, Result>;

/** What the page knows about a payment beside the payment itself. */
interface CheckoutState {
  readonly reportedStatus: KnownStatus;
  /** The shop's address with the reference of the payment. `null` if the shop has given none. */
  readonly returnUrl: URL | null;
  /** Whether the customer has just pressed a button, so that the page leads back by itself. */
  readonly isLeaving: boolean;
}

/** Seconds until the page leads back by itself: enough to read what happened. */
const RETURN_DELAY = 3;

/** In the query of the page: its customer has just pressed a button. */
const LEAVING = 'return';

/** Adds the page, and what its buttons do. `returnUrl` is for a payment that names no address of its own. */
export function addCheckout(app: Hono<Env>, { service: { ledger }, returnUrl }: SandboxContext): void {
  const path = '/checkout/:reference';
  app.get(path, (c) => {
    const entry = findCheckout(ledger, c.req.param('reference'));
    return c.html(
      renderCheckout(entry, {
        reportedStatus: ledger.getReportedStatus(entry),
        returnUrl: createReturnUrl(entry.returnUrl ?? returnUrl, entry.reference),
        isLeaving: c.req.query(LEAVING) !== undefined,
      }),
    );
  });
  app.post(path, async (c) => {
    const { reference, status } = findCheckout(ledger, c.req.param('reference'));
    const { outcome } = await parseForm(c);
    const chosen = outcomes.get(outcome);
    if (!chosen) throw new HttpRejection(400, 'Press a button of the checkout page.');
    // A final status stays as it is.
    if (!isFinal(status)) ledger.end(reference, chosen);
    return c.redirect(`/checkout/${reference}?${LEAVING}`, 303);
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

/** Renders the buttons of an open payment, or the result of a final one with the way back to the shop. */
function renderCheckout(entry: Entry, state: CheckoutState): Html {
  const { returnUrl, isLeaving } = state;
  const result = results[entry.status];
  const body = html`<section class="card">
${result ? renderResult(entry, result, state) : renderButtons(entry)}
<dl>
<dt>Customer</dt><dd>${entry.customer_email}</dd>
<dt>Reference</dt><dd><code>${entry.reference}</code></dd>
</dl>
</section>
<p class="note">This is a sandbox: no money moves.</p>`;
  // The policy of the page forbids a form whose response redirects to another origin, so the page itself leads there.
  const head =
    result && returnUrl && isLeaving
      ? html`<meta http-equiv="refresh" content="${RETURN_DELAY}; url=${returnUrl.href}">`
      : undefined;
  return layout({ title: `Checkout, ${formatMoney(entry)}`, name: 'checkout', head, body });
}

function renderButtons(entry: Entry): Html {
  return html`<h1><span>Payment of</span> <strong class="sum">${formatMoney(entry)}</strong></h1>
<form method="post" class="fields">
<button class="primary" name="outcome" value="pay">Pay ${formatMoney(entry)}</button>
<button name="outcome" value="fail">Let the payment fail</button>
<button name="outcome" value="abandon">Leave without paying</button>
</form>`;
}

function renderResult(entry: Entry, { mark, title, text }: Result, state: CheckoutState): Html {
  const { status, changedAt } = entry;
  const seen =
    state.reportedStatus === status
      ? html`Since ${renderTime(changedAt)} verify returns <code>${status}</code>.`
      : html`Verify still returns <code>${state.reportedStatus}</code>.`;
  return html`<div class="result ${status}" role="status">
<span class="mark" aria-hidden="true">${mark}</span>
<h1>${title} <strong class="sum">${formatMoney(entry)}</strong></h1>
<p>${text} ${seen}</p>
${renderWayBack(state)}
</div>`;
}

function renderWayBack({ returnUrl, isLeaving }: CheckoutState): Html {
  if (!returnUrl) {
    return html`<p class="small">A real checkout page leads the customer back to the shop. This one does if you start the
sandbox with <code>--return-url</code>.</p>`;
  }
  const { host, href } = returnUrl;
  return html`<a class="back" href="${href}">Back to the shop</a>
<p class="small">${isLeaving ? `This page leads to ${host} in ${RETURN_DELAY} seconds.` : host}</p>`;
}
