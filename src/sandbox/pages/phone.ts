import { html } from 'hono/html';
import { type Entry, isFinal } from '../../testing/ledger.ts';
import type { Activity } from '../activity.ts';
import type { LiveView } from '../live.ts';
import { type Html, layout } from './layout.ts';
import { badge, moment, money, networkNames } from './words.ts';

const MESSAGES = 5;
const PROMPTS = 20;

/** What is wrong with a PIN that was typed. */
export interface PinFault {
  reference: string;
  message: string;
}

export function phonePage(activity: Activity, fault?: PinFault): Html {
  const prompts = ringing(activity);
  const body = html`<h1 class="hidden">The customer's phone</h1>
<div class="handset">
<div class="screen">
<ol class="prompts" data-live="${PROMPTS}">${prompts.map((entry) => prompt(entry, fault))}</ol>
<p class="empty">No prompt is ringing. Charge a Mobile Money number, and it rings here.</p>
${messages(activity)}
</div>
</div>
${ringingNow(prompts)}
<p class="note">Any four digits are a PIN here. A prompt that is left alone expires, and the charge fails.</p>`;
  return layout({ title: 'Phone', name: 'phone', events: '/events/phone', body });
}

/** The prompts, each in the place of the one before, and those that no longer ring marked as gone. */
export function livePhone(activity: Activity): LiveView {
  const around = (prompts: Entry[]) => html`${messages(activity)}${ringingNow(prompts)}`;
  return {
    all: () => {
      const prompts = ringing(activity);
      return html`${prompts.toReversed().map((entry) => prompt(entry))}${around(prompts)}`;
    },
    since: (version) => {
      const touched = charges(activity, version);
      const list = touched.map((entry) =>
        isFinal(entry.status) ? html`<li id="${entry.reference}" data-gone></li>` : prompt(entry),
      );
      return html`${list}${around(ringing(activity))}`;
    },
  };
}

function charges(activity: Activity, since: number): Entry[] {
  return activity
    .rows()
    .filter(({ entry, version }) => entry.mobileMoney && version > since)
    .map(({ entry }) => entry);
}

/** Newest first. */
function ringing(activity: Activity): Entry[] {
  const open = charges(activity, -1).filter(({ status }) => !isFinal(status));
  return open.reverse().slice(0, PROMPTS);
}

function prompt(entry: Entry, fault?: PinFault): Html {
  const { reference, mobileMoney, plan } = entry;
  if (!mobileMoney) return html``;
  const wrong = fault?.reference === reference ? fault.message : undefined;
  return html`<li id="${reference}" class="prompt ${mobileMoney.network}">
<h2>${networkNames[mobileMoney.network]} <span>${mobileMoney.phone}</span></h2>
<p>Do you want to pay <strong class="sum">${money(entry)}</strong>?</p>
<form method="post">
<input type="hidden" name="reference" value="${reference}">
<label for="pin-${reference}">Enter your PIN</label>
<input id="pin-${reference}" name="pin" type="password" inputmode="numeric" pattern="[0-9]{4}" maxlength="4"
 autocomplete="off" required title="Four digits"${wrong ? html` autofocus aria-invalid="true" aria-describedby="wrong-${reference}"` : ''}>
${wrong ? html`<p class="wrong" id="wrong-${reference}" role="alert">${wrong}</p>` : ''}
<button class="primary" name="answer" value="approve">Approve</button>
<button name="answer" value="decline" formnovalidate>Decline</button>
</form>
<p class="small"><code>${reference}</code>${plan && 'settleAt' in plan ? html` · until ${moment(plan.settleAt)}` : ''}</p>
</li>`;
}

function messages(activity: Activity): Html {
  const answered = charges(activity, -1)
    .filter(({ status }) => isFinal(status))
    .toSorted((one, other) => other.changedAt - one.changedAt)
    .slice(0, MESSAGES);
  return html`<section id="messages">
${answered.length > 0 ? html`<h2>Earlier</h2>` : ''}
<ul>${answered.map((entry) => html`<li>${badge(entry)} <b>${money(entry)}</b> ${moment(entry.changedAt)}</li>`)}</ul>
</section>`;
}

function ringingNow(prompts: Entry[]): Html {
  const count = prompts.length === 1 ? '1 prompt is ringing' : `${prompts.length} prompts are ringing`;
  return html`<p id="ringing" class="hidden" role="status">${prompts.length > 0 ? count : ''}</p>`;
}
