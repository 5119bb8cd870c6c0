/** The customer's phone: open prompts, and messages about the charges that have ended. */

import type { Hono } from 'hono';
import { html } from 'hono/html';
import { isFinal } from '../../../schedule.ts';
import { type Html, networkNames } from '../../../ui/markup.ts';
import { type ChargeEntry, type Entry, isCharge, type Ledger } from '../../service/ledger.ts';
import { HttpRejection } from '../../service/validate-request.ts';
import type { SandboxContext } from '../context.ts';
import { type Env, endIfOpen, type Form, findEntry, formatQuery, parseForm } from '../request.ts';
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

/** Adds the phone, what its buttons do, and what those of a row of the dashboard do. The PIN is neither stored nor compared: any four digits are accepted. */
export function addPhone(app: Hono<Env>, { service, changes }: SandboxContext): void {
  const { ledger, clock } = service;
  // A new page shows open prompts only.
  const readFilter = ({ number, since }: Form) => ({
    number: typeof number === 'string' ? number : '',
    since: /^\d{1,16}$/.test(String(since)) ? Number(since) : clock.now(),
  });
  addLivePage(app, changes, '/phone', 'phone', (query) => openPhone(ledger, readFilter(query)));
  app.post('/phone', async (c) => {
    const form = await parseForm(c);
    const { decision, pin } = form;
    const entry = findEntry(ledger, form.reference);
    const filter = readFilter(form);
    if (decision === 'approve' && isCharge(entry) && !/^[0-9]{4}$/.test(String(pin))) {
      return c.html(renderLivePage('phone', openPhone(ledger, filter, entry.reference)), 400);
    }
    answerPrompt(ledger, entry, decision);
    const { number, since } = filter;
    return c.redirect(`/phone${formatQuery({ number, since: form.since === undefined ? '' : since })}`, 303);
  });
  app.post('/decide', async (c) => {
    const { reference, decision } = await parseForm(c);
    answerPrompt(ledger, findEntry(ledger, reference), decision);
    return c.redirect('/', 303);
  });
}

/** Approves or declines a charge. */
function answerPrompt(ledger: Ledger, entry: Entry, decision: unknown): void {
  if (!isCharge(entry)) throw new HttpRejection(404, 'A checkout payment has no prompt.');
  if (decision !== 'approve' && decision !== 'decline') {
    throw new HttpRejection(400, 'Approve or decline the charge.');
  }
  endIfOpen(ledger, entry, decision === 'approve' ? 'success' : 'failed');
}

/** `wrongPin`: the reference of the prompt that was answered with no PIN of four digits. */
function openPhone(ledger: Ledger, { number, since }: PhoneFilter, wrongPin?: string): LivePage {
  return {
    title: 'Phone',
    query: formatQuery({ number, since }),
    render: () => {
      const all = ledger.list().slice(-MAX_LISTED).filter(isCharge);
      const own = number === '' ? all : all.filter((entry) => getPhoneNumber(entry) === number);
      const prompts = pickPrompts(own, since).map((entry) =>
        isFinal(entry.status)
          ? renderEnd(entry, number)
          : renderPrompt(entry, { number, since }, entry.reference === wrongPin),
      );
      return html`${renderPhones(all, number)}
${renderPromptCount(own.filter(isOpen).length)}
<div class="handset">
<div class="screen">
<ol class="prompts" id="prompts" data-live>${prompts}</ol>
<p class="empty">No open prompt. Charge a Mobile Money number, and its prompt appears here.</p>
${renderMessages(own)}
</div>
</div>
<p class="note">Any four digits are a valid PIN here. An unanswered prompt expires, and its charge fails.</p>`;
    },
  };
}

const isOpen = ({ status }: Entry) => !isFinal(status);

