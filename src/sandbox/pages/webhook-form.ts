import { html } from 'hono/html';
import { type ForgedFields, forgedFieldsSchema, webhookFaultSchema } from '../../testing/faults.ts';
import { parseOrThrow } from '../../testing/fields.ts';
import type { Webhooks } from '../../testing/webhooks.ts';
import { describeFault, readFields, renderFields, renderQueue } from './form-fields.ts';
import type { Html } from './layout.ts';

/** Renders the form that sends a forged webhook now. `about` is the transaction that it claims to be about. */
export function renderForgeForm(about: string): Html {
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
export function renderReceiver({ url }: Webhooks): Html {
  return html`<div id="receiver-url">${
    url === null
      ? html`<p>No receiver is set, so no webhook is sent.</p>`
      : html`<p>Sent to <code>${url}</code></p>
<form method="post" action="/webhooks/receiver" data-stay><button name="url" value="">Stop sending</button></form>`
  }</div>`;
}

export function renderReceiverForm({ url }: Webhooks): Html {
  return html`<form method="post" action="/webhooks/receiver" class="fields" data-stay>
<label>Address of your shop <input name="url" type="url" value="${url !== null && /^https?:/i.test(url) ? url : ''}" placeholder="http://localhost:3000/webhooks" maxlength="2048" required></label>
<button class="primary">Send webhooks there</button>
</form>`;
}

/** Renders the faults that the next webhooks will meet. */
export function renderWebhookFaults({ pendingFaults }: Webhooks): Html {
  return renderQueue(
    'webhook-faults',
    '/webhooks/faults/stop',
    pendingFaults,
    ({ fault }, remaining) => html`<b>${describeFault(webhookFaultSchema, fault)}</b>, ${remaining}`,
  );
}
