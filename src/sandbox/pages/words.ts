import { html } from 'hono/html';
import type { Network } from '../../api/input.ts';
import type { Entry } from '../../testing/ledger.ts';
import type { Html } from './layout.ts';

export const networkNames: Record<Network, string> = {
  mtn: 'MTN Mobile Money',
  telecel: 'Telecel Cash',
  airteltigo: 'AirtelTigo Money',
};

export function money({ currency, amount }: Entry): string {
  return `${currency} ${amount}`;
}

export function badge({ status }: Entry): Html {
  return html`<span class="badge ${status}">${status}</span>`;
}

const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/** A moment, by the clock of the machine that the sandbox runs on. */
export function moment(time: number): Html {
  return html`<time datetime="${new Date(time).toISOString()}">${clock.format(time)}</time>`;
}
