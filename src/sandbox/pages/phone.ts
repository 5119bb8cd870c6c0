import { html } from 'hono/html';
import { isFinal } from '../../schedule.ts';
import type { Entry } from '../../testing/ledger.ts';
import type { ActivityLog } from '../activity-log.ts';
import {
  formatMoney,
  type Html,
  type LiveView,
  layout,
  networkNames,
  renderBadge,
  renderTime,
} from './layout.ts';

const MAX_MESSAGES = 5;
const MAX_PROMPTS = 20;

/** What is wrong with a PIN that was typed. */
interface PinError {
  reference: string;
  message: string;
}

/** Renders the customer's phone: open prompts, and messages about the charges that have ended. */
export function phonePage(activity: ActivityLog, error?: PinError): Html {
  const prompts = findPrompts(activity);
  const body = html`<h1 class="hidden">The customer's phone</h1>
<div class="handset">
<div class="screen">
<ol class="prompts" data-live="${MAX_PROMPTS}">${prompts.map((entry) => renderPrompt(entry, error))}</ol>
<p class="empty">No open prompt. Charge a Mobile Money number, and its prompt appears here.</p>
${renderMessages(activity)}
</div>
</div>
${renderPromptCount(prompts)}
<p class="note">Any four digits are a valid PIN here. An unanswered prompt expires, and its charge fails.</p>`;
  return layout({ title: 'Phone', name: 'phone', events: '/events/phone', body });
}

/** Renders the prompts that changed. One that is no longer open is marked for removal. */
export function livePhone(activity: ActivityLog): LiveView {
  return {
    renderAll: () => {
      const prompts = findPrompts(activity);
      const list = prompts.toReversed().map((entry) => renderPrompt(entry));
      return html`${list}${renderMessages(activity)}${renderPromptCount(prompts)}`;
    },
    renderChanges: (since) => {
      const list = findCharges(activity, since).map((entry) =>
        isFinal(entry.status) ? html`<li id="${entry.reference}" data-gone></li>` : renderPrompt(entry),
      );
      return html`${list}${renderMessages(activity)}${renderPromptCount(findPrompts(activity))}`;
    },
  };
}

/** Returns the open prompts, newest first. */
function findPrompts(activity: ActivityLog): Entry[] {
  const open = findCharges(activity, -1).filter(({ status }) => !isFinal(status));
  return open.reverse().slice(0, MAX_PROMPTS);
}

function findCharges(activity: ActivityLog, since: number): Entry[] {
  return activity
    .rows()
    .filter(({ entry, version }) => entry.mobileMoney && version > since)
    .map(({ entry }) => entry);
}

function renderPrompt(entry: Entry, error?: PinError): Html {
  const { reference, mode, mobileMoney, plan } = entry;
  if (!mobileMoney) return html``;
  const wrong = error?.reference === reference ? error.message : undefined;
  return html`<li id="${reference}" class="prompt ${mobileMoney.network}">
<h2>${networkNames[mobileMoney.network]} <span>${mobileMoney.phone}</span></h2>
<p>Do you want to pay <strong class="sum">${formatMoney(entry)}</strong>?</p>
<form method="post">
<input type="hidden" name="reference" value="${reference}">
<label for="pin-${reference}">Enter your PIN</label>
<input id="pin-${reference}" name="pin" type="password" inputmode="numeric" pattern="[0-9]{4}" maxlength="4"
 autocomplete="off" required title="Four digits"${wrong ? html` autofocus aria-invalid="true" aria-describedby="wrong-${reference}"` : ''}>
${wrong ? html`<p class="wrong" id="wrong-${reference}" role="alert">${wrong}</p>` : ''}
<button class="primary" name="decision" value="approve">Approve</button>
<button name="decision" value="decline" formnovalidate>Decline</button>
</form>
<p class="small"><code>${reference}</code> · ${mode} mode${plan && 'settleAt' in plan ? html` · until ${renderTime(plan.settleAt)}` : ''}</p>
</li>`;
}

function renderMessages(activity: ActivityLog): Html {
  const ended = findCharges(activity, -1)
    .filter(({ status }) => isFinal(status))
    .toSorted((a, b) => b.changedAt - a.changedAt)
    .slice(0, MAX_MESSAGES);
  return html`<section id="messages">
${ended.length > 0 ? html`<h2>Earlier</h2>` : ''}
<ul>${ended.map((entry) => html`<li>${renderBadge(entry)} <b>${formatMoney(entry)}</b> ${renderTime(entry.changedAt)}</li>`)}</ul>
</section>`;
}

/** Renders the count for screen readers, which announce it when it changes. */
function renderPromptCount({ length }: readonly Entry[]): Html {
  const count = length === 1 ? '1 open prompt' : `${length} open prompts`;
  return html`<p id="prompt-count" class="hidden" role="status">${length > 0 ? count : ''}</p>`;
}
