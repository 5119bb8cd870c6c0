import { html } from 'hono/html';
import { type Entry, type FinalStatus, isFinal } from '../../testing/ledger.ts';
import { type Html, layout } from './layout.ts';
import { moment, money } from './words.ts';

/** What each button of the checkout page brings about. */
export const outcomes: ReadonlyMap<unknown, FinalStatus> = new Map([
  ['pay', 'success'],
  ['fail', 'failed'],
  ['abandon', 'abandoned'],
]);

const results: Record<FinalStatus, { mark: string; title: string; text: string }> = {
  success: { mark: '✓', title: 'Paid', text: 'The payment went through.' },
  failed: { mark: '✕', title: 'Failed', text: 'The payment did not go through.' },
  abandoned: { mark: '–', title: 'Abandoned', text: 'The customer left without paying.' },
};

export function checkoutPage(entry: Entry): Html {
  const body = html`<section class="card">
${isFinal(entry.status) ? result(entry, results[entry.status]) : choice(entry)}
<dl>
<dt>Customer</dt><dd>${entry.customer_email}</dd>
<dt>Reference</dt><dd><code>${entry.reference}</code></dd>
</dl>
</section>
<p class="note">This is a sandbox: no money moves.</p>`;
  return layout({ title: `Checkout, ${money(entry)}`, name: 'checkout', body });
}

function choice(entry: Entry): Html {
  return html`<h1><span>Payment of</span> <strong class="sum">${money(entry)}</strong></h1>
<form method="post">
<button class="primary" name="outcome" value="pay">Pay ${money(entry)}</button>
<button name="outcome" value="fail">Let the payment fail</button>
<button name="outcome" value="abandon">Leave without paying</button>
</form>`;
}

function result(entry: Entry, { mark, title, text }: (typeof results)[FinalStatus]): Html {
  return html`<div class="result ${entry.status}" role="status">
<span class="mark" aria-hidden="true">${mark}</span>
<h1>${title} <strong class="sum">${money(entry)}</strong></h1>
<p>${text} Since ${moment(entry.changedAt)} verify answers <code>${entry.status}</code>.</p>
<p>You can go back to the shop.</p>
</div>`;
}
