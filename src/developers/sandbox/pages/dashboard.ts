import { html } from 'hono/html';
import type { Html } from '../../../ui/markup.ts';
import { faultSchema } from '../../service/faults.ts';
import type { PaymentService } from '../../service/service.ts';
import type { WebhookDelivery } from '../../service/webhook-delivery.ts';
import type { Webhooks } from '../../service/webhooks.ts';
import type { ActivityLog } from '../activity-log.ts';
import {
  type FoundTransactions,
  findTransactions,
  formatFilter,
  statusFilters,
  type TransactionFilter,
} from '../find-transactions.ts';
import { renderClock, renderClockCard } from './clock-card.ts';
import { renderFaultForm, renderOptions, renderQueue } from './form-fields.ts';
import { layout, renderCopyable } from './layout.ts';
import { createLiveList, type ListView, type LiveView, renderItems } from './live-list.ts';
import { renderOutcome, renderRequests } from './request-list.ts';
import { renderTransaction } from './transaction-row.ts';

const MAX_SHOWN = 100;

/** What a shop needs to send requests to the sandbox. */
interface Access {
  readonly baseUrl: string;
  readonly testKey: string;
  readonly liveKey: string;
}

/** What the dashboard shows. */
export interface DashboardContext {
  readonly service: PaymentService;
  readonly activity: ActivityLog;
  readonly webhooks: Webhooks;
  readonly access: Access;
}

/** Renders the transactions with their requests, the keys, and the form for faults. */
export function dashboardPage(context: DashboardContext, filter: TransactionFilter): Html {
  const { items, others } = viewTransactions(context, filter);
  const [count, pages, faults, clock, unmatched] = others;
  const body = html`<h1 class="hidden">Transactions</h1>
<div class="columns">
<section class="list" aria-labelledby="transactions">
<div class="title"><h2 id="transactions">Transactions</h2> ${count}</div>
${renderSearch(filter)}
${unmatched}
<ol class="rows" data-live="${MAX_SHOWN}">${renderItems(items)}</ol>
${formatFilter(filter) === '' ? renderFirstSteps(context.access) : html`<p class="empty card">No transaction matches.</p>`}
${pages}
</section>
<div class="aside">
${renderAccess(context.access)}
<section class="card panel" id="faults" aria-labelledby="faults-title">
<h2 id="faults-title">Inject a fault</h2>
${faults}
${renderFaultForm('/faults', faultSchema)}
</section>
${renderClockCard(clock, '/')}
</div>
</div>
<nav class="tabs" aria-label="Parts of the page">
<a href="#transactions">Transactions</a><a href="#faults">Faults</a><a href="#time">Time</a><a href="#access">Keys</a>
</nav>`;
  const events = `/events/dashboard${formatFilter(filter)}`;
  return layout({ title: 'Transactions', name: 'dashboard', events, body });
}

/** Renders the rows that changed, and what can change beside them. */
export function liveDashboard(context: DashboardContext, filter: TransactionFilter): LiveView {
  return createLiveList(() => viewTransactions(context, filter));
}

function viewTransactions(
  { service, activity, webhooks }: DashboardContext,
  filter: TransactionFilter,
): ListView & { others: [Html, Html, Html, Html, Html] } {
  const { ledger, faults, clock } = service;
  const found = findTransactions(ledger.list(), filter, MAX_SHOWN);
  const shown = new Set(found.entries.map(({ reference }) => reference));
  const deliveries = Map.groupBy(
    webhooks.deliveries.filter(({ reference }) => shown.has(reference)),
    ({ reference }) => reference,
  );
  const hasReceiver = webhooks.url !== null;
  return {
    items: found.entries.map((entry) => ({
      id: entry.reference,
      render: (next) => {
        const { reference } = entry;
        const story = {
          entry,
          reported: ledger.getReportedStatus(entry),
          history: activity.findHistory(reference),
          deliveries: pickLatest(deliveries.get(reference)),
          hasReceiver,
        };
        return renderTransaction(story, next);
      },
    })),
    others: [
      renderCount(found, ledger.size, filter),
      renderPages(found, filter),
      renderQueue('/faults', faultSchema, faults.pending),
      renderClock(clock),
      renderUnmatched(activity),
    ],
  };
}

const MAX_DELIVERIES = 10;

