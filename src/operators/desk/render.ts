/** The pages of the desk. They differ in the query alone, so every link is relative. */

import { html } from 'hono/html';
import type { RecordName } from '../../journal/names.ts';
import { type Html, renderDocument } from '../../ui/markup.ts';
import { escapeUnprintable, formatAge, formatTime } from '../../ui/text.ts';
import { REASONS } from '../words.ts';
import type { Refused } from './decide.ts';
import { renderHistory } from './history.ts';
import { isDone, renderPayment, renderTransactionForm, startUpper } from './payment.ts';
import { type FoundSubjects, type List, linkTo, nameSubject, type Subject } from './read.ts';

function renderPage(title: string, body: Html, text = ''): Html {
  const header = html`<a class="brand" href="?">Payments in review</a>
<form class="find" role="search">
<label class="hidden" for="find">Order, idempotency key or transaction</label>
<input id="find" name="find" type="search" value="${text}" placeholder="Order, key or TXN-…" maxlength="255" autocomplete="off">
<button>Find</button>
</form>`;
  return renderDocument({
    title: `${title} · Payments in review`,
    name: 'desk',
    style: '?asset=style.css',
    icon: '?asset=icon.svg',
    header,
    body,
  });
}

export function renderList({ items, more, problem }: List): Html {
  const rows = items.map((item) => {
    const { reason, since, amount, currency, reference } = item;
    const name = nameSubject(item);
    return html`<li><a href="${linkTo(name)}">
<b class="who">${entitle(name)}</b>
<b class="amount">${currency} ${amount}</b>
<span class="why">${startUpper(REASONS[reason])}</span>
<time class="when" datetime="${formatTime(since)}">${formatAge(since)}</time>
<code class="reference">${escapeUnprintable(reference ?? '')}</code>
</a></li>`;
  });
  const count = more === undefined ? String(items.length) : `the oldest ${items.length}`;
  const body = html`<div class="title"><h1>What needs a person</h1> <span class="count">${items.length > 0 ? count : ''}</span></div>
${renderProblem(problem)}
${
  items.length > 0
    ? html`<ol class="rows items">${rows}</ol>`
    : problem === undefined
      ? html`<p class="card empty">Nothing needs a person.</p>`
      : ''
}
${more === undefined ? '' : html`<p class="actions"><a class="action" href="?limit=${more}">Show more</a></p>`}`;
  return renderPage('What needs a person', body);
}

const BACK = html`<p class="back"><a href="?">What needs a person</a></p>`;

export function renderFound(text: string, { names, problem }: FoundSubjects): Html {
  const shown = escapeUnprintable(text);
  const body = html`${BACK}
<h1>${names.length > 0 ? `What fits “${shown}”` : `Nothing fits “${shown}”`}</h1>
${renderProblem(problem)}
${
  names.length > 0
    ? html`<ul class="rows items">${names.map((name) => html`<li><a href="${linkTo(name)}"><b class="who">${entitle(name)}</b></a></li>`)}</ul>`
    : html`<p class="card">The journal has no order, key or transaction of this name. A name is exact, also upper and lower case.</p>`
}`;
  return renderPage(shown, body, text);
}

const entitle = ({ kind, id }: RecordName) => `${startUpper(kind)} ${escapeUnprintable(id)}`;

/** Renders an order or a key: what is known of it, and what can be decided. `refused`: a decision that was just refused. */
export function renderSubject(subject: Subject & { readonly refused?: Refused }): Html {
  const { kind, id, payments, problem, refused } = subject;
  const name = entitle(subject);
  const needed = payments.filter(({ entry }) => entry.attention !== undefined);
  const body = html`${BACK}
<div class="title"><h1>${name}</h1> ${renderState(subject)}</div>
${renderProblem(problem)}
${refused && !payments.some((payment) => payment.name === refused.name) ? renderRefusal(refused) : ''}
${payments.length === 0 && problem === undefined ? html`<p class="card">The journal has no record of it. A name is exact, also upper and lower case.</p>` : ''}
<div class="columns">
<div class="list">
${[...needed, ...payments.filter((payment) => !needed.includes(payment))].map((payment) => renderPayment(payment, subject, refused))}
${kind === 'order' && payments.length > 0 ? renderTransactionForm(id, refused) : ''}
</div>
${payments.length > 0 ? renderHistory(payments) : ''}
</div>`;
  // A screen reader says the title first.
  const result = payments.some((payment) => isDone(payment, subject)) ? 'Recorded: ' : '';
  return renderPage(`${refused ? 'Not recorded: ' : result}${name}`, body);
}

const renderRefusal = ({ message }: Refused) => html`<p class="card problem" role="alert">${message}</p>`;

const renderProblem = (problem: string | undefined) =>
  problem === undefined ? '' : html`<p class="card problem" role="alert">${escapeUnprintable(problem)}</p>`;

const ORDER_STATES = {
  paid: ['success', 'Paid'],
  in_review: ['expired', 'In review'],
  processing: ['pending', 'Under way'],
  unpaid: ['abandoned', 'Unpaid'],
} as const;

function renderState({ order }: Subject): Html | '' {
  if (!order) return '';
  const [look, text] = ORDER_STATES[order.state];
  const canPay = order.canPay ? ': the customer can pay' : '';
  return html`<span class="state ${look}">${text}${canPay}</span>`;
}
