import { html } from 'hono/html';

/** Markup in which every value was escaped. */
export type Html = ReturnType<typeof html>;

export interface Page {
  title: string;
  /** For the style sheet. */
  name: 'dashboard' | 'checkout' | 'phone' | 'message';
  /** The address of the server-sent events that keep the page up to date. */
  events?: string;
  body: Html;
}

export function layout({ title, name, events, body }: Page): Html {
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

/** A page that only says something. */
export function messagePage(title: string, text: string, link?: { href: string; label: string }): Html {
  const way = link ?? { href: '/', label: 'All transactions' };
  const body = html`<section class="card">
<h1>${title}</h1>
<p>${text}</p>
<p><a href="${way.href}">${way.label}</a></p>
</section>`;
  return layout({ title, name: 'message', body });
}
