import { type Html, html } from './html.ts';
import { layout } from './layout.ts';
import { paths } from './paths.ts';

export interface LoginPage {
  readonly next: string;
  readonly email?: string;
  readonly failed?: boolean;
}

export function loginPage({ next, email = '', failed = false }: LoginPage): Html {
  return layout(
    'Log in',
    html`<section class="card narrow">
<h1>Log in</h1>
${failed ? html`<p class="problem" role="alert">The email address or the password is wrong.</p>` : ''}
<form method="post" action="${paths.login}">
<input type="hidden" name="next" value="${next}">
<label>Email <input type="email" name="email" value="${email}" autocomplete="username" required></label>
<label>Password <input type="password" name="password" autocomplete="current-password" required></label>
<button class="primary">Log in</button>
</form>
</section>`,
  );
}
