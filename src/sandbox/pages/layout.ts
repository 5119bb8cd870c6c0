import { html } from 'hono/html';
import type { Network } from '../../api/input.ts';
import type { Entry } from '../../testing/ledger.ts';

/** Markup with every value escaped. */
export type Html = ReturnType<typeof html>;

/** The part of a page that updates itself: elements with an id, each of which replaces the one before. */
export interface LiveView {
  renderAll(): Html;
  /** Renders what has changed since a version of the activity log. */
  renderChanges(since: number): Html;
}

interface Page {
  title: string;
  /** For the style sheet. */
  name: 'dashboard' | 'checkout' | 'phone' | 'message';
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

export function renderBadge({ status }: Entry): Html {
  return html`<span class="badge ${status}">${status}</span>`;
}

const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/** Renders a time in the time zone of the machine that runs the sandbox. */
export function renderTime(time: number): Html {
  return html`<time datetime="${new Date(time).toISOString()}">${clock.format(time)}</time>`;
}
