import type { JournalEntry } from 'payment-collection-client/journal';
import type { ServiceStatus } from './check-status.ts';
import {
  describeError,
  describeResolution,
  describeState,
  type EntryResolution,
  isResolvable,
} from './describe-entry.ts';
import { type Html, html } from './html.ts';
import { layout, renderCode, renderTime } from './layout.ts';
import type { Session } from './login.ts';
import { paths, pathToEntry } from './paths.ts';
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
${isResolvable(entry) ? renderForms(entry, session, refused?.form) : ''}
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
<h2 id="facts">Search the records of the service for this</h2>
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

function renderForms(entry: JournalEntry, { token }: Session, given?: ResolveForm): Html {
  const { key, operation, amount, currency, resolutions } = entry;
  const typed = (resolution: string) => (given?.resolution === resolution ? given : undefined);
  const [charged, notCharged] = [typed('charged'), typed('not_charged')];
  const hidden = (resolution: string) => html`<input type="hidden" name="token" value="${token}">
<input type="hidden" name="key" value="${key}">
<input type="hidden" name="seen" value="${resolutions.length}">
<input type="hidden" name="resolution" value="${resolution}">`;
  const address = html`<label>Its checkout page <input name="checkout_url" type="url" value="${charged?.checkout_url ?? ''}" required></label>`;
  return html`<div class="stack">
<form method="post" action="${paths.entry}" class="card" aria-labelledby="charged">
<h2 id="charged">${resolutions.length === 0 ? 'You found the charge' : 'Correct it: you found the charge'}</h2>
<p class="small">Paid or not: resolve it with its reference. The service is asked first.</p>
${hidden('charged')}
<label>Reference <input name="reference" value="${charged?.reference ?? ''}" placeholder="TXN-…" autocomplete="off" spellcheck="false" maxlength="255" required></label>
${operation === 'initialize' ? address : ''}
${renderReason(charged)}
<button class="primary">Resolve with this reference</button>
</form>
<form method="post" action="${paths.entry}" class="card" aria-labelledby="not-charged">
<h2 id="not-charged">${resolutions.length === 0 ? 'No charge exists' : 'Correct it: no charge exists'}</h2>
<p class="small">The shop can charge the customer again after this. If you are not sure, wait, and ask the support of the service.</p>
${hidden('not_charged')}
<label class="tick"><input type="checkbox" name="ended" value="yes"${notCharged?.ended === 'yes' ? CHECKED : ''} required> <span>The process that made this charge has ended. I have checked.</span></label>
<label>Type the amount, ${currency} ${amount} <input name="amount" value="${notCharged?.amount ?? ''}" inputmode="decimal" autocomplete="off" required></label>
${renderReason(notCharged)}
<button class="danger">Resolve as not charged</button>
</form>
</div>`;
}

const CHECKED = html` checked`;

function renderReason(given: ResolveForm | undefined): Html {
  return html`<label>What you found, and where <textarea name="reason" rows="2" maxlength="1000" required>${given?.reason ?? ''}</textarea></label>`;
}