/** Returns the open prompts and those that ended since a time. If they are too many, the oldest ends go first. */
function pickPrompts(charges: readonly ChargeEntry[], since: number): ChargeEntry[] {
  const shown = charges.filter((entry) => isOpen(entry) || entry.changedAt >= since);
  let surplus = shown.length - MAX_PROMPTS;
  return shown.filter((entry) => isOpen(entry) || surplus-- <= 0).slice(-MAX_PROMPTS);
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
    const open = own.filter(isOpen).length;
    return html`<a href="/phone${formatQuery({ number: value })}"${value === number ? html` aria-current="page"` : ''}>${name}${open > 0 ? html` <b>${open}</b>` : ''}</a>`;
  };
  return html`<nav id="phones" data-live aria-label="Phones">
${link('', 'All phones', charges)}
${phones.map(([value, own]) => link(value, own[0]?.mobileMoney.phone ?? value, own))}
</nav>`;
}

function renderPrompt(entry: ChargeEntry, { number, since }: PhoneFilter, isWrong: boolean): Html {
  const { reference, plan, mobileMoney } = entry;
  return html`<li id="${reference}" class="prompt ${mobileMoney.network}">${renderSender(entry)}
<p>Do you want to pay <strong class="sum">${formatMoney(entry)}</strong>?</p>
<form method="post" action="/phone" data-stay>
<input type="hidden" name="reference" value="${reference}">
<input type="hidden" name="number" value="${number}">
<input type="hidden" name="since" value="${since}">
<label for="pin-${reference}">Enter your PIN</label>
<input id="pin-${reference}" name="pin" type="password" inputmode="numeric" pattern="[0-9]{4}" maxlength="4"
 autocomplete="off" required title="Four digits"${isWrong ? html` autofocus aria-invalid="true" aria-describedby="wrong-${reference}"` : ''}>
${isWrong ? html`<p class="wrong" id="wrong-${reference}" role="alert">A PIN has four digits.</p>` : ''}
<button class="primary" name="decision" value="approve">Approve</button>
<button name="decision" value="decline" formnovalidate>Decline</button>
</form>
${renderOrigin(entry, plan && 'settleAt' in plan ? html`until ${renderTime(plan.settleAt)}` : '')}</li>`;
}

/** Renders how a prompt ended, in its place and as high as it was. What can be pressed is not where its buttons were. */
function renderEnd(entry: ChargeEntry, number: string): Html {
  const { reference, status, failure, mobileMoney, changedAt } = entry;
  const declined = failure === 'expired' ? 'Expired' : 'Declined';
  const endings: Partial<Record<typeof status, string>> = { success: 'Approved', failed: declined };
  return html`<li id="${reference}" class="prompt ended ${mobileMoney.network}" data-keep>${renderSender(entry)}
<p><strong>${endings[status] ?? 'Ended'}</strong> <span class="sum">${formatMoney(entry)}</span></p>
<p><a class="action" href="/phone${formatQuery({ number })}">Done</a></p>
${renderOrigin(entry, renderTime(changedAt))}</li>`;
}

function renderSender({ mobileMoney: { network, phone } }: ChargeEntry): Html {
  return html`<h2>${networkNames[network]} <span>${phone}</span></h2>`;
}

function renderOrigin({ reference, mode }: ChargeEntry, time: Html | ''): Html {
  return html`<p class="small"><code>${reference}</code> · ${mode} mode <span>${time}</span></p>`;
}

function renderMessages(charges: readonly Entry[]): Html {
  const ended = charges
    .filter((entry) => !isOpen(entry))
    .toSorted((a, b) => b.changedAt - a.changedAt)
    .slice(0, MAX_MESSAGES);
  return html`<section id="messages" data-live>
${ended.length > 0 ? html`<h2>Earlier</h2>` : ''}
<ul>${ended.map((entry) => html`<li class="line">${renderBadge(entry)} <b class="sum">${formatMoney(entry)}</b> ${renderTime(entry.changedAt)}</li>`)}</ul>
</section>`;
}

/** Renders the count for screen readers, which announce it when it changes. All see it if there are more than are shown. */
function renderPromptCount(open: number): Html {
  const count = open === 1 ? '1 open prompt' : `${open} open prompts`;
  const isCut = open > MAX_PROMPTS;
  const rest = isCut ? `: the newest ${MAX_PROMPTS} are here. Answer some of them to see the others.` : '';
  return html`<p id="prompt-count" data-live class="${isCut ? 'note' : 'hidden'}" role="status">${open > 0 ? count + rest : ''}</p>`;
}
