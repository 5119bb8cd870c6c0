/** A page with a list that updates itself, and panels beside it. On a phone each of them has a tab. */

import { html } from 'hono/html';
import type { Html } from '../../../ui/markup.ts';

export interface Panel {
  readonly id: string;
  readonly tab: string;
  readonly title: string;
  readonly body: Html;
}

interface ListPage {
  /** What the list has. */
  readonly heading: string;
  readonly count: string;
  /** What stands beside the count, and above and below the rows. */
  readonly action?: Html | '';
  readonly above?: Html;
  readonly below?: Html;
  readonly rows: readonly Html[];
  /** What the list shows without rows. */
  readonly empty: Html;
  readonly panels: readonly Panel[];
}

export function renderListPage(page: ListPage): Html {
  const { heading, count, action = '', above = '', below = '', rows, empty, panels } = page;
  const id = heading.toLowerCase();
  return html`<div class="columns">
<section class="list" aria-labelledby="${id}">
<div class="title" id="title" data-live><h2 id="${id}">${heading}</h2> <span id="count" class="count">${count}</span>${action}</div>
${above}
<ol class="rows" id="rows" data-live>${rows}</ol>
<div class="empty card">${empty}</div>
${below}
</section>
<div class="aside">
${panels.map(
  (panel) => html`<section class="card panel" id="${panel.id}" aria-labelledby="${panel.id}-title">
<h2 id="${panel.id}-title">${panel.title}</h2>
${panel.body}
</section>`,
)}
</div>
</div>
<nav class="tabs" aria-label="Parts of the page">
<a href="#${id}">${heading}</a>${panels.map((panel) => html`<a href="#${panel.id}">${panel.tab}</a>`)}
</nav>`;
}
