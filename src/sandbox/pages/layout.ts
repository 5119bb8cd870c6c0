import { html } from 'hono/html';
import type { Network } from '../../api/input.ts';
import type { Entry } from '../../testing/ledger.ts';

/** Markup with every value escaped. */
export type Html = ReturnType<typeof html>;

interface Page {
  title: string;
  /** For the style sheet. */
  name: 'dashboard' | 'webhooks' | 'checkout' | 'phone' | 'message';
  /** The path of the server-sent events that update the page. */
  events?: string;
  /** More elements of the head. */
  head?: Html | undefined;
  body: Html;
}

/** Renders a whole page. */
export function layout({ title, name, events, head, body }: Page): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Payment sandbox</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/style.css">
${events ? html`<script src="/assets/live.js" defer></script>` : ''}
${head ?? ''}
</head>
<body class="${name}" data-events="${events ?? ''}">
<header>
<a class="brand" href="/">Payment sandbox</a>
<nav aria-label="Pages">
<a href="/"${name === 'dashboard' ? CURRENT : ''}>Transactions</a>
<a href="/webhooks"${name === 'webhooks' ? CURRENT : ''}>Webhooks</a>
<a href="/phone"${name === 'phone' ? CURRENT : ''}>Phone</a>
</nav>
${events ? html`<p id="connection" role="status" data-state="off">connecting</p>` : ''}
</header>
<main>
${body}
</main>
</body>
</html>`;
}

const CURRENT = html` aria-current="page"`;

/** Renders a page that only shows a message. */
export function messagePage(
  title: string,
  text: string,
  link = { href: '/', label: 'All transactions' },
): Html {
  const body = html`<section class="card">
<h1>${title}</h1>
<p>${text}</p>
<p><a href="${link.href}">${link.label}</a></p>
</section>`;
  return layout({ title, name: 'message', body });
}

export const networkNames: Record<Network, string> = {
  mtn: 'MTN Mobile Money',
  telecel: 'Telecel Cash',
  airteltigo: 'AirtelTigo Money',
};

export function formatMoney({ currency, amount }: Entry): string {
  return `${currency} ${amount}`;
}

/** What a badge can say. Each look has a colour and a mark of its own. */
export type Look = 'pending' | 'success' | 'failed' | 'expired' | 'abandoned';

/** The lines of each mark, in a square of 16. */
const marks: Record<Look, string> = {
  pending: 'M8 3a5 5 0 1 0 .01 0',
  success: 'M3 8.5l3.5 3.5L13 5',
  failed: 'M4 4l8 8m0-8l-8 8',
  expired: 'M8 2a6 6 0 1 0 .01 0M8 4.5V8l2.5 1.5',
  abandoned: 'M3 8h10',
};

export function renderLabel(look: Look, text: string): Html {
  return html`<span class="badge ${look}"><svg viewBox="0 0 16 16" aria-hidden="true"><path d="${marks[look]}"/></svg>${text}</span>`;
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
