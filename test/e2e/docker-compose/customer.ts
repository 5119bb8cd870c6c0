import type { Composition } from './composition.ts';

const MAX_REDIRECTS = 5;

export interface Page {
  /** Where the last redirect led. */
  readonly url: string;
  readonly status: number;
  readonly text: string;
}

/** A customer with a browser: it keeps cookies, follows redirects, and posts forms from the page that it shows. */
export class Customer {
  readonly email: string;
  readonly #composition: Composition;
  readonly #cookies = new Map<string, string>();

  constructor(composition: Composition, email: string) {
    this.#composition = composition;
    this.email = email;
  }

  get(url: string): Promise<Page> {
    return this.#visit(url);
  }

  /** Posts a form of a page of the same origin. */
  post(url: string, fields: Record<string, string>): Promise<Page> {
    return this.#visit(url, fields);
  }

  async #visit(url: string, fields?: Record<string, string>, redirects = 0): Promise<Page> {
    if (redirects > MAX_REDIRECTS) throw new Error(`${url} redirects without an end.`);
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await this.#composition.fetch(url, {
      headers: { cookie, ...(fields ? { origin: new URL(url).origin } : {}) },
      ...(fields ? { method: 'POST', body: new URLSearchParams(fields) } : {}),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (name !== undefined && value !== undefined) this.#cookies.set(name, value);
    }
    const text = await response.text();
    const location = response.headers.get('location');
    if (location === null) return { url, status: response.status, text };
    return this.#visit(new URL(location, url).href, undefined, redirects + 1);
  }
}
