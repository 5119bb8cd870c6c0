import { html } from 'hono/html';
import { isFinal } from '../../testing/ledger.ts';
import type { Exchange, PaymentService } from '../../testing/service.ts';
import type { Activity, Row } from '../activity.ts';
import type { LiveView } from '../live.ts';
import { faultForm, faultsToCome } from './fault-switches.ts';
import { type Html, layout } from './layout.ts';
import { badge, moment, money, networkNames } from './words.ts';

const SHOWN = 100;

/** What a shop has to be given to talk to the sandbox. */
export interface Access {
  readonly baseUrl: string;
  readonly testKey: string;
  readonly liveKey: string;
}

export function dashboardPage(service: PaymentService, activity: Activity, access: Access): Html {
  const body = html`<h1 class="hidden">Transactions</h1>
<div class="columns">
<section aria-labelledby="transactions">
<h2 id="transactions">Transactions ${count(service)}</h2>
<ol class="rows" data-live="${SHOWN}">${latest(activity).reverse().map(transaction)}</ol>
<p class="empty">None yet. Start a payment with the address and a key from this page.</p>
</section>
<div class="aside">
${accessCard(access)}
<section class="card" aria-labelledby="faults">
<h2 id="faults">Break the next requests</h2>
${faultsToCome(service.faults.scripted)}
${faultForm()}
</section>
${otherRequests(activity)}
</div>
</div>`;
  return layout({ title: 'Transactions', name: 'dashboard', events: '/events/dashboard', body });
}

export function liveDashboard(service: PaymentService, activity: Activity): LiveView {
  const around = () =>
    html`${count(service)}${faultsToCome(service.faults.scripted)}${otherRequests(activity)}`;
  return {
    all: () => html`${latest(activity).map(transaction)}${around()}`,
    since: (seen) => {
      const touched = latest(activity).filter(({ version }) => version > seen);
      return html`${touched.map(transaction)}${around()}`;
    },
  };
}

/** Oldest first. */
const latest = (activity: Activity) => activity.rows().slice(-SHOWN);

function count({ ledger: { size } }: PaymentService): Html {
  const text = size > SHOWN ? `the newest ${SHOWN} of ${size.toLocaleString('en')}` : String(size);
  return html`<span id="count" class="count">${text}</span>`;
}

function accessCard({ baseUrl, testKey, liveKey }: Access): Html {
  return html`<section class="card" aria-labelledby="access">
<h2 id="access">For your shop</h2>
<dl>
<dt>Base URL</dt><dd><code>${baseUrl}</code></dd>
<dt>Test key</dt><dd><code>${testKey}</code></dd>
<dt>Live key, also for Mobile Money</dt><dd><code>${liveKey}</code></dd>
</dl>
</section>`;
}

function transaction({ entry, exchanges, requests }: Row): Html {
  const { reference, customer_email, mobileMoney, createdAt } = entry;
  return html`<li id="${reference}"><details>
<summary>
${badge(entry)}
<b class="amount">${money(entry)}</b>
<span class="who">${customer_email}</span>
<span class="how">${mobileMoney ? `${networkNames[mobileMoney.network]}, ${mobileMoney.phone}` : 'Checkout page'}</span>
<code class="reference">${reference}</code>
<span class="when">${moment(createdAt)}</span>
</summary>
<div class="behind">
<p>${nextStepLink(entry)}${requests > exchanges.length ? `The latest ${exchanges.length} of ${requests} requests:` : ''}</p>
${table(`Requests behind ${reference}`, exchanges)}
</div>
</details></li>`;
}

function nextStepLink({ reference, mobileMoney, status }: Row['entry']): Html | '' {
  if (mobileMoney) return isFinal(status) ? '' : html`<a href="/phone">Answer on the phone</a> `;
  return html`<a href="/checkout/${reference}">Checkout page</a> `;
}

function otherRequests(activity: Activity): Html {
  const { others } = activity;
  if (others.length === 0) return html`<section id="others"></section>`;
  return html`<section id="others" class="card">
<h2>Requests without a transaction</h2>
${table('Requests without a transaction', others)}
</section>`;
}

function table(caption: string, exchanges: readonly Exchange[]): Html | '' {
  if (exchanges.length === 0) return '';
  return html`<table>
<caption class="hidden">${caption}</caption>
<thead><tr><th scope="col">Request</th><th scope="col">Status</th><th scope="col">Took</th><th scope="col">At</th></tr></thead>
<tbody>${exchanges.toReversed().map(
    ({ request, status, duration, at }) => html`<tr>
<td><code><b>${request.method}</b> ${request.path}</code></td>
<td class="${status === null || status >= 400 ? 'bad' : ''}">${status ?? 'broken off'}</td>
<td>${duration < 10 ? duration.toFixed(1) : Math.round(duration)} ms</td>
<td>${moment(at)}</td>
</tr>`,
  )}</tbody>
</table>`;
}
