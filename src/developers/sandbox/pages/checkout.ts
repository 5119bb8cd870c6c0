import { html } from 'hono/html';
import type { Html } from '../../../ui/markup.ts';
import type { Entry, FinalStatus, KnownStatus } from '../../service/ledger.ts';
import { formatMoney, layout, renderTime } from './layout.ts';

/** The final status that each button of the checkout page leads to. */
export const checkoutOutcomes: ReadonlyMap<unknown, FinalStatus> = new Map([
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

/** What the checkout page knows about a payment beside the payment itself. */
export interface CheckoutState {
  /** The status that a verify reports now. */
  readonly reportedStatus: KnownStatus;
  /** The shop's address with the reference of the payment. `null` if the shop has given none. */
  readonly returnUrl: URL | null;
  /** Whether the customer has just pressed a button, so that the page leads back by itself. */
  readonly isLeaving: boolean;
}

/** Seconds until the page leads back by itself: enough to read what happened. */
const RETURN_DELAY = 3;

/** Adds the reference of a payment to the shop's address, if there is one. */
export function createReturnUrl(address: string | undefined, reference: string): URL | null {
  if (address === undefined) return null;
  const url = new URL(address);
  url.searchParams.set('reference', reference);
  return url;
}

/** Renders the buttons of an open payment, or the result of a final one with the way back to the shop. */
export function checkoutPage(entry: Entry, state: CheckoutState): Html {
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
