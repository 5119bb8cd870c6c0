import { html } from 'hono/html';
import type { OperationName } from '../../api/operations.ts';
import type { Fault, QueuedFault } from '../../testing/faults.ts';
import { describeFault } from '../fault-form.ts';
import type { Html } from './layout.ts';

const operations: Record<OperationName, string> = {
  initialize: 'initialize',
  chargeMobileMoney: 'charge-mobile-money',
  verify: 'verify',
};

const kinds: Record<Fault['kind'], string> = {
  status: 'A status code',
  rateLimited: '429 with Retry-After',
  reset: 'Connection breaks before the service acts',
  responseLost: 'Answer lost after the service acted',
  hang: 'No answer ever',
  slowBody: 'Answer byte by byte',
  truncated: 'JSON ends in the middle',
  wrongAmount: 'Another amount',
  wrongCurrency: 'Another currency',
  wrongReference: 'Another reference',
  unrecognisedStatus: 'An unknown status',
  lateApproval: 'Late approval',
};

/** Only the fields of the chosen fault are shown: the style sheet sees which that is. */
export function faultForm(): Html {
  return html`<form method="post" action="/faults" class="fault-form">
<label>Operation <select name="operation">${options(operations, 'verify')}</select></label>
<label>Fault <select name="kind">${options(kinds, 'status')}</select></label>
<label class="of status">Status code <input name="code" type="number" min="200" max="599" value="502" required></label>
<label class="of status">Body <select name="body"><option value="html">HTML page</option><option value="json">JSON</option><option value="empty">none</option></select></label>
<label class="of status hang tick"><input name="accepted" type="checkbox" value="yes"> The service acts all the same</label>
<label class="of rateLimited">Retry-After, seconds <input name="retryAfter" type="number" min="0" max="86400" value="5" required></label>
<label class="of wrongAmount">Amount <input name="amount" value="2.55" required></label>
<label class="of wrongCurrency">Currency <input name="currency" value="USD" required></label>
<label class="of wrongReference">Reference <input name="reference" value="TXN-another" required></label>
<label class="of unrecognisedStatus">Status <input name="status" value="reversed" required></label>
<label class="of lateApproval">Approved after, seconds <input name="after" type="number" min="0" max="86400" value="60" required></label>
<label>How often <select name="times"><option value="1">once</option><option value="3">3 times</option><option value="10">10 times</option><option value="always">until stopped</option></select></label>
<button class="primary">Break it</button>
</form>`;
}

function options(names: Readonly<Record<string, string>>, chosen: string): Html[] {
  return Object.entries(names).map(
    ([value, name]) =>
      html`<option value="${value}"${value === chosen ? html` selected` : ''}>${name}</option>`,
  );
}

export function faultsToCome(scripted: readonly Readonly<QueuedFault>[]): Html {
  if (scripted.length === 0) return html`<div id="to-come"><p>All is well: nothing is to break.</p></div>`;
  return html`<div id="to-come" class="active">
<ul>${scripted.map(
    ({ operation, fault, remaining: left }) =>
      html`<li><b>${operations[operation]}</b>, ${left === Number.POSITIVE_INFINITY ? 'until stopped' : `${left} to come`}: ${describeFault(fault)}</li>`,
  )}</ul>
<form method="post" action="/faults/stop"><button>Stop all faults</button></form>
</div>`;
}
