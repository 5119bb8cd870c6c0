import { html } from 'hono/html';
import { createRedact } from '../../../support/redact.ts';
import { isRecord, parseJson } from '../../../support/untrusted.ts';
import { type Html, type Look, renderLabel } from '../../../ui/markup.ts';
import { webhookFaultSchema } from '../../service/faults.ts';
import type { WebhookAttempt, WebhookDelivery } from '../../service/webhook-delivery.ts';
import { LIVE_KEY } from '../options.ts';
import { nameFault } from './fault-card.ts';
import { formatDuration, renderTime } from './layout.ts';

const looks: Record<WebhookDelivery['state'], Look> = {
  waiting: 'pending',
  sending: 'pending',
  delivered: 'success',
  failed: 'failed',
  lost: 'abandoned',
};

export function renderDelivery(delivery: WebhookDelivery): Html {
  const { id, reference, url, headers, body, attempts, createdAt } = delivery;
  return html`<li id="${id}"><details data-key="delivery">
<summary>
${renderDeliveryState(delivery)}
<b class="event">${nameEvent(body)}</b>
<span class="outcome">${renderFault(delivery)}${renderProgress(delivery)}</span>
<code class="reference">${reference}</code>
<span class="when">${renderTime(createdAt)}</span>
</summary>
<div class="behind">
<div class="actions">
<form method="post" action="/webhooks/send" data-stay><input type="hidden" name="about" value="${reference}"><button>Send again</button></form>
<a class="action" href="/webhooks?about=${reference}#forge">Send a forged one</a>
<a class="action" href="/?search=${reference}">Transaction</a>
</div>
<h3>Request</h3>
<dl>
<dt>To</dt><dd><code>${url ?? 'no receiver'}</code></dd>
<dt>Headers</dt><dd><pre>${formatHeaders(headers)}</pre></dd>
<dt>Body</dt><dd><pre>${JSON.stringify(body, null, 2)}</pre></dd>
</dl>
<h3>Attempts</h3>
${renderAttempts(attempts)}
</div>
</details></li>`;
}

export function renderDeliveryLink(delivery: WebhookDelivery): Html {
  const { id, body, createdAt } = delivery;
  return html`<a href="/webhooks#${id}">${renderDeliveryState(delivery)} <b>${nameEvent(body)}</b> ${renderFault(delivery)}${renderProgress(delivery)} <span class="when">${renderTime(createdAt)}</span></a>`;
}

function renderDeliveryState({ state }: WebhookDelivery): Html {
  return renderLabel(looks[state], state);
}

function renderFault({ fault }: WebhookDelivery): Html | '' {
  return fault === null ? '' : html`<span class="tag fault">${nameFault(webhookFaultSchema, fault)}</span> `;
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

function renderAttempts(attempts: readonly WebhookAttempt[]): Html {
  if (attempts.length === 0) return html`<p class="small">None yet.</p>`;
  return html`<ol class="attempts">${attempts.map(
    (
      attempt,
    ) => html`<li>${renderAnswer(attempt)} <span class="when">${attempt.duration === null ? '' : `${formatDuration(attempt.duration)}, `}${renderTime(attempt.at)}</span>
${attempt.body ? html`<pre>${formatResponse(attempt.body)}</pre>` : ''}</li>`,
  )}</ol>`;
}

const redact = createRedact([LIVE_KEY]);

/** Formats the response of a receiver, which can contain anything. */
function formatResponse(body: string): string {
  const shown = redact.body({ text: body, json: parseJson(body) });
  return typeof shown === 'string' ? shown : JSON.stringify(shown, null, 2);
}

function formatHeaders(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

function nameEvent(body: unknown): string {
  return isRecord(body) && typeof body.event === 'string' ? body.event : 'webhook';
}
