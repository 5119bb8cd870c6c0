/** The customer's phone: open prompts, and messages about the charges that have ended. */

import type { Hono } from 'hono';
import { html } from 'hono/html';
import { isFinal } from '../../../schedule.ts';
import { type Html, networkNames } from '../../../ui/markup.ts';
import { type ChargeEntry, type Entry, isCharge, type Ledger } from '../../service/ledger.ts';
import { HttpRejection } from '../../service/validate-request.ts';
import type { SandboxContext } from '../context.ts';
import { type Env, type Form, findEntry, formatQuery, parseForm } from '../request.ts';
import { formatMoney, renderBadge, renderTime } from './layout.ts';
import { addLivePage, type LivePage, renderLivePage } from './live.ts';

const MAX_MESSAGES = 5;
const MAX_PROMPTS = 20;
const MAX_PHONES = 8;
/** Only the latest transactions are on a phone. */
const MAX_LISTED = 500;

interface PhoneFilter {
  /** The last nine digits of one number, or the whole text if it has fewer. Empty: all phones. */
  readonly number: string;
  /** When the page was opened. A prompt that ended since then stays in its place. */
  readonly since: number;
}

/** What is wrong with a PIN that was typed. */
interface PinError {
  readonly reference: string;
  readonly message: string;
}

/** Adds the phone, what its buttons do, and what those of a row of the dashboard do. The PIN is neither stored nor compared: any four digits are accepted. */
export function addPhone(app: Hono<Env>, { service, changes }: SandboxContext): void {
  const { ledger, clock } = service;
  addLivePage(app, changes, '/phone', 'phone', (query) =>
    openPhone(ledger, parsePhoneFilter(query, clock.now())),
  );
  app.post('/phone', async (c) => {
    const form = await parseForm(c);
    const { decision, pin } = form;
    const entry = findEntry(ledger, form.reference);
    const filter = parsePhoneFilter(form, clock.now());
    if (decision === 'approve' && isCharge(entry) && !/^[0-9]{4}$/.test(String(pin))) {
      const error = { reference: entry.reference, message: 'A PIN has four digits.' };
      return c.html(renderLivePage('phone', openPhone(ledger, filter, error)), 400);
    }
    answerPrompt(ledger, entry, decision);
    const { number, since, isNew } = filter;
    return c.redirect(`/phone${formatQuery(isNew ? { number } : { number, since })}`, 303);
  });
  app.post('/decide', async (c) => {
    const { reference, decision } = await parseForm(c);
    answerPrompt(ledger, findEntry(ledger, reference), decision);
    return c.redirect('/', 303);
  });
}

/** Approves or declines a charge. A final status stays as it is. */
function answerPrompt(ledger: Ledger, entry: Entry, decision: unknown): void {
  if (!isCharge(entry)) throw new HttpRejection(404, 'A checkout payment has no prompt.');
  if (decision !== 'approve' && decision !== 'decline') {
    throw new HttpRejection(400, 'Approve or decline the charge.');
  }
  const { reference, status } = entry;
  if (!isFinal(status)) ledger.end(reference, decision === 'approve' ? 'success' : 'failed');
}

/** Reads what a page of the phone shows from its address or form. A new page shows open prompts only. */
function parsePhoneFilter({ number, since }: Form, now: number): PhoneFilter & { readonly isNew: boolean } {
  const time = typeof since === 'string' && /^\d{1,16}$/.test(since) ? Number(since) : null;
  return { number: typeof number === 'string' ? number : '', since: time ?? now, isNew: time === null };
}

function openPhone(ledger: Ledger, filter: PhoneFilter, error?: PinError): LivePage {
  return {
    title: 'Phone',
    query: formatQuery({ number: filter.number, since: filter.since }),
    render: () => {
      const all = ledger.list().slice(-MAX_LISTED).filter(isCharge);
      const own = filter.number === '' ? all : all.filter((entry) => getPhoneNumber(entry) === filter.number);
      return html`<h1 class="hidden">The customer's phone</h1>
${renderPhones(all, filter.number)}
${renderPromptCount(own)}
<div class="handset">
<div class="screen">
<ol class="prompts" id="prompts" data-live>${pickPrompts(own, filter.since).map((entry) => renderCharge(entry, filter, error))}</ol>
<p class="empty">No open prompt. Charge a Mobile Money number, and its prompt appears here.</p>
${renderMessages(own)}
</div>
</div>
<p class="note">Any four digits are a valid PIN here. An unanswered prompt expires, and its charge fails.</p>`;
    },
  };
}

/** A prompt that has ended stays in its place, as high as it was, so that no other one moves. */
function renderCharge(entry: ChargeEntry, filter: PhoneFilter, error?: PinError): Html {
  const { reference, status, mobileMoney } = entry;
  return isFinal(status)
    ? html`<li id="${reference}" class="prompt ended ${mobileMoney.network}" data-keep>${renderEnd(entry, filter)}</li>`
    : html`<li id="${reference}" class="prompt ${mobileMoney.network}">${renderPrompt(entry, filter, error)}</li>`;
}

