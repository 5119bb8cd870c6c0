/** One payment: what is recorded, what the service says, and what can be decided about it. */

import { html } from 'hono/html';
import { isSameAmount } from '../../api/money.ts';
import type { JournalEntry } from '../../journal/journal.ts';
import type { Offer } from '../../ledger/resolve.ts';
import { type Html, networkNames } from '../../pages/markup.ts';
import { escapeUnprintable, formatAge, formatTime } from '../text.ts';
import { ADVICE, explainAttention, OFFERS, REASONS, STATES } from '../words.ts';
import type { Refused } from './decide.ts';
import type { Asked, ShownPayment, Subject } from './read.ts';

/** Renders a payment of an order, or of a key. */
export function renderPayment(shown: ShownPayment, subject: Subject, refused: Refused | undefined): Html {
  const { name, number, entry, asked } = shown;
  const { attention, amount, currency } = entry;
  const own = refused?.name === name ? refused : undefined;
  const title = subject.kind === 'order' || number > 1 ? `Payment ${number}` : 'Payment';
  return html`<section class="card payment${attention ? ' needed' : ''}" id="payment-${number}" aria-labelledby="title-${number}">
<div class="title"><h2 id="title-${number}">${title}</h2> <b class="amount">${currency} ${amount}</b></div>
${renderDone(shown, subject)}
${own ? html`<p class="problem" role="alert">${escapeUnprintable(own.message)}</p>` : ''}
${attention ? html`<p class="why"><b>${startUpper(explainAttention(attention, entry))}.</b> ${ADVICE[attention]}</p>` : html`<p>${startUpper(STATES[entry.state])}.</p>`}
${renderFacts(entry)}
${asked ? renderAsked(asked, entry) : ''}
${
  entry.offers.length > 0
    ? html`<div class="offers"><h3>${attention ? 'Decide' : 'Decide again'}</h3>${entry.offers.map((offer) => renderOffer(offer, shown, own))}</div>`
    : ''
}
</section>`;
}

/** Says what was just decided. It is read from the record: the address of a page proves nothing. */
function renderDone({ number, entry }: ShownPayment, { done, order }: Subject): Html | '' {
  const { resolutions } = entry;
  const last = resolutions.at(-1);
  if (!last || done !== `${number}.${resolutions.length}`) return '';
  return html`<p class="done" role="status"><b>Recorded.</b> ${describeDone(entry, order?.canPay === true)}</p>`;
}

function describeDone({ state, attention, status, order }: JournalEntry, canPay: boolean): string {
  if (attention !== undefined) return `It still needs a person: ${REASONS[attention]}.`;
  switch (state) {
    case 'not_charged':
      if (order === undefined) return 'The same key can now charge.';
      return canPay ? 'The customer can now pay again.' : 'This payment is out of the way.';
    case 'closed':
      return 'The payment is closed: it is never charged again, and not followed.';
    default:
      return status === 'success'
        ? 'The payment counts as paid. The shop hears of it with the next sweep.'
        : 'The payment is followed, and counts as paid once the service says success.';
  }
}

