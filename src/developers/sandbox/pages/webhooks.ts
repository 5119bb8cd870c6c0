/** The webhooks: each delivery with its attempts, the receiver, forged webhooks, and the faults of the next ones. */

import type { Hono } from 'hono';
import { html } from 'hono/html';
import type { Html } from '../../../ui/markup.ts';
import { forgedFieldsSchema } from '../../service/faults.ts';
import type { WebhookDelivery } from '../../service/webhook-delivery.ts';
import type { Webhooks } from '../../service/webhooks.ts';
import type { SandboxContext } from '../context.ts';
import type { Env } from '../request.ts';
import { renderClockCard } from './clock-card.ts';
import { renderDelivery } from './delivery-list.ts';
import { renderFaultCard } from './fault-card.ts';
import { renderFields } from './form-fields.ts';
import { addLivePage } from './live.ts';

const MAX_SHOWN = 100;

export function addWebhooks(app: Hono<Env>, context: SandboxContext): void {
  addLivePage(app, context.changes, '/webhooks', 'webhooks', ({ about = '' }) => ({
    title: 'Webhooks',
    query: '',
    render: () => renderWebhooks(context, about),
  }));
}

/** `about` is the transaction for a forged webhook. */
function renderWebhooks({ service: { clock }, webhooks }: SandboxContext, about: string): Html {
  const { deliveries } = webhooks;
  return html`<h1 class="hidden">Webhooks</h1>
<div class="columns">
<section class="list" aria-labelledby="deliveries">
<div class="title" id="count" data-live><h2 id="deliveries">Deliveries</h2> ${renderCount(deliveries)}</div>
<ol class="rows" id="rows" data-live>${deliveries.slice(-MAX_SHOWN).reverse().map(renderDelivery)}</ol>
<div class="empty card">
<h3>No webhook yet</h3>
<p>Set a receiver. When a payment becomes final, the sandbox posts a webhook to it, and the delivery appears here.</p>
</div>
</section>
<div class="aside">
<section class="card panel" id="receiver" aria-labelledby="receiver-title">
<h2 id="receiver-title">Receiver</h2>
${renderReceiver(webhooks)}
${renderReceiverForm(webhooks)}
<p class="small">The service does not document its webhooks. The payload, the headers and the retries are the sandbox's own.</p>
</section>
${renderFaultCard('/webhooks/faults', 'Break the next webhooks', webhooks.pendingFaults)}
<section class="card panel" id="forge" aria-labelledby="forge-title">
<h2 id="forge-title">Send a forged webhook</h2>
${renderForgeForm(about)}
</section>
${renderClockCard(clock, '/webhooks')}
</div>
</div>
<nav class="tabs" aria-label="Parts of the page">
<a href="#deliveries">Deliveries</a><a href="#receiver">Receiver</a><a href="#faults">Faults</a><a href="#forge">Forge</a><a href="#time">Time</a>
</nav>`;
}

function renderCount(deliveries: readonly WebhookDelivery[]): Html {
  const { length } = deliveries;
  const count = length > MAX_SHOWN ? `${MAX_SHOWN} of ${length.toLocaleString('en')}` : String(length);
  const waiting = deliveries.filter(({ state }) => state === 'waiting').length;
  if (waiting === 0) return html`<span class="count">${count}</span>`;
  return html`<span class="count">${count}, ${waiting} waiting</span>
<form method="post" action="/webhooks/flush" data-stay><button>Send what waits now</button></form>`;
}

/** Renders the form that sends a forged webhook now. `about` is the transaction that it claims to be about. */
function renderForgeForm(about: string): Html {
  return html`<form method="post" action="/webhooks/send" class="fields" data-stay>
<label>Transaction <input name="about" value="${about}" placeholder="TXN-" maxlength="255" autocomplete="off" required></label>
<input type="hidden" name="forged" value="yes">
${renderFields(forgedFieldsSchema)}
<button>Send the forged webhook</button>
</form>`;
}

/** Renders where webhooks go, and the form that changes it. */
function renderReceiver({ url }: Webhooks): Html {
  return html`<div id="receiver-url" data-live>${
    url === null
      ? html`<p>No receiver is set, so no webhook is sent.</p>`
      : html`<p>Sent to <code>${url}</code></p>
<form method="post" action="/webhooks/receiver" data-stay><button name="url" value="">Stop sending</button></form>`
  }</div>`;
}

function renderReceiverForm({ url }: Webhooks): Html {
  return html`<form method="post" action="/webhooks/receiver" class="fields" data-stay>
<label>Address of your shop <input name="url" type="url" value="${url !== null && /^https?:/i.test(url) ? url : ''}" placeholder="http://localhost:3000/webhooks" maxlength="2048" required></label>
<button class="primary">Send webhooks there</button>
</form>`;
}