/** Returns the latest deliveries, newest first. */
function pickLatest(deliveries: readonly WebhookDelivery[] = []): WebhookDelivery[] {
  return deliveries.slice(-MAX_DELIVERIES).reverse();
}

function renderCount({ entries, total }: FoundTransactions, all: number, filter: TransactionFilter): Html {
  const isFiltered = formatFilter({ ...filter, before: '' }) !== '';
  const found = isFiltered ? `${formatCount(total)} found of ${formatCount(all)}` : formatCount(total);
  const text = entries.length < total ? `${entries.length} of ${found}` : found;
  return html`<span id="count" class="count">${text}</span>`;
}

function formatCount(count: number): string {
  return count.toLocaleString('en');
}

function renderSearch({ search, status, mode }: TransactionFilter): Html {
  const names = statusFilters.map((value) => [
    value,
    value === 'declined' || value === 'expired' ? `failed: ${value}` : value,
  ]);
  const isEmpty = search === '' && status === '' && mode === '';
  return html`<form class="search" role="search" action="/">
<label class="hidden" for="search">Reference, email, phone or amount</label>
<input id="search" name="search" type="search" value="${search}" placeholder="Reference, email, phone or amount" maxlength="255" autocomplete="off">
<label class="hidden" for="status">Status</label>
<select id="status" name="status">${renderOptions({ '': 'Any status', ...Object.fromEntries(names) }, status)}</select>
<label class="hidden" for="mode">Mode</label>
<select id="mode" name="mode">${renderOptions({ '': 'Any mode', test: 'test', live: 'live' }, mode)}</select>
<button>Search</button>
${isEmpty ? '' : html`<a class="action" href="/">Clear</a>`}
</form>`;
}

/** Renders the links to older and to the newest transactions. */
function renderPages({ entries, total, newer }: FoundTransactions, filter: TransactionFilter): Html {
  const oldest = entries.at(-1);
  const older = total - newer - entries.length;
  return html`<p id="pages" class="actions">${
    newer > 0 ? html`<a class="action" href="/${formatFilter({ ...filter, before: '' })}">Newest</a>` : ''
  }${
    older > 0 && oldest
      ? html`<a class="action" href="/${formatFilter({ ...filter, before: oldest.reference })}">Show older: ${formatCount(older)}</a>`
      : ''
  }</p>`;
}

/** Renders what to do while there is no transaction. */
function renderFirstSteps(access: Access): Html {
  const first = `curl "$PAYMENTS_BASE_URL/transactions/initialize" -H "Authorization: Bearer $PAYMENTS_API_KEY" --json '{"amount":25.5,"customer_email":"ama@example.com"}'`;
  return html`<div class="empty card">
<h3>No transaction yet</h3>
<p>Give your shop the address and a key of this sandbox, and start a payment. It appears here by itself.</p>
${renderCopyable('the environment variables', formatEnvironment(access))}
<p>Or start a payment in the same terminal:</p>
${renderCopyable('the command', first)}
</div>`;
}

function formatEnvironment({ baseUrl, liveKey }: Access): string {
  return `export PAYMENTS_BASE_URL=${baseUrl} PAYMENTS_API_KEY=${liveKey}`;
}

function renderAccess(access: Access): Html {
  const { baseUrl, testKey, liveKey } = access;
  return html`<section class="card panel" id="access" aria-labelledby="access-title">
<h2 id="access-title">For your shop</h2>
<dl>
<dt>Base URL</dt><dd>${renderCopyable('the base URL', baseUrl)}</dd>
<dt>Test key</dt><dd>${renderCopyable('the test key', testKey)}</dd>
<dt>Live key, also for Mobile Money</dt><dd>${renderCopyable('the live key', liveKey)}</dd>
<dt>Environment variables</dt><dd>${renderCopyable('the environment variables', formatEnvironment(access))}</dd>
</dl>
</section>`;
}

function renderUnmatched({ unmatched }: ActivityLog): Html {
  const { groups, hidden } = unmatched;
  const last = groups.at(-1);
  if (!last) return html`<section id="unmatched"></section>`;
  const count = groups.reduce((sum, group) => sum + group.count, hidden);
  return html`<section id="unmatched" class="card"><details data-key="unmatched">
<summary>
<b>Requests without a transaction</b> <span class="count">${formatCount(count)}</span>
<span class="last">Last: ${renderOutcome(last)}</span>
</summary>
${renderRequests('Requests without a transaction', unmatched)}
</details></section>`;
}
