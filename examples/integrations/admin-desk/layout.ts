import { type Html, html } from './html.ts';
import { paths } from './paths.ts';

/** Renders a whole page. `person` is who is logged in. */
export function layout(title: string, body: Html, person?: string): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Shop admin</title>
<link rel="icon" href="${paths.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${paths.style}">
</head>
<body>
<header>
<span class="brand">Shop admin</span>
${person === undefined ? '' : renderHeader(person)}
</header>
<main>
${body}
</main>
</body>
</html>`;
}

function renderHeader(person: string): Html {
  return html`<nav aria-label="Admin"><a href="${paths.keys}">Unresolved keys</a></nav>
<form method="post" action="${paths.logout}" class="who">
<span>${person}</span>
<button class="quiet">Log out</button>
</form>`;
}

const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** Renders how long ago a time was, and the time itself. The records of the service might be in another time zone. */
export function renderTime(time: number): Html {
  const age = Date.now() - time;
  const [unit, length] = UNITS.find(([, milliseconds]) => age >= milliseconds) ?? ['second', 1_000];
  const ago = relative.format(-Math.max(0, Math.floor(age / length)), unit);
  return html`<time datetime="${new Date(time).toISOString()}">${ago} <small>· ${exact.format(time)} UTC</small></time>`;
}

/** Renders text of unknown origin as code: it can be long, and cannot change the direction of the text around it. */
export function renderCode(text: string): Html {
  return html`<code><bdi>${text}</bdi></code>`;
}
