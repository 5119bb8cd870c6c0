/** What a customer's browser keeps and shows. It follows no redirect, so that a test sees where it would go. */
export class Browser {
  readonly #shopUrl: string;
  readonly #cookies = new Map<string, string>();

  constructor(shopUrl: string) {
    this.#shopUrl = shopUrl;
  }

  get(path: string): Promise<Page> {
    return this.#ask(path, {});
  }

  post(path: string, fields: Record<string, string>): Promise<Page> {
    return this.#ask(path, { method: 'POST', body: new URLSearchParams(fields) });
  }

  async #ask(path: string, init: RequestInit): Promise<Page> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(new URL(path, this.#shopUrl), {
      ...init,
      headers: cookie ? { cookie } : {},
      redirect: 'manual',
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (name !== undefined && value !== undefined) this.#cookies.set(name, value);
    }
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }
}

export interface Page {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Where a page sends the browser. */
export const locationOf = ({ headers }: Page) => headers.get('location') ?? '';

/** The order whose basket a page shows. */
export function orderOn({ text }: Page): string {
  const [, id] = /name="order" value="([^"]+)"/.exec(text) ?? [];
  if (id === undefined) throw new Error(`There is no basket on this page: ${text}`);
  return id;
}
