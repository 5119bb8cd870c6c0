import { html } from 'hono/html';
import { type Html, renderDocument, renderLabel } from '../../../ui/markup.ts';
import type { Entry } from '../../service/ledger.ts';

interface Page {
  title: string;
  /** For the style sheet. */
  name: 'dashboard' | 'webhooks' | 'checkout' | 'phone' | 'message';
  /** The path of the server-sent events that update the page. */
  events?: string;
  head?: Html | undefined;
  body: Html;
}

export function layout({ title, name, events, head, body }: Page): Html {
  const link = (path: string, page: Page['name'], label: string) =>
    html`<a href="${path}"${name === page ? html` aria-current="page"` : ''}>${label}</a>`;
  const header = html`<a class="brand" href="/">Payment sandbox</a>
<nav aria-label="Pages">
${link('/', 'dashboard', 'Transactions')}
${link('/webhooks', 'webhooks', 'Webhooks')}
${link('/phone', 'phone', 'Phone')}
</nav>
${events ? html`<p id="connection" role="status" data-state="off">connecting</p>` : ''}`;
  return renderDocument({
    title: `${title} · Payment sandbox`,
    name,
    style: '/assets/style.css',
    icon: '/assets/icon.svg',
    head: html`${events ? html`<script src="/assets/live.js" defer></script>` : ''}
${head ?? ''}`,
    events,
    header,
    body,
  });
}

export function messagePage(title: string, text: string): Html {
  const body = html`<section class="card">
<h1>${title}</h1>
<p>${text}</p>
<p><a href="/">All transactions</a></p>
</section>`;
  return layout({ title, name: 'message', body });
}

export function formatMoney({ currency, amount }: Entry): string {
  return `${currency} ${amount}`;
}

/** Renders the status of a transaction. Why it failed is the sandbox's own: a verify reports `failed` alone. */
export function renderBadge({ status, failure }: Entry): Html {
  if (status === 'failed') {
    return renderLabel(failure === 'expired' ? 'expired' : 'failed', `failed: ${failure ?? 'declined'}`);
  }
  return renderLabel(status === 'processing' ? 'pending' : status, status);
}

const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const calendar = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });

/** Renders a time in the time zone of the machine that runs the sandbox, and the date if it is not today. */
export function renderTime(time: number): Html {
  const date = calendar.format(time);
  const text = date === calendar.format(Date.now()) ? clock.format(time) : `${date}, ${clock.format(time)}`;
  return html`<time datetime="${new Date(time).toISOString()}">${text}</time>`;
}

/** Formats milliseconds. Most responses of the sandbox take less than one. */
export function formatDuration(duration: number): string {
  return duration < 1 ? 'under 1 ms' : `${Math.round(duration).toLocaleString('en')} ms`;
}

/** Renders a text with a button that copies it. Without a script there is no button. */
export function renderCopyable(what: string, text: string): Html {
  return html`<span class="copyable"><code>${text}</code> <button type="button" class="copy">Copy<span class="hidden"> ${what}</span></button></span>`;
}
