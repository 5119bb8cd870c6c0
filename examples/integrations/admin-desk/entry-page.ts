import type { JournalEntry } from 'payment-collection-client/journal';
import type { ServiceStatus } from './check-status.ts';
import {
  describeError,
  describeResolution,
  describeState,
  type EntryResolution,
  isResolvable,
} from './describe-entry.ts';
import { renderForms } from './entry-forms.ts';
import { type Html, html } from './html.ts';
import { layout, renderCode, renderTime } from './layout.ts';
import type { Session } from './login.ts';
import { pathToEntry } from './paths.ts';
import type { ResolveForm } from './resolve-form.ts';

/** What the shop knows of the order of a key. The journal keeps no personal data. */
export interface Order {
  readonly customer: string;
  readonly phone: string;
  readonly email: string;
}

export interface EntryPage {
  readonly entry: JournalEntry;
  readonly order: Order | undefined;
  readonly status: ServiceStatus | undefined;
  readonly isJustResolved?: boolean;
  /** Why a form was refused, and the form. */
  readonly refused?: {
    readonly text: string;
    readonly otherKey?: string | undefined;
    readonly form: ResolveForm;
  };
}

export function entryPage(page: EntryPage, session: Session): Html {
  const { entry, refused, isJustResolved = false } = page;
  const body = html`<h1 class="key">${renderCode(entry.key)}</h1>
<p class="lead"><span class="badge ${entry.state}">${entry.state.replace('_', ' ')}</span> ${describeState(entry)}</p>
${isJustResolved ? html`<p class="done" role="status">The key is resolved. The history shows it, with your name.</p>` : ''}
${refused ? renderRefusal(refused) : ''}
<div class="columns">
<div class="stack">
${renderFacts(page)}
${renderHistory(entry.resolutions)}
</div>
${isResolvable(entry) ? renderForms(entry, session.token, refused?.form) : ''}
</div>`;
  return layout(entry.key, body, session.person);
}

function renderRefusal({ text, otherKey }: NonNullable<EntryPage['refused']>): Html {
  const link =
    otherKey === undefined ? '' : html` <a href="${pathToEntry(otherKey)}">Show ${renderCode(otherKey)}</a>`;
  return html`<p class="problem" role="alert">${text}${link}</p>`;
}

function renderFacts({ entry, order, status }: EntryPage): Html {
  const { amount, currency, network, createdAt, attempts, requestIds, reference } = entry;
  const why = describeError(entry);
  return html`<section class="card" aria-labelledby="facts">
<h2 id="facts">${entry.state === 'unknown' ? 'Search the records of the service for this' : 'The charge'}</h2>
<dl>
<dt>Amount</dt><dd class="sum">${currency} ${amount}</dd>
<dt>Network</dt><dd>${network ?? 'checkout page'}</dd>
${order ? html`<dt>Customer</dt><dd>${order.customer}<br>${order.phone}<br>${order.email}</dd>` : ''}
<dt>Begun</dt><dd>${renderTime(createdAt)}</dd>
<dt>Request ids</dt><dd>${requestIds.length === 0 ? 'none' : requestIds.map((id) => html`<div>${renderCode(id)}</div>`)}</dd>
${attempts > requestIds.length ? html`<dt>Requests</dt><dd>${attempts}</dd>` : ''}
${why === '' ? '' : html`<dt>What went wrong</dt><dd>${why}</dd>`}
${reference === undefined ? '' : html`<dt>Reference</dt><dd>${renderCode(reference)}</dd>`}
${status ? html`<dt>The service says now</dt><dd><span class="badge ${status.kind}">${status.text}</span></dd>` : ''}
</dl>
</section>`;
}

function renderHistory(resolutions: readonly EntryResolution[]): Html {
  const items = resolutions.map((entry) => {
    const { at, by, reason } = entry;
    return html`<li>
<p><b>${describeResolution(entry)}</b></p>
<blockquote dir="auto">${reason}</blockquote>
<p class="small"><bdi>${by}</bdi>, ${renderTime(at)}</p>
</li>`;
  });
  return html`<section class="card" aria-labelledby="history">
<h2 id="history">History</h2>
${items.length === 0 ? html`<p class="small">Nobody has resolved this key.</p>` : html`<ol class="history">${items.toReversed()}</ol>`}
</section>`;
}
