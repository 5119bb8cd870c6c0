import { html } from 'hono/html';
import { isFinal } from '../../schedule.ts';
import type { Exchange, PaymentService } from '../../testing/service.ts';
import type { ActivityLog, Row } from '../activity-log.ts';
import { renderFaultForm, renderQueuedFaults } from './fault-form.ts';
import {
  formatMoney,
  type Html,
  type LiveView,
  layout,
  networkNames,
  renderBadge,
  renderTime,
} from './layout.ts';

const MAX_SHOWN = 100;

/** What a shop needs to send requests to the sandbox. */
export interface Access {
  readonly baseUrl: string;
  readonly testKey: string;
  readonly liveKey: string;
}

/** Renders the transactions with their requests, the keys, and the form for faults. */
export function dashboardPage(service: PaymentService, activity: ActivityLog, access: Access): Html {
  const body = html`<h1 class="hidden">Transactions</h1>
<div class="columns">
<section aria-labelledby="transactions">
<h2 id="transactions">Transactions ${renderCount(service)}</h2>
<ol class="rows" data-live="${MAX_SHOWN}">${findShown(activity).reverse().map(renderRow)}</ol>
<p class="empty">None yet. Start a payment with the base URL and a key from this page.</p>
</section>
<div class="aside">
${renderAccess(access)}
<section class="card" aria-labelledby="faults">
<h2 id="faults">Inject a fault</h2>
${renderQueuedFaults(service.faults.pending)}
${renderFaultForm()}
</section>
${renderUnmatched(activity)}
</div>
</div>`;
  return layout({ title: 'Transactions', name: 'dashboard', events: '/events/dashboard', body });
}

/** Renders the rows that changed, and what can change beside them. */
export function liveDashboard(service: PaymentService, activity: ActivityLog): LiveView {
  const renderOthers = () =>
    html`${renderCount(service)}${renderQueuedFaults(service.faults.pending)}${renderUnmatched(activity)}`;
  return {
    renderAll: () => html`${findShown(activity).map(renderRow)}${renderOthers()}`,
    renderChanges: (since) => {
      const changed = findShown(activity).filter(({ version }) => version > since);
      return html`${changed.map(renderRow)}${renderOthers()}`;
    },
  };
}

/** Returns the newest rows, oldest first. */
function findShown(activity: ActivityLog): Row[] {
  return activity.rows().slice(-MAX_SHOWN);
}

function renderCount({ ledger: { size } }: PaymentService): Html {
  const text = size > MAX_SHOWN ? `the newest ${MAX_SHOWN} of ${size.toLocaleString('en')}` : String(size);
  return html`<span id="count" class="count">${text}</span>`;
}

function renderAccess({ baseUrl, testKey, liveKey }: Access): Html {
  return html`<section class="card" aria-labelledby="access">
<h2 id="access">For your shop</h2>
<dl>
<dt>Base URL</dt><dd><code>${baseUrl}</code></dd>
<dt>Test key</dt><dd><code>${testKey}</code></dd>
<dt>Live key, also for Mobile Money</dt><dd><code>${liveKey}</code></dd>
</dl>
</section>`;
}

function renderRow({ entry, exchanges, requests }: Row): Html {
  const { reference, customer_email, mobileMoney, createdAt } = entry;
  return html`<li id="${reference}"><details>
<summary>
${renderBadge(entry)}
<b class="amount">${formatMoney(entry)}</b>
<span class="who">${customer_email}</span>
<span class="how">${mobileMoney ? `${networkNames[mobileMoney.network]}, ${mobileMoney.phone}` : 'Checkout page'}</span>
<code class="reference">${reference}</code>
<span class="when">${renderTime(createdAt)}</span>
</summary>
<div class="behind">
<p>${renderNextStep(entry)}${requests > exchanges.length ? `The latest ${exchanges.length} of ${requests} requests:` : ''}</p>
${renderExchanges(`Requests for ${reference}`, exchanges)}
</div>
</details></li>`;
}

function renderNextStep({ reference, mobileMoney, status }: Row['entry']): Html | '' {
  if (mobileMoney) return isFinal(status) ? '' : html`<a href="/phone">Open the phone</a> `;
  return html`<a href="/checkout/${reference}">Checkout page</a> `;
}

function renderUnmatched({ unmatched }: ActivityLog): Html {
  if (unmatched.length === 0) return html`<section id="unmatched"></section>`;
  return html`<section id="unmatched" class="card">
<h2>Requests without a transaction</h2>
${renderExchanges('Requests without a transaction', unmatched)}
</section>`;
}

function renderExchanges(caption: string, exchanges: readonly Exchange[]): Html | '' {
  if (exchanges.length === 0) return '';
  return html`<table>
<caption class="hidden">${caption}</caption>
<thead><tr><th scope="col">Request</th><th scope="col">Status</th><th scope="col">Duration</th><th scope="col">Time</th></tr></thead>
<tbody>${exchanges.toReversed().map(
    ({ request, status, duration, at }) => html`<tr>
<td><code><b>${request.method}</b> ${request.path}</code></td>
<td class="${status === null || status >= 400 ? 'bad' : ''}">${status ?? 'connection broken'}</td>
<td>${Math.round(duration ?? 0)} ms</td>
<td>${renderTime(at)}</td>
</tr>`,
  )}</tbody>
</table>`;
}
