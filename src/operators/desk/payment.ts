/** One payment: what is recorded, what the service says, and what can be decided about it. */

import { html } from 'hono/html';
import { isSameAmount } from '../../api/money.ts';
import type { JournalEntry } from '../../journal/journal.ts';
import type { Offer } from '../../ledger/resolve.ts';
import { type Html, networkNames, renderLabel } from '../../ui/markup.ts';
import { escapeUnprintable, formatAge, formatTime } from '../../ui/text.ts';
import { ADVICE, explainAttention, OFFERS, REASONS, STATES } from '../words.ts';
import type { Refused } from './decide.ts';
import { type Asked, linkTo, type ShownPayment, type Subject } from './read.ts';

export function renderPayment(shown: ShownPayment, subject: Subject, refused: Refused | undefined): Html {
  const { name, number, entry, asked } = shown;
  const { attention } = entry;
  const own = refused?.name === name ? refused : undefined;
  const title = subject.kind === 'order' || number > 1 ? `Payment ${number}` : 'Payment';
  const isWinner = subject.order?.state === 'paid' && subject.order.payment.number === number;
  return html`<section class="card payment${attention ? ' needed' : ''}" id="payment-${number}" aria-labelledby="title-${number}">
<div class="title"><h2 id="title-${number}">${title}</h2> ${isWinner ? renderLabel('success', 'Pays the order') : ''} <b class="amount">${formatMoney(entry)}</b></div>
${isDone(shown, subject) ? renderDone(entry, subject) : ''}
${own ? renderRefused(own, entry) : ''}
${attention ? html`<p class="why"><b>${startUpper(explainAttention(attention, entry))}.</b> ${ADVICE[attention]}</p>` : html`<p>${startUpper(STATES[entry.state])}.</p>`}
${renderFacts(entry)}
${renderCompared(asked, entry)}
${
  entry.offers.length > 0
    ? html`<div class="offers"><h3>${attention ? 'Decide' : 'Decide again'}</h3>${entry.offers.map((offer) => renderOffer(offer, shown, subject, own))}</div>`
    : ''
}
</section>`;
}

/** What was typed stays in its form, unless that decision no longer fits. */
function renderRefused({ message, offer, reason }: Refused, { offers }: JournalEntry): Html {
  const isKept = offers.some((item) => item === offer);
  const typed = isKept || reason === '' ? '' : ` You wrote: “${reason}”`;
  return html`<p class="problem" role="alert">${escapeUnprintable(`${message}${typed}`)}</p>`;
}

const formatMoney = ({ currency, amount }: JournalEntry['price']) => `${currency} ${amount}`;

/** Whether this was just decided. It is read from the record: the address of a page proves nothing. */
export const isDone = ({ number, entry }: ShownPayment, { done }: Subject) =>
  entry.resolutions.length > 0 && done === `${number}.${entry.resolutions.length}`;

/** Names who decided: of two persons with the same decision, only the first is kept. */
function renderDone(entry: JournalEntry, subject: Subject): Html {
  const by = entry.resolutions.at(-1)?.by ?? '';
  return html`<p class="done" role="status"><b>Recorded.</b> ${describeDone(entry, subject)} Decided by ${escapeUnprintable(by)}.</p>`;
}

function describeDone({ state, attention, status }: JournalEntry, { kind, order }: Subject): string {
  const canPay = order?.canPay === true;
  if (attention !== undefined) return `It still needs a person: ${REASONS[attention]}.`;
  switch (state) {
    case 'not_charged':
      if (kind === 'key') return 'The same key can now charge.';
      return canPay ? 'The customer can now pay again.' : 'This payment is out of the way.';
    case 'closed':
      return `The payment is closed: it is never charged again, and not followed.${canPay ? ' The customer can now pay again, with another payment.' : ''}`;
    default:
      return status === 'success'
        ? 'The payment counts as paid. The shop hears of it with the next sweep.'
        : 'The payment is followed, and counts as paid once the service says success.';
  }
}

