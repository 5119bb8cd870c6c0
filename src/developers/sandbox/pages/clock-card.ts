import { html } from 'hono/html';
import type { Html } from '../../../ui/markup.ts';
import type { Clock } from '../../service/clock.ts';
import { renderTime } from './layout.ts';

/** The buttons that move the sandbox's time ahead, by their minutes. */
export const advances: ReadonlyMap<unknown, string> = new Map([
  ['1', '+1 min'],
  ['5', '+5 min'],
  ['60', '+1 h'],
]);

/** Renders the buttons that move the sandbox's time ahead. `back` is the page that they stand on. */
export function renderClockCard(clock: Html, back: '/' | '/webhooks'): Html {
  return html`<section class="card panel" id="time" aria-labelledby="time-title">
<h2 id="time-title">Time</h2>
${clock}
<form method="post" action="/time" class="actions" data-stay>
<input type="hidden" name="back" value="${back}">
${[...advances].map(([minutes, text]) => html`<button name="minutes" value="${minutes}">${text}</button>`)}
</form>
<p class="small">What becomes due happens at once: prompts expire, webhooks are sent.</p>
</section>`;
}

/** Renders the time of the sandbox, if it is ahead of that of the machine. */
export function renderClock(clock: Clock): Html {
  const now = clock.now();
  const minutes = Math.round((now - Date.now()) / 60_000);
  if (minutes === 0) return html`<p id="clock">The sandbox has the time of this machine.</p>`;
  const hours = Math.floor(minutes / 60);
  const ahead = [hours > 0 ? `${hours} h` : '', minutes % 60 > 0 ? `${minutes % 60} min` : ''].join(' ');
  return html`<p id="clock">${ahead.trim()} ahead: <b>${renderTime(now)}</b> at the last update.</p>`;
}
