/** The dashboard: the transactions with their requests and webhooks, the keys, and the faults of the next requests. */

import type { Hono } from 'hono';
import { html } from 'hono/html';
import type { Html } from '../../../ui/markup.ts';
import type { SandboxContext } from '../context.ts';
import {
  type FoundTransactions,
  findTransactions,
  parseFilter,
  statusFilters,
  type TransactionFilter,
} from '../find-transactions.ts';
import type { Access } from '../options.ts';
import { type Env, formatQuery } from '../request.ts';
import { findHistories, type RequestHistory } from '../request-history.ts';
import { createClockPanel } from './clock-panel.ts';
import { createFaultPanel } from './fault-panel.ts';
import { renderOptions } from './form-fields.ts';
import { renderCopyable } from './layout.ts';
import { type Panel, renderListPage } from './list-page.ts';
import { addLivePage } from './live.ts';
import { renderOutcome, renderRequests } from './request-list.ts';
import { renderRow } from './row.ts';
import { renderTransaction } from './transaction-row.ts';

const MAX_SHOWN = 100;
/** How many webhooks are shown at a transaction. */
const MAX_DELIVERIES = 10;

export function addDashboard(app: Hono<Env>, context: SandboxContext): void {
  addLivePage(app, context.changes, '/', 'dashboard', (query) => {
    const filter = parseFilter(query);
    return {
      title: 'Transactions',
      query: formatQuery(filter),
      render: () => renderDashboard(context, filter),
    };
  });
}

function renderDashboard({ access, service, webhooks }: SandboxContext, filter: TransactionFilter): Html {
  const { ledger, faults, clock, exchanges } = service;
  const found = findTransactions(ledger.list(), filter, MAX_SHOWN);
  const deliveries = Map.groupBy(webhooks.deliveries, ({ reference }) => reference);
  const findHistory = findHistories(exchanges, ledger);
  const rows = found.entries.map((entry) =>
    renderTransaction({
      entry,
      reported: ledger.getReportedStatus(entry),
      history: findHistory(entry.reference),
      deliveries: deliveries.get(entry.reference)?.slice(-MAX_DELIVERIES).reverse() ?? [],
      hasReceiver: webhooks.url !== null,
    }),
  );
  return renderListPage({
    heading: 'Transactions',
    count: describeCount(found, ledger.size, filter),
    above: html`${renderSearch(filter)}${renderUnmatched(findHistory(null))}`,
    rows,
    empty: formatQuery(filter) === '' ? renderFirstSteps(access) : html`<p>No transaction matches.</p>`,
    below: renderPages(found, filter),
    panels: [
      createAccessPanel(access),
      createFaultPanel('/faults', 'Inject a fault', faults.pending),
      createClockPanel(clock, '/'),
    ],
  });
}

function describeCount(
  { entries, total }: FoundTransactions,
  all: number,
  filter: TransactionFilter,
): string {
  const isFiltered = formatQuery({ ...filter, before: '' }) !== '';
  const found = isFiltered ? `${formatCount(total)} found of ${formatCount(all)}` : formatCount(total);
  return entries.length < total ? `${entries.length} of ${found}` : found;
}

function formatCount(count: number): string {
  return count.toLocaleString('en');
}

function renderSearch({ search = '', status = '', mode = '' }: TransactionFilter): Html {
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
  return html`<p id="pages" class="actions" data-live>${
    newer > 0 ? html`<a class="action" href="/${formatQuery({ ...filter, before: '' })}">Newest</a>` : ''
  }${
    older > 0 && oldest
      ? html`<a class="action" href="/${formatQuery({ ...filter, before: oldest.reference })}">Show older: ${formatCount(older)}</a>`
      : ''
  }</p>`;
}

/** Renders what to do while there is no transaction. */
function renderFirstSteps(access: Access): Html {
  const first = `curl "$PAYMENTS_BASE_URL/transactions/initialize" -H "Authorization: Bearer $PAYMENTS_API_KEY" --json '{"amount":25.5,"customer_email":"ama@example.com"}'`;
  return html`<h3>No transaction yet</h3>
<p>Give your shop the address and a key of this sandbox, and start a payment. It appears here by itself.</p>
${renderCopyable('the environment variables', formatEnvironment(access))}
<p>Or start a payment in the same terminal:</p>
${renderCopyable('the command', first)}`;
}

function formatEnvironment({ baseUrl, liveKey }: Access): string {
  return `export PAYMENTS_BASE_URL=${baseUrl} PAYMENTS_API_KEY=${liveKey}`;
}

function createAccessPanel(access: Access): Panel {
  const { baseUrl, testKey, liveKey } = access;
  const body = html`<dl>
<dt>Base URL</dt><dd>${renderCopyable('the base URL', baseUrl)}</dd>
<dt>Test key</dt><dd>${renderCopyable('the test key', testKey)}</dd>
<dt>Live key, also for Mobile Money</dt><dd>${renderCopyable('the live key', liveKey)}</dd>
<dt>Environment variables</dt><dd>${renderCopyable('the environment variables', formatEnvironment(access))}</dd>
</dl>`;
  return { id: 'access', tab: 'Keys', title: 'For your shop', body };
}

function renderUnmatched(history: RequestHistory | undefined): Html {
  const last = history?.groups.at(-1);
  if (!history || !last) return html`<section id="unmatched" data-live></section>`;
  const { groups, hidden } = history;
  const count = groups.reduce((sum, group) => sum + group.count, hidden);
  return html`<section id="unmatched" class="card" data-live>${renderRow({
    key: 'unmatched',
    line: html`<b class="what">Requests without a transaction <span class="count">${formatCount(count)}</span></b>
<span class="detail">Last: ${renderOutcome(last)}</span>`,
    behind: renderRequests('Requests without a transaction', history),
  })}</section>`;
}