function renderFacts(entry: JournalEntry): Html {
  const { reference, network, operation, status, createdAt, checkedAt, nextCheckAt, error, attempts } = entry;
  const networkName = Object.entries(networkNames).find(([name]) => name === network)?.[1] ?? network;
  const method = operation === 'initialize' ? 'Checkout page' : networkName;
  const facts: readonly (readonly [string, Html | string | undefined])[] = [
    [
      'Transaction',
      reference === undefined ? 'not known' : html`<code>${escapeUnprintable(reference)}</code>`,
    ],
    ['Status', status],
    ['Method', method],
    ['Began', renderMoment(createdAt)],
    ['Last check', checkedAt === undefined ? undefined : renderMoment(checkedAt)],
    ['Next check', nextCheckAt === undefined ? undefined : renderNextCheck(nextCheckAt)],
    ['Error', error && `${error.code}${error.status === null ? '' : `, HTTP ${error.status}`}`],
    [attempts === 1 ? 'Request id' : 'Request ids', renderIds(entry)],
  ];
  return html`<dl class="facts">${facts.map(([label, value]) =>
    value === undefined ? '' : html`<div><dt>${label}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

const renderNextCheck = (time: number) => (time > Date.now() ? renderMoment(time) : 'with the next sweep');

const renderIds = ({ requestIds }: JournalEntry) =>
  requestIds.length === 0
    ? undefined
    : html`${requestIds.map((id) => html`<code class="id">${escapeUnprintable(id)}</code>`)}`;

/** Renders a time in UTC, as the service gives times, and how long ago it was. */
export function renderMoment(time: number): Html {
  const text = formatTime(time);
  const age = time <= Date.now() ? html` <span class="age">(${formatAge(time)})</span>` : '';
  return html`<time datetime="${text}">${text.replace('T', ' ').replace('Z', ' UTC')}</time>${age}`;
}

/** Renders the amounts that differ, and what the service says now. */
function renderCompared(asked: Asked | undefined, entry: JournalEntry): Html | '' {
  const { attention, other, price } = entry;
  if (attention === undefined) return '';
  const lines = [
    other &&
      html`Its transaction was recorded with <b>${formatMoney(other)}</b>${renderDifference(other, entry)}.`,
    isSame(price, entry)
      ? undefined
      : html`The order’s latest price is <b>${formatMoney(price)}</b>${renderDifference(price, entry)}.`,
    asked && renderAsked(asked, entry),
  ].filter((line) => line !== undefined);
  return lines.length === 0
    ? ''
    : html`<div class="asked">${lines.map((line) => html`<p>${line}</p>`)}</div>`;
}

const isSame = (one: JournalEntry['price'], other: JournalEntry['price']) =>
  one.currency === other.currency && isSameAmount(one.amount, other.amount);

const renderDifference = (one: JournalEntry['price'], entry: JournalEntry) =>
  isSame(one, entry) ? '' : html`, <b class="differs">not ${formatMoney(entry)}</b>`;

function renderAsked(asked: Asked, entry: JournalEntry): Html {
  if ('problem' in asked)
    return html`The service could not be asked just now. ${escapeUnprintable(asked.problem)}`;
  return html`The service says now: <b>${escapeUnprintable(asked.status)}</b>, <b>${formatMoney(asked)}</b>${renderDifference(asked, entry)}.`;
}

const OFFER_LABELS: Readonly<Record<Offer, (entry: JournalEntry) => string>> = {
  reference: () => 'The charge exists',
  not_charged: () => 'No charge exists',
  accepted: (entry) => `Take ${formatMoney(entry.other ?? entry)} as it is`,
  closed: () => 'Close the payment',
};

function describeRisk(offer: Offer, { kind }: Subject): string {
  if (offer === 'not_charged')
    return ' If a charge exists after all, the customer pays twice: search the records of the service again an hour later.';
  return offer === 'closed' && kind === 'order'
    ? ' The customer can then pay the order again, unless another payment of it is under way or paid.'
    : '';
}

/** Renders one decision: it opens, says what follows, and has a button of its own. */
function renderOffer(
  offer: Offer,
  { name, number, entry }: ShownPayment,
  subject: Subject,
  refused: Refused | undefined,
): Html {
  const own = refused?.offer === offer ? refused : undefined;
  const title = OFFER_LABELS[offer](entry);
  const id = `${offer}-${number}`;
  return html`<details name="offers-${number}"${own ? html` open` : ''}>
<summary>${title}</summary>
<form method="post" action="${linkTo(subject)}#payment-${number}" class="fields">
<p class="small">${OFFERS[offer]}${describeRisk(offer, subject)}</p>
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

export function renderTransactionForm(id: string, refused: Refused | undefined): Html {
  const name = `order ${id}`;
  const own = refused?.name === name ? refused : undefined;
  return html`<section class="card"><details${own ? html` open` : ''}>
<summary>Add a transaction that belongs to this order</summary>
<form method="post" action="${linkTo({ kind: 'order', id })}" class="fields">
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

export const startUpper = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
