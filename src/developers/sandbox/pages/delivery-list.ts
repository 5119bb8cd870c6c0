import { html } from 'hono/html';
import { isRecord, parseJson } from '../../../support/untrusted.ts';
import { type Html, type Look, renderLabel } from '../../../ui/markup.ts';
import type { WebhookAttempt, WebhookDelivery } from '../../service/webhook-delivery.ts';
import { nameFault } from './fault-panel.ts';
import { formatDuration, renderTime } from './layout.ts';
import { renderBody, renderFacts, renderRow } from './row.ts';

const looks: Record<WebhookDelivery['state'], Look> = {
  waiting: 'pending',
  sending: 'pending',
  delivered: 'success',
  failed: 'failed',
  lost: 'abandoned',
};

export function renderDelivery(delivery: WebhookDelivery): Html {
  const { id, reference, url, headers, body, attempts } = delivery;
  const headerLines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const behind = html`<div class="actions">
<form method="post" action="/webhooks/send" data-stay><input type="hidden" name="about" value="${reference}"><button>Send again</button></form>
<a class="action" href="/webhooks?about=${reference}#forge">Send a forged one</a>
<a class="action" href="/?search=${reference}">Transaction</a>
</div>
<h3>Request</h3>
${renderFacts({
  To: html`<code>${url ?? 'no receiver'}</code>`,
  Headers: html`<pre>${headerLines.join('\n')}</pre>`,
  Body: html`<pre>${JSON.stringify(body, null, 2)}</pre>`,
})}
<h3>Attempts</h3>
${attempts.length > 0 ? html`<ol class="attempts">${attempts.map(renderAttempt)}</ol>` : html`<p class="small">None yet.</p>`}`;
  const line = renderLine(delivery, html`<code class="reference">${reference}</code> `);
  return html`<li id="${id}">${renderRow({ key: 'delivery', line, behind })}</li>`;
}

export function renderDeliveryLink(delivery: WebhookDelivery): Html {
  return html`<a class="line" href="/webhooks#${delivery.id}">${renderLine(delivery)}</a>`;
}

function renderLine(delivery: WebhookDelivery, reference: Html | '' = ''): Html {
  const { state, body, fault, createdAt } = delivery;
  const event = isRecord(body) && typeof body.event === 'string' ? body.event : 'webhook';
  return html`<span class="state">${renderLabel(looks[state], state)}</span>
<b class="what">${event}</b>
<span class="detail">${fault === null ? '' : html`<span class="tag fault">${nameFault(fault)}</span> `}${renderProgress(delivery)}</span>
<span class="end">${reference}<span class="when">${renderTime(createdAt)}</span></span>`;
}

/** Renders what the receiver responded last, and when the next attempt is due. */
function renderProgress({ attempts, dueAt }: WebhookDelivery): Html {
  const last = attempts.at(-1);
  const count = attempts.length > 1 ? ` after ${attempts.length} attempts` : '';
  const due = dueAt === null ? '' : html`${last ? ', next ' : 'due '}${renderTime(dueAt)}`;
  return html`${last ? html`${renderAnswer(last)}${count}` : ''}${due}`;
}

function renderAnswer({ status, error, duration }: WebhookAttempt): Html {
  if (status !== null)
    return html`<span class="${status >= 200 && status < 300 ? '' : 'bad'}">${status}</span>`;
  return duration === null && error === null
    ? html`no response yet`
    : html`<span class="bad">${error ?? 'no response'}</span>`;
}

function renderAttempt(attempt: WebhookAttempt): Html {
  const { at, duration, body } = attempt;
  const took = duration === null ? '' : `${formatDuration(duration)}, `;
  return html`<li>${renderAnswer(attempt)} <span class="when">${took}${renderTime(at)}</span>
${renderBody(body ?? '', parseJson(body))}</li>`;
}
