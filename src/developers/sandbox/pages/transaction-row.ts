import { html } from 'hono/html';
import { isFinal } from '../../../schedule.ts';
import { type Html, networkNames } from '../../../ui/markup.ts';
import type { Entry, KnownStatus } from '../../service/ledger.ts';
import type { WebhookDelivery } from '../../service/webhook-delivery.ts';
import type { RequestHistory } from '../request-history.ts';
import { renderDeliveryLink } from './delivery-list.ts';
import { formatMoney, renderBadge, renderCopyable, renderTime } from './layout.ts';
import { renderRequests } from './request-list.ts';

/** A transaction with what is known of its requests and webhooks. */
export interface TransactionStory {
  readonly entry: Entry;
  readonly reported: KnownStatus;
  readonly history: RequestHistory | undefined;
  readonly deliveries: readonly WebhookDelivery[];
  readonly hasReceiver: boolean;
}

export function renderTransaction(story: TransactionStory): Html {
  const { entry } = story;
  const { reference, mode, customer_email, createdAt } = entry;
  return html`<li id="${reference}"><details data-key="row">
<summary>
${renderBadge(entry)}
<b class="amount">${formatMoney(entry)}</b>
<span class="who" title="${customer_email}">${customer_email}</span>
<span class="how">${describeMeans(entry)}</span>
<code class="reference">${reference}</code>
<span class="meta"><span class="tag ${mode}">${mode}</span><span class="when">${renderTime(createdAt)}</span></span>
${renderMarks(story)}
</summary>
<div class="behind">
<dl class="facts">
<div><dt>Reference</dt><dd>${renderCopyable('the reference', reference)}</dd></div>
<div><dt>Customer</dt><dd>${customer_email}</dd></div>
${renderChange(entry)}
</dl>
${renderActions(story)}
${renderEvents(story)}
${renderDeliveries(story)}
</div>
</details></li>`;
}

function describeMeans({ mobileMoney }: Entry): string {
  return mobileMoney ? `${networkNames[mobileMoney.network]}, ${mobileMoney.phone}` : 'Checkout page';
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
  return marks.length === 0
    ? ''
    : html`<span class="marks">${marks.map((mark) => html`<span>${mark}</span>`)}</span>`;
}

function renderChange({ status, changedAt, plan }: Entry): Html | '' {
  if (isFinal(status)) return html`<div><dt>Final since</dt><dd>${renderTime(changedAt)}</dd></div>`;
  if (!plan || !('settleAt' in plan)) return '';
  const what = plan.isExpiry ? 'Expires' : `Becomes ${plan.status}`;
  return html`<div><dt>${what}</dt><dd>${renderTime(plan.settleAt)}</dd></div>`;
}

function renderActions(story: TransactionStory): Html {
  const { reference, mobileMoney, status } = story.entry;
  if (!mobileMoney) {
    return html`<div class="actions"><a class="action" href="/checkout/${reference}">Checkout page</a>${renderWebhookActions(story)}</div>`;
  }
  const decision = html`<form method="post" action="/decide" class="actions" data-stay>
<input type="hidden" name="reference" value="${reference}">
<button class="primary" name="decision" value="approve">Approve</button>
<button name="decision" value="decline">Decline</button>
</form>
<a class="action" href="/phone">Open the phone</a>`;
  return html`<div class="actions">${isFinal(status) ? '' : decision}${renderWebhookActions(story)}</div>`;
}

function renderWebhookActions({ entry: { reference }, deliveries, hasReceiver }: TransactionStory): Html {
  if (!hasReceiver) return html`<a class="action" href="/webhooks#receiver">Set a webhook receiver</a>`;
  return html`<form method="post" action="/webhooks/send" data-stay>
<input type="hidden" name="about" value="${reference}">
<button>${deliveries.length > 0 ? 'Send the webhook again' : 'Send a webhook'}</button>
</form>
<a class="action" href="/webhooks?about=${reference}#forge">Send a forged one</a>`;
}

function renderEvents({ entry, history }: TransactionStory): Html {
  if (!history) return html`<p class="small">The sandbox has no requests for it in memory.</p>`;
  return html`<h3>Requests</h3>
${renderRequests(`Requests for ${entry.reference}`, history, entry)}`;
}

function renderDeliveries({ deliveries }: TransactionStory): Html | '' {
  if (deliveries.length === 0) return '';
  return html`<h3>Webhooks</h3>
<ul class="deliveries">${deliveries.map((delivery) => html`<li>${renderDeliveryLink(delivery)}</li>`)}</ul>`;
}
