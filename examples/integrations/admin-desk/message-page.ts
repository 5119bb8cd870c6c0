import { type Html, html } from './html.ts';
import { layout } from './layout.ts';
import { paths } from './paths.ts';

/** Renders a page that only shows a message. */
export function messagePage(title: string, text: string, person?: string): Html {
  const link =
    person === undefined ? { to: paths.login, text: 'Log in' } : { to: paths.keys, text: 'Unresolved keys' };
  const body = html`<section class="card narrow">
<h1>${title}</h1>
<p>${text}</p>
<p><a href="${link.to}">${link.text}</a></p>
</section>`;
  return layout(title, body, person);
}
