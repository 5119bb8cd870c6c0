/** What happened to all payments of an order or key, in order of time. */

import { html } from 'hono/html';
import type { JournalEntry } from '../../journal/journal.ts';
import type { Html } from '../../ui/markup.ts';
import { escapeUnprintable } from '../../ui/text.ts';
import { renderMoment } from './payment.ts';
import type { ShownPayment } from './read.ts';

interface Happening {
  readonly at: number;
  readonly number: number;
  readonly text: string;
  /** Of a decision. */
  readonly by?: string;
  readonly reason?: string;
}

const DECISION_TEXTS = {
  not_charged: 'No charge exists',
  accepted: 'Taken as it is',
  closed: 'Closed',
  taken_back: 'The decision before was taken back',
} as const;

export function renderHistory(payments: readonly ShownPayment[]): Html {
  const happenings = payments
    .flatMap(({ number, entry }) => listHappenings(number, entry))
    .sort((one, other) => one.at - other.at);
  const isOne = payments.length === 1;
  return html`<section class="card history" aria-labelledby="history"><h2 id="history">History</h2>
<ol>${happenings.map(
    ({ at, number, text, by, reason }) => html`<li${by === undefined ? '' : html` class="decision"`}>
<span class="when">${renderMoment(at)}</span>
<b>${isOne ? '' : `Payment ${number}: `}${escapeUnprintable(text)}</b>
${by === undefined ? '' : html`<span>${escapeUnprintable(by)}: ${escapeUnprintable(reason ?? '')}</span>`}
</li>`,
  )}</ol></section>`;
}

function listHappenings(number: number, entry: JournalEntry): Happening[] {
  const { createdAt, checkedAt, status, resolutions } = entry;
  const began = describeRequest(entry);
  return [
    ...(began === undefined ? [] : [{ at: createdAt, number, text: began }]),
    ...(checkedAt === undefined
      ? []
      : [{ at: checkedAt, number, text: `Last check: ${status ?? 'not found'}` }]),
    ...resolutions.map(({ at, by, reason, resolution }) => ({
      at,
      number,
      text:
        typeof resolution === 'string'
          ? DECISION_TEXTS[resolution]
          : `Its transaction is ${resolution.reference}`,
      by,
      reason,
    })),
  ];
}

/** Returns what became of the latest request. There is none of a transaction that a person added. */
function describeRequest({ state, attempts, error }: JournalEntry): string | undefined {
  const code = error ? `: ${error.code}` : '';
  if (state === 'not_sent') return `The request was not sent${code}`;
  if (attempts === 0) return undefined;
  const sent = attempts > 1 ? `Request ${attempts} was sent` : 'The request was sent';
  if (!error) return sent;
  return `${sent}, and ${state === 'rejected' ? 'was refused' : 'got no result'}${code}`;
}