function renderFacts(entry: JournalEntry): Html {
  const { reference, network, operation, status, createdAt, checkedAt, nextCheckAt, error, attempts } = entry;
  const networkName = Object.entries(networkNames).find(([name]) => name === network)?.[1] ?? network;
  const method = operation === 'initialize' ? 'Checkout page' : (networkName ?? 'Mobile Money');
  const facts: readonly (readonly [string, Html | string | undefined])[] = [
    ['Transaction', html`<code>${escapeUnprintable(reference ?? 'not known')}</code>`],
    ['Status', status],
    ['Method', method],
    ['Began', renderMoment(createdAt)],
    ['Last check', checkedAt === undefined ? undefined : renderMoment(checkedAt)],
    ['Next check', nextCheckAt === undefined ? undefined : renderMoment(nextCheckAt)],
    ['Error', error && `${error.code}${error.status === null ? '' : `, HTTP ${error.status}`}`],
    [attempts === 1 ? 'Request id' : 'Request ids', renderIds(entry)],
  ];
  return html`<dl class="facts">${facts.map(([label, value]) =>
    value === undefined ? '' : html`<div><dt>${label}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

const renderIds = ({ requestIds }: JournalEntry) =>
  requestIds.length === 0
    ? undefined
    : html`${requestIds.map((id) => html`<code class="id">${escapeUnprintable(id)}</code>`)}`;

/** Renders a time in UTC, as the service gives times, and how long ago it was. */
export function renderMoment(time: number): Html {
  const text = formatTime(time);
  const age = time <= Date.now() ? ` (${formatAge(time)})` : '';
  return html`<time datetime="${text}">${text.replace('T', ' ').replace('Z', ' UTC')}</time>${age}`;
}

function renderAsked(asked: Asked, entry: JournalEntry): Html {
  if ('problem' in asked)
    return html`<p class="asked">The service could not be asked just now. ${escapeUnprintable(asked.problem)}</p>`;
  const { status, amount, currency } = asked;
  const isSame = currency === entry.currency && isSameAmount(amount, entry.amount);
  return html`<p class="asked">The service says now: <b>${escapeUnprintable(status)}</b>, <b>${currency} ${amount}</b>${
    isSame ? '.' : html`, <b class="differs">not ${entry.currency} ${entry.amount}</b>.`
  }</p>`;
}

const DECISIONS: Readonly<Record<Offer, string>> = {
  reference: 'The charge exists',
  not_charged: 'No charge exists',
  accepted: 'Take the payment as it is',
  closed: 'Close the payment',
};

const NOT_CHARGED_TWICE =
  ' If a charge exists after all, the customer pays twice: search the records of the service again an hour later.';

/** Renders one decision: it opens, says what follows, and has a button of its own. */
function renderOffer(
  offer: Offer,
  { name, number, entry }: ShownPayment,
  refused: Refused | undefined,
): Html {
  const own = refused?.offer === offer ? refused : undefined;
  const title = DECISIONS[offer];
  const id = `${offer}-${number}`;
  return html`<details name="offers-${number}"${own ? html` open` : ''}>
<summary>${title}</summary>
<form method="post" class="fields">
<p class="small">${OFFERS[offer]}${offer === 'not_charged' ? NOT_CHARGED_TWICE : ''}</p>
<input type="hidden" name="payment" value="${name}">
<input type="hidden" name="offer" value="${offer}">
<input type="hidden" name="revision" value="${entry.revision}">
${offer === 'reference' ? renderReferenceField(id, own?.reference ?? entry.reference ?? '') : ''}
${offer === 'reference' && entry.operation === 'initialize' ? renderUrlField(id) : ''}
${offer === 'not_charged' ? renderAmountField(id, entry) : ''}
${renderReasonField(id, own?.reason)}
<button class="${offer === 'not_charged' ? 'danger' : 'primary'}">Record: ${title.charAt(0).toLowerCase()}${title.slice(1)}</button>
</form>
</details>`;
}

/** Renders the form that adds a transaction to an order. */
export function renderTransactionForm(name: string, refused: Refused | undefined): Html {
  const own = refused?.name === name ? refused : undefined;
  return html`<section class="card"><details${own ? html` open` : ''}>
<summary>Add a transaction that belongs to this order</summary>
<form method="post" class="fields">
<p class="small">For a payment that the journal does not know. The service is asked first: it must have the transaction, and no other order may have it.</p>
<input type="hidden" name="payment" value="${name}">
<input type="hidden" name="offer" value="reference">
${renderReferenceField('added', own?.reference ?? '')}
${renderReasonField('added', own?.reason)}
<button>Add the transaction</button>
</form>
</details></section>`;
}

const renderReferenceField = (id: string, value: string) =>
  html`<div><label for="reference-${id}">Its transaction</label>
<input id="reference-${id}" name="reference" required value="${value}" placeholder="TXN-…" maxlength="255" autocomplete="off" spellcheck="false"></div>`;

const renderUrlField = (id: string) =>
  html`<div><label for="url-${id}">Address of its checkout page, if the customer is still to be sent there</label>
<input id="url-${id}" name="checkout_url" type="url" autocomplete="off"></div>`;

const renderAmountField = (id: string, { amount, currency }: JournalEntry) =>
  html`<div><label for="amount-${id}">Type the amount, ${amount}, to confirm (${currency})</label>
<input id="amount-${id}" name="amount" required inputmode="decimal" autocomplete="off"></div>`;

const renderReasonField = (id: string, value = '') =>
  html`<div><label for="reason-${id}">What you found out</label>
<input id="reason-${id}" name="reason" required maxlength="1000" value="${value}" autocomplete="off" aria-describedby="hint-${id}">
<p class="small" id="hint-${id}">Kept with your name. Write no phone number, email or name of a customer.</p></div>`;

/** Returns a text with a capital letter. */
export const startUpper = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
