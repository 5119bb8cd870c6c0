import { html } from 'hono/html';
import type { Queued } from '../../testing/fault-queue.ts';
import { type FaultOrder, faultSchema, operationNames } from '../../testing/faults.ts';
import {
  describeFault,
  describeRemaining,
  renderFaultFields,
  renderOptions,
  renderRepeat,
} from './form-fields.ts';
import type { Html } from './layout.ts';

const operations = Object.fromEntries(operationNames.map((name) => [name, name]));

/** Renders the form that orders a fault for the next requests. */
export function renderFaultForm(): Html {
  return html`<form method="post" action="/faults" class="fields" data-stay>
<label>Operation <select name="operation">${renderOptions(operations, 'verify')}</select></label>
${renderFaultFields(faultSchema)}
${renderRepeat()}
<button class="primary">Inject</button>
</form>`;
}

/** Renders the faults that the next requests will meet. */
export function renderQueuedFaults(queued: readonly Queued<FaultOrder>[]): Html {
  if (queued.length === 0) return html`<div id="queued-faults"><p>No fault is queued.</p></div>`;
  return html`<div id="queued-faults" class="queue">
<ul>${queued.map(
    ({ operation, fault, remaining }) =>
      html`<li><b>${operation}</b>, ${describeRemaining(remaining)}: ${describeFault(faultSchema, fault)}</li>`,
  )}</ul>
<form method="post" action="/faults/stop" data-stay><button>Stop all faults</button></form>
</div>`;
}
