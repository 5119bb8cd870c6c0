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
import { renderClockCard } from './clock-card.ts';
import { renderFaultCard } from './fault-card.ts';
import { renderOptions } from './form-fields.ts';
import { renderCopyable } from './layout.ts';
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
  return html`<h1 class="hidden">Transactions</h1>
<div class="columns">
<section class="list" aria-labelledby="transactions">
<div class="title"><h2 id="transactions">Transactions</h2> ${renderCount(found, ledger.size, filter)}</div>
${renderSearch(filter)}
${renderUnmatched(findHistory(null))}
<ol class="rows" id="rows" data-live>${rows}</ol>
${formatQuery(filter) === '' ? renderFirstSteps(access) : html`<p class="empty card">No transaction matches.</p>`}
${renderPages(found, filter)}
</section>
<div class="aside">
${renderAccess(access)}
${renderFaultCard('/faults', 'Inject a fault', faults.pending)}
${renderClockCard(clock, '/')}
</div>
</div>
<nav class="tabs" aria-label="Parts of the page">
<a href="#transactions">Transactions</a><a href="#faults">Faults</a><a href="#time">Time</a><a href="#access">Keys</a>
</nav>`;
}

function renderCount({ entries, total }: FoundTransactions, all: number, filter: TransactionFilter): Html {
  const isFiltered = formatQuery({ ...filter, before: '' }) !== '';
  const found = isFiltered ? `${formatCount(total)} found of ${formatCount(all)}` : formatCount(total);
  const text = entries.length < total ? `${entries.length} of ${found}` : found;
  return html`<span id="count" class="count" data-live>${text}</span>`;
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