/** Returns the open prompts and those that ended since a time. If they are too many, the oldest ends go first. */
function pickPrompts(charges: readonly ChargeEntry[], since: number): ChargeEntry[] {
  const shown = charges.filter(({ status, changedAt }) => !isFinal(status) || changedAt >= since);
  let surplus = shown.length - MAX_PROMPTS;
  return shown.filter(({ status }) => !isFinal(status) || surplus-- <= 0).slice(-MAX_PROMPTS);
}

/** Returns what all spellings of a number share. */
function getPhoneNumber({ mobileMoney: { phone } }: ChargeEntry): string {
  const digits = phone.replace(/\D/g, '');
  return digits.length >= 9 ? digits.slice(-9) : phone;
}

/** Renders the choice of a phone: the latest ones, each with the number of its open prompts. */
function renderPhones(charges: readonly ChargeEntry[], number: string): Html {
  const byNumber = Map.groupBy(charges.toReversed(), getPhoneNumber);
  const phones = [...byNumber].slice(0, MAX_PHONES);
  if (byNumber.size < 2 && number === '') return html`<nav id="phones" data-live></nav>`;
  const link = (value: string, name: string, own: readonly Entry[]) => {
    const open = own.filter(({ status }) => !isFinal(status)).length;
    return html`<a href="/phone${formatQuery({ number: value })}"${value === number ? html` aria-current="page"` : ''}>${name}${open > 0 ? html` <b>${open}</b>` : ''}</a>`;
  };
  return html`<nav id="phones" data-live aria-label="Phones">
${link('', 'All phones', charges)}
${phones.map(([value, own]) => link(value, own[0]?.mobileMoney.phone ?? value, own))}
</nav>`;
}

function renderPrompt(entry: ChargeEntry, { number, since }: PhoneFilter, error?: PinError): Html {
  const { reference, mode, plan } = entry;
  const wrong = error?.reference === reference ? error.message : undefined;
  return html`${renderSender(entry)}
<p>Do you want to pay <strong class="sum">${formatMoney(entry)}</strong>?</p>
<form method="post" action="/phone" data-stay>
<input type="hidden" name="reference" value="${reference}">
<input type="hidden" name="number" value="${number}">
<input type="hidden" name="since" value="${since}">
<label for="pin-${reference}">Enter your PIN</label>
<input id="pin-${reference}" name="pin" type="password" inputmode="numeric" pattern="[0-9]{4}" maxlength="4"
 autocomplete="off" required title="Four digits"${wrong ? html` autofocus aria-invalid="true" aria-describedby="wrong-${reference}"` : ''}>
${wrong ? html`<p class="wrong" id="wrong-${reference}" role="alert">${wrong}</p>` : ''}
<button class="primary" name="decision" value="approve">Approve</button>
<button name="decision" value="decline" formnovalidate>Decline</button>
</form>
<p class="small"><code>${reference}</code> · ${mode} mode${plan && 'settleAt' in plan ? html` <span class="until">until ${renderTime(plan.settleAt)}</span>` : ''}</p>`;
}

function renderSender({ mobileMoney: { network, phone } }: ChargeEntry): Html {
  return html`<h2>${networkNames[network]} <span>${phone}</span></h2>`;
}

/** Renders how a prompt ended, in its place. What can be pressed is not where the buttons of the prompt were. */
function renderEnd(entry: ChargeEntry, { number }: PhoneFilter): Html {
  const { reference, mode } = entry;
  return html`${renderSender(entry)}
<p><strong>${describeFinal(entry)}</strong> <span class="sum">${formatMoney(entry)}</span></p>
<p><a class="action" href="/phone${formatQuery({ number })}">Done</a></p>
<p class="small"><code>${reference}</code> · ${mode} mode <span class="until">${renderTime(entry.changedAt)}</span></p>`;
}

function describeFinal({ status, failure }: Entry): string {
  if (status === 'success') return 'Approved';
  if (status === 'failed') return failure === 'expired' ? 'Expired' : 'Declined';
  return 'Ended';
}

function renderMessages(charges: readonly Entry[]): Html {
  const ended = charges
    .filter(({ status }) => isFinal(status))
    .toSorted((a, b) => b.changedAt - a.changedAt)
    .slice(0, MAX_MESSAGES);
  return html`<section id="messages" data-live>
${ended.length > 0 ? html`<h2>Earlier</h2>` : ''}
<ul>${ended.map((entry) => html`<li class="line">${renderBadge(entry)} <b class="sum">${formatMoney(entry)}</b> ${renderTime(entry.changedAt)}</li>`)}</ul>
</section>`;
}

/** Renders the count for screen readers, which announce it when it changes. All see it if there are more than are shown. */
function renderPromptCount(charges: readonly Entry[]): Html {
  const { length } = charges.filter(({ status }) => !isFinal(status));
  const count = length === 1 ? '1 open prompt' : `${length} open prompts`;
  const isCut = length > MAX_PROMPTS;
  const rest = isCut ? `: the newest ${MAX_PROMPTS} are here. Answer some of them to see the others.` : '';
  return html`<p id="prompt-count" data-live class="${isCut ? 'note' : 'hidden'}" role="status">${length > 0 ? count + rest : ''}</p>`;
}
