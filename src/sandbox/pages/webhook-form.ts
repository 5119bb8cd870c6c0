import { html } from 'hono/html';
import * as z from 'zod/mini';
import type { WebhookFault } from '../../testing/webhook-faults.ts';
import type { ForgedFields, Webhooks } from '../../testing/webhooks.ts';
import { webhookFaultNames } from './delivery-list.ts';
import {
  describeIssues,
  describeRemaining,
  optionalText,
  renderOptions,
  renderRepeat,
  repeatSchema,
  secondsToMilliseconds,
} from './form-fields.ts';
import type { Html } from './layout.ts';

const kindNames: Record<WebhookFault['kind'], string> = {
  late: `${webhookFaultNames.late}: sent after a delay`,
  twice: webhookFaultNames.twice,
  outOfOrder: `${webhookFaultNames.outOfOrder}: sent after the next one`,
  lost: `${webhookFaultNames.lost}: never sent`,
  forged: `${webhookFaultNames.forged}: a false one before it`,
  early: `${webhookFaultNames.early}: before verify reports it`,
};

/** Renders the form that orders a fault. The style sheet shows only the fields of the selected fault. */
export function renderWebhookFaultForm(): Html {
  return html`<form method="post" action="/webhooks/faults" class="fields" data-stay>
<label>Fault <select name="kind">${renderOptions(kindNames, 'late')}</select></label>
<label class="of late early">Delay, seconds <input name="delay" type="number" min="0" max="86400" value="10" required></label>
<div class="of forged">${renderForgedFields()}</div>
${renderRepeat()}
<button class="primary">Inject</button>
</form>`;
}

/** Renders the form that sends a forged webhook now. `about` is the transaction that it claims to be about. */
export function renderForgeForm(about: string): Html {
  return html`<form method="post" action="/webhooks/send" class="fields" data-stay>
<label>Transaction <input name="about" value="${about}" placeholder="TXN-" maxlength="255" autocomplete="off" required></label>
<input type="hidden" name="forged" value="yes">
${renderForgedFields()}
<button>Send the forged webhook</button>
</form>`;
}

function renderForgedFields(): Html {
  return html`<label>Forged reference <input name="reference" maxlength="255" autocomplete="off" placeholder="unchanged"></label>
<label>Forged amount <input name="amount" inputmode="decimal" maxlength="255" autocomplete="off" placeholder="unchanged"></label>
<label>Forged status <input name="status" maxlength="255" autocomplete="off" placeholder="success"></label>`;
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
  if (pendingFaults.length === 0) {
    return html`<div id="webhook-faults"><p>No fault is queued.</p></div>`;
  }
  return html`<div id="webhook-faults" class="queue">
<ul>${pendingFaults.map(
    ({ fault, remaining }) =>
      html`<li><b>${webhookFaultNames[fault.kind]}</b>, ${describeRemaining(remaining)}${describeDetails(fault)}</li>`,
  )}</ul>
<form method="post" action="/webhooks/faults/stop" data-stay><button>Stop all faults</button></form>
</div>`;
}

function describeDetails(fault: WebhookFault): string {
  if (fault.kind === 'forged') {
    const { reference, amount, status } = fault;
    const changes = Object.entries({ reference, amount, status }).filter(([, value]) => value !== undefined);
    return changes.length > 0 ? `: ${changes.map((change) => change.join(' ')).join(', ')}` : '';
  }
  return 'delay' in fault && fault.delay !== undefined ? `: ${fault.delay / 1000} s` : '';
}

const forgedSchema = z.object({ reference: optionalText, amount: optionalText, status: optionalText });

const faultSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['late', 'early']), delay: secondsToMilliseconds }),
  z.object({ kind: z.enum(['twice', 'outOfOrder', 'lost']) }),
  z.object({ kind: z.literal('forged'), ...forgedSchema.shape }),
]);

const repeat = z.object({ times: repeatSchema });

/** Parses the fields of a form that orders a fault. Returns a string if they are not valid: what is wrong with them. */
export function parseWebhookFaultForm(fields: unknown): { fault: WebhookFault; times: number } | string {
  const fault = faultSchema.safeParse(fields);
  const order = repeat.safeParse(fields);
  if (!fault.success || !order.success) return describeIssues(fault.error, order.error);
  const { data } = fault;
  return {
    fault: data.kind === 'forged' ? { kind: data.kind, ...omitMissing(data) } : data,
    times: order.data.times,
  };
}

const sendSchema = z.object({
  about: z.string(),
  forged: z.optional(z.literal('yes')),
  ...forgedSchema.shape,
});

/** Parses the fields of a form that sends a webhook now. */
export function parseSendForm(fields: unknown): { about: string; forged: ForgedFields | undefined } | null {
  const sent = sendSchema.safeParse(fields);
  if (!sent.success) return null;
  const { about, forged, ...changes } = sent.data;
  const given = omitMissing(changes);
  const isEmpty = Object.keys(given).length === 0;
  return { about, forged: forged ? (isEmpty ? { status: 'success' } : given) : undefined };
}

function omitMissing({ reference, amount, status }: z.output<typeof forgedSchema>): ForgedFields {
  return {
    ...(reference === undefined ? {} : { reference }),
    ...(amount === undefined ? {} : { amount }),
    ...(status === undefined ? {} : { status }),
  };
}
