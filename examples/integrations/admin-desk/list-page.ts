import type { JournalEntry } from 'payment-collection-client/journal';
import { describeError } from './describe-entry.ts';
import { type Html, html } from './html.ts';
import { layout, renderCode, renderTime } from './layout.ts';
import { paths, pathToEntry } from './paths.ts';

/** One page of the unresolved keys, oldest first. */
export interface ListPage {
  readonly entries: readonly JournalEntry[];
  /** From 1. */
  readonly page: number;
  readonly hasNext: boolean;
  /** How many keys are unresolved, such as `3` or `more than 1000`. */
  readonly total: string;
  /** Why keys are missing. */
  readonly problem?: string | undefined;
}

export function listPage({ entries, page, hasNext, total, problem }: ListPage, person: string): Html {
  const body = html`<div class="title">
<h1>Unresolved keys <span class="count">${total}</span></h1>
<form action="${paths.entry}" class="find">
<label class="hidden" for="find">Key or reference</label>
<input id="find" name="key" placeholder="Key or TXN-…" required>
<button>Find</button>
</form>
</div>
<p class="lead">Each of these charges might exist, or might not. Find each one in the records of the service, then resolve it.</p>
${problem === undefined ? '' : html`<p class="problem" role="alert">${problem}</p>`}
${entries.length > 0 ? renderTable(entries) : problem === undefined ? renderEmpty(page) : ''}
${renderPager(page, hasNext)}`;
  return layout('Unresolved keys', body, person);
}

function renderEmpty(page: number): Html {
  const text = page === 1 ? 'Every key is resolved.' : 'There are no more keys.';
  return html`<p class="card empty">${text}</p>`;
}

function renderTable(entries: readonly JournalEntry[]): Html {
  return html`<table class="card rows">
<thead><tr><th scope="col">Key</th><th scope="col">Amount</th><th scope="col">Network</th><th scope="col">Begun</th><th scope="col">Why it is unknown</th></tr></thead>
<tbody>${entries.map(renderRow)}</tbody>
</table>`;
}

function renderRow(entry: JournalEntry): Html {
  const { key, amount, currency, network, createdAt } = entry;
  return html`<tr>
<td class="key"><a href="${pathToEntry(key)}">${renderCode(key)}</a></td>
<td class="amount">${currency} ${amount}</td>
<td>${network ?? 'checkout page'}</td>
<td>${renderTime(createdAt)}</td>
<td class="why">${describeError(entry)}</td>
</tr>`;
}

function renderPager(page: number, hasNext: boolean): Html | '' {
  if (page === 1 && !hasNext) return '';
  const link = (to: number, text: string) => html`<a href="${paths.keys}?page=${to}">${text}</a>`;
  return html`<nav class="pager" aria-label="Pages">
${page > 1 ? link(page - 1, 'Older') : html`<span></span>`}
<span>Page ${page}</span>
${hasNext ? link(page + 1, 'Newer') : html`<span></span>`}
</nav>`;
}
