import { html } from 'hono/html';
import type { Html } from '../../../ui/markup.ts';
import type { Clock } from '../../service/clock.ts';
import { type ForgedFields, forgedFieldsSchema, webhookFaultSchema } from '../../service/faults.ts';
import { parseOrThrow } from '../../service/fields.ts';
import type { Webhooks } from '../../service/webhooks.ts';
import { renderClock, renderClockCard } from './clock-card.ts';
import { renderDelivery } from './delivery-list.ts';
import { readFields, renderFaultForm, renderFields, renderQueue } from './form-fields.ts';
import { layout } from './layout.ts';
import { createLiveList, type ListView, type LiveView, renderItems } from './live-list.ts';

const MAX_SHOWN = 100;

/** Renders the deliveries, and what changes the next ones. `about` is the transaction for a forged one. */
export function webhooksPage(webhooks: Webhooks, clock: Clock, about: string): Html {
  const { items, others } = viewDeliveries(webhooks, clock);
  const [count, receiver, faults, time] = others;
  const body = html`<h1 class="hidden">Webhooks</h1>
<div class="columns">
<section class="list" aria-labelledby="deliveries">
<div class="title"><h2 id="deliveries">Deliveries</h2> ${count}
<form method="post" action="/webhooks/flush" data-stay><button>Send what waits now</button></form></div>
<ol class="rows" data-live="${MAX_SHOWN}">${renderItems(items)}</ol>
<div class="empty card">
<h3>No webhook yet</h3>
<p>Set a receiver. When a payment becomes final, the sandbox posts a webhook to it, and the delivery appears here.</p>
</div>
</section>
<div class="aside">
<section class="card panel" id="receiver" aria-labelledby="receiver-title">
<h2 id="receiver-title">Receiver</h2>
${receiver}
${renderReceiverForm(webhooks)}
<p class="small">The service does not document its webhooks. The payload, the headers and the retries are the sandbox's own.</p>
</section>
<section class="card panel" id="faults" aria-labelledby="faults-title">
<h2 id="faults-title">Break the next webhooks</h2>
${faults}
${renderFaultForm('/webhooks/faults', webhookFaultSchema)}
</section>
<section class="card panel" id="forge" aria-labelledby="forge-title">
<h2 id="forge-title">Send a forged webhook</h2>
${renderForgeForm(about)}
</section>
${renderClockCard(time, '/webhooks')}
</div>
</div>
<nav class="tabs" aria-label="Parts of the page">
<a href="#deliveries">Deliveries</a><a href="#receiver">Receiver</a><a href="#faults">Faults</a><a href="#forge">Forge</a><a href="#time">Time</a>
</nav>`;
  return layout({ title: 'Webhooks', name: 'webhooks', events: '/events/webhooks', body });
}

/** Renders the deliveries that changed, and what can change beside them. */
export function liveWebhooks(webhooks: Webhooks, clock: Clock): LiveView {
  return createLiveList(() => viewDeliveries(webhooks, clock));
}

function viewDeliveries(webhooks: Webhooks, clock: Clock): ListView & { others: [Html, Html, Html, Html] } {
  const { deliveries } = webhooks;
  const shown = deliveries.slice(-MAX_SHOWN).reverse();
  const waiting = deliveries.filter(({ state }) => state === 'waiting').length;
  return {
    items: shown.map((delivery) => ({
      id: delivery.id,
      render: (next) => renderDelivery(delivery, next),
    })),
    others: [
      renderCount(shown.length, deliveries.length, waiting),
      renderReceiver(webhooks),
      renderQueue('/webhooks/faults', webhookFaultSchema, webhooks.pendingFaults),
      renderClock(clock),
    ],
  };
}

function renderCount(shown: number, all: number, waiting: number): Html {
  const count = shown < all ? `${shown} of ${all.toLocaleString('en')}` : String(all);
  return html`<span id="count" class="count${waiting > 0 ? ' waiting' : ''}">${count}${waiting > 0 ? `, ${waiting} waiting` : ''}</span>`;
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

/** Reads what {@link renderForgeForm} sends. Without a field it claims a success. */
export function readForgedFields(form: Readonly<Record<string, unknown>>): ForgedFields {
  const fields = parseOrThrow(forgedFieldsSchema, readFields(forgedFieldsSchema, form), 'The webhook');
  return Object.keys(fields).length === 0 ? { status: 'success' } : fields;
}

/** Renders where webhooks go, and the form that changes it. */
function renderReceiver({ url }: Webhooks): Html {
  return html`<div id="receiver-url">${
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
