import { html } from 'hono/html';
import type { Entry, FinalStatus } from '../../testing/ledger.ts';
import { formatMoney, type Html, layout, renderTime } from './layout.ts';

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

const results: ReadonlyMap<string, Result> = new Map(
  Object.entries({
    success: { mark: '✓', title: 'Paid', text: 'The payment succeeded.' },
    failed: { mark: '✕', title: 'Failed', text: 'The payment failed.' },
    abandoned: { mark: '–', title: 'Abandoned', text: 'The customer left without paying.' },
  } satisfies Record<FinalStatus, Result>),
);

/** Renders the buttons of an open payment, or the result of a final one. */
export function checkoutPage(entry: Entry): Html {
  const result = results.get(entry.status);
  const body = html`<section class="card">
${result ? renderResult(entry, result) : renderButtons(entry)}
<dl>
<dt>Customer</dt><dd>${entry.customer_email}</dd>
<dt>Reference</dt><dd><code>${entry.reference}</code></dd>
</dl>
</section>
<p class="note">This is a sandbox: no money moves.</p>`;
  return layout({ title: `Checkout, ${formatMoney(entry)}`, name: 'checkout', body });
}

function renderButtons(entry: Entry): Html {
  return html`<h1><span>Payment of</span> <strong class="sum">${formatMoney(entry)}</strong></h1>
<form method="post">
<button class="primary" name="outcome" value="pay">Pay ${formatMoney(entry)}</button>
<button name="outcome" value="fail">Let the payment fail</button>
<button name="outcome" value="abandon">Leave without paying</button>
</form>`;
}

function renderResult(entry: Entry, { mark, title, text }: Result): Html {
  return html`<div class="result ${entry.status}" role="status">
<span class="mark" aria-hidden="true">${mark}</span>
<h1>${title} <strong class="sum">${formatMoney(entry)}</strong></h1>
<p>${text} Since ${renderTime(entry.changedAt)} verify returns <code>${entry.status}</code>.</p>
<p>You can go back to the shop.</p>
</div>`;
}
