/** A customer's browser with its cookies. It follows no redirect, so that a test sees the target. */
export class Browser {
  readonly #shopUrl: string;
  readonly #cookies = new Map<string, string>();

  constructor(shopUrl: string) {
    this.#shopUrl = shopUrl;
  }

  get(path: string): Promise<Page> {
    return this.#send(path, {});
  }

  post(path: string, fields: Record<string, string>): Promise<Page> {
    return this.#send(path, { method: 'POST', body: new URLSearchParams(fields) });
  }

  async #send(path: string, init: RequestInit): Promise<Page> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(new URL(path, this.#shopUrl), {
      ...init,
      headers: cookie ? { cookie } : {},
      redirect: 'manual',
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (name !== undefined && value !== undefined) this.#cookies.set(name, value);
    }
    return { status: response.status, headers: response.headers, text: await response.text() };
  }
}

export interface Page {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Returns the target of a redirect. */
export const readLocation = ({ headers }: Page) => headers.get('location') ?? '';

/** Returns the order of the basket on a page. */
export function readOrderId({ text }: Page): string {
  const [, id] = /name="order" value="([^"]+)"/.exec(text) ?? [];
  if (id === undefined) throw new Error(`There is no basket on this page: ${text}`);
  return id;
}
