/** The part of a page that shows the sandbox's time, and moves it ahead. */

import { html } from 'hono/html';
import type { Html } from '../../../ui/markup.ts';
import type { Clock } from '../../service/clock.ts';
import { renderTime } from './layout.ts';
import type { Panel } from './list-page.ts';

/** The text of each button, by its minutes. */
const advances = { 1: '+1 min', 5: '+5 min', 60: '+1 h' };

/** `back` is the page that the panel stands on. */
export function createClockPanel(clock: Clock, back: '/' | '/webhooks'): Panel {
  const body = html`${renderClock(clock)}
<form method="post" action="/time" class="actions" data-stay>
<input type="hidden" name="back" value="${back}">
${Object.entries(advances).map(([minutes, text]) => html`<button name="minutes" value="${minutes}">${text}</button>`)}
</form>
<p class="small">What becomes due happens at once: prompts expire, webhooks are sent.</p>`;
  return { id: 'time', tab: 'Time', title: 'Time', body };
}

/** Renders the time of the sandbox, if it is ahead of that of the machine. */
function renderClock(clock: Clock): Html {
  const now = clock.now();
  const minutes = Math.round((now - Date.now()) / 60_000);
  if (minutes === 0) return html`<p id="clock" data-live>The sandbox has the time of this machine.</p>`;
  const hours = Math.floor(minutes / 60);
  const ahead = [hours > 0 ? `${hours} h` : '', minutes % 60 > 0 ? `${minutes % 60} min` : ''].join(' ');
  return html`<p id="clock" data-live>${ahead.trim()} ahead: <b>${renderTime(now)}</b> at the last update.</p>`;
}
