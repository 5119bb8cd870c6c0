import type { JournalEntry } from 'payment-collection-client/journal';
import { type Html, html } from './html.ts';
import { paths } from './paths.ts';
import type { ResolveForm } from './resolve-form.ts';

/**
 * Renders the two forms that resolve a key. Once it is resolved they are behind a button: they correct a mistake. `given`
 * is a form that was refused.
 */
export function renderForms(entry: JournalEntry, token: string, given?: ResolveForm): Html {
  const forms = html`${renderCharged(entry, token, given)}${renderNotCharged(entry, token, given)}`;
  if (entry.state === 'unknown') return html`<div class="stack">${forms}</div>`;
  const open = given ? html` open` : '';
  return html`<details${open}><summary>Correct the resolution</summary><div class="stack">${forms}</div></details>`;
}

function renderHidden({ key, resolutions }: JournalEntry, token: string, resolution: string): Html {
  return html`<input type="hidden" name="token" value="${token}">
<input type="hidden" name="key" value="${key}">
<input type="hidden" name="seen" value="${resolutions.length}">
<input type="hidden" name="resolution" value="${resolution}">`;
}

function renderCharged(entry: JournalEntry, token: string, given?: ResolveForm): Html {
  const typed = given?.resolution === 'charged' ? given : undefined;
  const address = html`<label>Its checkout page <input name="checkout_url" type="url" value="${typed?.checkout_url ?? ''}" required></label>`;
  return html`<form method="post" action="${paths.entry}" class="card" aria-labelledby="charged">
<h2 id="charged">You found the charge</h2>
<p class="small">Paid or not: resolve it with its reference. The service is asked first.</p>
${renderHidden(entry, token, 'charged')}
<label>Reference <input name="reference" value="${typed?.reference ?? ''}" placeholder="TXN-…" autocomplete="off" spellcheck="false" maxlength="255" required></label>
${entry.operation === 'initialize' ? address : ''}
${renderReason(typed)}
<button class="primary">Resolve with this reference</button>
</form>`;
}

function renderNotCharged(entry: JournalEntry, token: string, given?: ResolveForm): Html {
  const { amount, currency } = entry;
  const typed = given?.resolution === 'not_charged' ? given : undefined;
  const checked = typed?.ended === 'yes' ? html` checked` : '';
  return html`<form method="post" action="${paths.entry}" class="card" aria-labelledby="not-charged">
<h2 id="not-charged">No charge exists</h2>
<p class="small">The shop can charge the customer again after this. If you are not sure, wait, and ask the support of the service.</p>
${renderHidden(entry, token, 'not_charged')}
<label class="tick"><input type="checkbox" name="ended" value="yes"${checked} required> <span>The process that made this charge has ended. I have checked.</span></label>
<label>Type the amount, ${currency} ${amount} <input name="amount" value="${typed?.amount ?? ''}" inputmode="decimal" autocomplete="off" required></label>
${renderReason(typed)}
<button class="danger">Resolve as not charged</button>
</form>`;
}

function renderReason(given: ResolveForm | undefined): Html {
  return html`<label>What you found, and where <textarea name="reason" rows="2" maxlength="1000" required>${given?.reason ?? ''}</textarea></label>`;
}
