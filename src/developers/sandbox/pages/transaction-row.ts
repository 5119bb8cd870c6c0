import { html } from 'hono/html';
import { isFinal } from '../../../schedule.ts';
import { type Html, networkNames } from '../../../ui/markup.ts';
import type { Entry, KnownStatus } from '../../service/ledger.ts';
import type { WebhookDelivery } from '../../service/webhook-delivery.ts';
import type { RequestHistory } from '../request-history.ts';
import { renderDeliveryLink } from './delivery-list.ts';
import { formatMoney, renderBadge, renderCopyable, renderTime } from './layout.ts';
import { renderRequests } from './request-list.ts';
import { renderRow } from './row.ts';

/** A transaction with what is known of its requests and webhooks. */
export interface TransactionStory {
  readonly entry: Entry;
  readonly reported: KnownStatus;
  readonly history: RequestHistory | undefined;
  readonly deliveries: readonly WebhookDelivery[];
  readonly hasReceiver: boolean;
}

export function renderTransaction(story: TransactionStory): Html {
  const { entry, history, deliveries } = story;
  const { reference, mode, customer_email, mobileMoney, createdAt } = entry;
  const means = mobileMoney ? `${networkNames[mobileMoney.network]}, ${mobileMoney.phone}` : 'Checkout page';
  const line = html`<span class="state">${renderBadge(entry)}</span>
<b class="what amount">${formatMoney(entry)}</b>
<span class="detail"><span title="${customer_email}">${customer_email}</span><span class="how">${means}</span></span>
<span class="end"><code class="reference">${reference}</code><span><span class="tag ${mode}">${mode}</span> <span class="when">${renderTime(createdAt)}</span></span></span>
${renderMarks(story)}`;
  const behind = html`<dl class="facts">
<div><dt>Reference</dt><dd>${renderCopyable('the reference', reference)}</dd></div>
<div><dt>Customer</dt><dd>${customer_email}</dd></div>
${renderChange(entry)}
</dl>
${renderActions(story)}
${
  history
    ? html`<h3>Requests</h3>
${renderRequests(`Requests for ${reference}`, history, entry)}`
    : html`<p class="small">The sandbox has no requests for it in memory.</p>`
}
${deliveries.length > 0 ? html`<h3>Webhooks</h3>` : ''}
${deliveries.map(renderDeliveryLink)}`;
  return html`<li id="${reference}">${renderRow({ key: 'row', line, behind })}</li>`;
}

/** Renders what the shop does not know about its own payment. */
function renderMarks({ entry, reported, history }: TransactionStory): Html | '' {
  const marks: (Html | string)[] = [];
  if (history?.isResponseLost) {
    const what = entry.mobileMoney ? 'charge' : 'payment';
    marks.push(history.isVerified ? 'response lost' : `response lost: the shop does not know this ${what}`);
  }
  if (entry.hidden && reported !== entry.status) {
    marks.push(html`verify reports ${reported} until ${renderTime(entry.hidden.until)}`);
  }
  const shown = marks.map((mark) => html`<span>${mark}</span>`);
  return shown.length > 0 ? html`<span class="marks">${shown}</span>` : '';
}

function renderChange({ status, changedAt, plan }: Entry): Html | '' {
  if (isFinal(status)) return html`<div><dt>Final since</dt><dd>${renderTime(changedAt)}</dd></div>`;
  if (!plan || !('settleAt' in plan)) return '';
  const what = plan.isExpiry ? 'Expires' : `Becomes ${plan.status}`;
  return html`<div><dt>${what}</dt><dd>${renderTime(plan.settleAt)}</dd></div>`;
}

/** Renders what the customer can do, and the webhooks that can be sent. */
function renderActions({ entry, deliveries, hasReceiver }: TransactionStory): Html {
  const { reference, mobileMoney, status } = entry;
  const decision = html`<form method="post" action="/decide" class="actions" data-stay>
<input type="hidden" name="reference" value="${reference}">
<button class="primary" name="decision" value="approve">Approve</button>
<button name="decision" value="decline">Decline</button>
</form>
<a class="action" href="/phone">Open the phone</a>`;
  const checkout = html`<a class="action" href="/checkout/${reference}">Checkout page</a>`;
  const webhooks = hasReceiver
    ? html`<form method="post" action="/webhooks/send" data-stay>
<input type="hidden" name="about" value="${reference}">
<button>${deliveries.length > 0 ? 'Send the webhook again' : 'Send a webhook'}</button>
</form>
<a class="action" href="/webhooks?about=${reference}#forge">Send a forged one</a>`
    : html`<a class="action" href="/webhooks#receiver">Set a webhook receiver</a>`;
  const pay = mobileMoney ? decision : checkout;
  return html`<div class="actions">${mobileMoney && isFinal(status) ? '' : pay}${webhooks}</div>`;
}
