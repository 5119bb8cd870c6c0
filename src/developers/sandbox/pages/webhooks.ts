/** The webhooks: each delivery with its attempts, the receiver, forged webhooks, and the faults of the next ones. */

import type { Hono } from 'hono';
import { html } from 'hono/html';
import type { Html } from '../../../ui/markup.ts';
import { forgedFieldsSchema } from '../../service/faults.ts';
import type { Webhooks } from '../../service/webhooks.ts';
import type { SandboxContext } from '../context.ts';
import type { Env } from '../request.ts';
import { createClockPanel } from './clock-panel.ts';
import { renderDelivery } from './delivery-list.ts';
import { createFaultPanel } from './fault-panel.ts';
import { renderFields } from './form-fields.ts';
import { type Panel, renderListPage } from './list-page.ts';
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
  const { length } = deliveries;
  const shown = length > MAX_SHOWN ? `${MAX_SHOWN} of ${length.toLocaleString('en')}` : String(length);
  const waiting = deliveries.filter(({ state }) => state === 'waiting').length;
  const flush = html`<form method="post" action="/webhooks/flush" data-stay><button>Send what waits now</button></form>`;
  return renderListPage({
    heading: 'Deliveries',
    count: waiting > 0 ? `${shown}, ${waiting} waiting` : shown,
    action: waiting > 0 ? flush : '',
    rows: deliveries.slice(-MAX_SHOWN).reverse().map(renderDelivery),
    empty: html`<h3>No webhook yet</h3>
<p>Set a receiver. When a payment becomes final, the sandbox posts a webhook to it, and the delivery appears here.</p>`,
    panels: [
      createReceiverPanel(webhooks),
      createFaultPanel('/webhooks/faults', 'Break the next webhooks', webhooks.pendingFaults),
      createForgePanel(about),
      createClockPanel(clock, '/webhooks'),
    ],
  });
}

/** Shows where webhooks go, and has the form that changes it. */
function createReceiverPanel({ url }: Webhooks): Panel {
  const receiver =
    url === null
      ? html`<p>No receiver is set, so no webhook is sent.</p>`
      : html`<p>Sent to <code>${url}</code></p>
<form method="post" action="/webhooks/receiver" data-stay><button name="url" value="">Stop sending</button></form>`;
  const address = url !== null && /^https?:/i.test(url) ? url : '';
  const body = html`<div id="receiver-url" data-live>${receiver}</div>
<form method="post" action="/webhooks/receiver" class="fields" data-stay>
<label>Address of your shop <input name="url" type="url" value="${address}" placeholder="http://localhost:3000/webhooks" maxlength="2048" required></label>
<button class="primary">Send webhooks there</button>
</form>
<p class="small">The service does not document its webhooks. The payload, the headers and the retries are the sandbox's own.</p>`;
  return { id: 'receiver', tab: 'Receiver', title: 'Receiver', body };
}

/** Has the form that sends a forged webhook now. `about` is the transaction that it claims to be about. */
function createForgePanel(about: string): Panel {
  const body = html`<form method="post" action="/webhooks/send" class="fields" data-stay>
<label>Transaction <input name="about" value="${about}" placeholder="TXN-" maxlength="255" autocomplete="off" required></label>
<input type="hidden" name="forged" value="yes">
${renderFields(forgedFieldsSchema)}
<button>Send the forged webhook</button>
</form>`;
  return { id: 'forge', tab: 'Forge', title: 'Send a forged webhook', body };
}
