/** The parts of a page that the sandbox and the review desk share: how markup is made, and how they look. */

import { html } from 'hono/html';
import type { Network } from '../api/input.ts';

/** Markup with every value escaped. */
export type Html = ReturnType<typeof html>;

export interface Document {
  title: string;
  /** The class of the body, for the style sheet. */
  name: string;
  style: string;
  icon: string;
  head?: Html | undefined;
  /** Where the body's server-sent events come from. */
  events?: string | undefined;
  header: Html;
  body: Html;
}

export function renderDocument({ title, name, style, icon, head, events, header, body }: Document): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${icon}" type="image/svg+xml">
<link rel="stylesheet" href="${style}">
${head ?? ''}
</head>
<body class="${name}" data-events="${events ?? ''}">
<header>
${header}
</header>
<main>
${body}
</main>
</body>
</html>`;
}

export const networkNames: Record<Network, string> = {
  mtn: 'MTN Mobile Money',
  telecel: 'Telecel Cash',
  airteltigo: 'AirtelTigo Money',
};

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
