/** The part of a page that orders faults, of requests or of webhooks, and shows those that are queued. */

import { html } from 'hono/html';
import type { Html } from '../../../ui/markup.ts';
import type { Queued } from '../../service/fault-queue.ts';
import {
  faultLabels,
  faultSchema,
  listKinds,
  operationNames,
  webhookFaultSchema,
} from '../../service/faults.ts';
import { describeFields, renderFields, renderOptions } from './form-fields.ts';
import type { Panel } from './list-page.ts';

const requestKinds = listKinds(faultSchema);
const webhookKinds = listKinds(webhookFaultSchema);

/** Every kind of fault, of requests and of webhooks. */
export const faultKinds = new Map([...requestKinds, ...webhookKinds]);

/** Returns the name of a fault, and what it does where the name does not say it. */
function splitLabel(kind: string): string[] {
  const fields = faultKinds.get(kind);
  return (fields && faultLabels.get(fields)?.label.split(': ')) ?? [kind];
}

/** Returns the name of a fault, as marks and lists show it. */
export function nameFault(kind: string): string {
  return splitLabel(kind)[0] ?? kind;
}

/** Describes a fault: its name, and its values or what it does. */
function describeFault(fault: { readonly kind: string }): string {
  const fields = faultKinds.get(fault.kind);
  const values = fields ? describeFields(fields, { ...fault }) : [];
  const [name, ...detail] = splitLabel(fault.kind);
  return [name, ...(values.length > 0 ? [values.join(', ')] : detail)].join(': ');
}

/** The rule of the style sheet that shows the fields of the selected fault. */
export const shownFieldsRule = `${[...faultKinds.keys()]
  .map((kind) => `.fields:has(option[value=${kind}]:checked) .of.${kind}`)
  .join(',\n')} { display: grid; }\n`;

type FaultPath = '/faults' | '/webhooks/faults';

type QueuedFaults = readonly Queued<{
  readonly operation?: string;
  readonly fault: { readonly kind: string };
}>[];

/** Renders the faults that the next requests or webhooks will meet, and the button that stops them. */
function renderQueue(path: FaultPath, queued: QueuedFaults): Html {
  if (queued.length === 0) return html`<div id="queued-faults" data-live><p>No fault is queued.</p></div>`;
  const items = queued.map(({ operation, fault, remaining }) => {
    const times = remaining === Number.POSITIVE_INFINITY ? 'until stopped' : `${remaining} remaining`;
    const what = describeFault(fault);
    return html`<li><b>${operation ?? what}</b>, ${times}${operation ? `: ${what}` : ''}</li>`;
  });
  return html`<div id="queued-faults" class="queue" data-live>
<ul>${items}</ul>
<form method="post" action="${path}/stop" data-stay><button>Stop all faults</button></form>
</div>`;
}

const operations = Object.fromEntries(operationNames.map((name) => [name, name]));
const repeats = { 1: 'once', 3: '3 times', 10: '10 times', always: 'until stopped' };

/** The style sheet shows the fields of the selected fault. */
export function createFaultPanel(path: FaultPath, title: string, queued: QueuedFaults): Panel {
  const kinds = [...(path === '/faults' ? requestKinds : webhookKinds)];
  const names = kinds.map(([kind]) => {
    const label = splitLabel(kind).join(': ');
    return [kind, `${label.charAt(0).toUpperCase()}${label.slice(1)}`];
  });
  const body = html`${renderQueue(path, queued)}
<form method="post" action="${path}" class="fields" data-stay>
${path === '/faults' ? html`<label>Operation <select name="operation">${renderOptions(operations, 'verify')}</select></label>` : ''}
<label>Fault <select name="kind">${renderOptions(Object.fromEntries(names))}</select></label>
${kinds.map(([kind, fields]) => renderFields(fields, `${kind}.`, `of ${kind}`))}
<label>Repeat <select name="times">${renderOptions(repeats, '1')}</select></label>
<button class="primary">Inject</button>
</form>`;
  return { id: 'faults', tab: 'Faults', title, body };
}
