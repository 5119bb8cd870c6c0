/** A line that opens to show more: of a transaction, a request or a webhook. */

import { html } from 'hono/html';
import { createRedact, type Redact } from '../../../support/redact.ts';
import type { Html } from '../../../ui/markup.ts';
import { LIVE_KEY } from '../options.ts';

interface Row {
  /** By its key it stays open when the page is updated. */
  readonly key: string;
  /** The line: elements of the classes `state`, `what`, `detail` and `end`. */
  readonly line: Html;
  readonly behind: Html;
}

export function renderRow({ key, line, behind }: Row): Html {
  return html`<details data-key="${key}">
<summary class="line">${line}</summary>
<div class="behind">${behind}</div>
</details>`;
}

/** Renders the facts that are there, each with its name. */
export function renderFacts(facts: Readonly<Record<string, Html | string>>): Html {
  const shown = Object.entries(facts).filter(([, fact]) => fact !== '');
  return html`<dl>${shown.map(([name, fact]) => html`<dt>${name}</dt><dd>${fact}</dd>`)}</dl>`;
}

/** Renders a body as JSON if it is JSON, without keys and the data of the customer. Empty: there is none. */
export function renderBody(text: string, json: unknown, redact: Redact = redactKeys): Html | '' {
  if (text === '') return '';
  const shown = redact.body({ text, json });
  return html`<pre>${shorten(typeof shown === 'string' ? shown : JSON.stringify(shown, null, 2), MAX_BODY_CHARS)}</pre>`;
}

const redactKeys = createRedact([LIVE_KEY]);
const MAX_BODY_CHARS = 2_000;

export function shorten(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max)}…` : text;
}
