import type { Sandbox } from 'payment-collection-client/sandbox';
import { onTestFinished } from 'vitest';
import { listen } from './listen.ts';

/** A proxy of the sandbox that accepts one key at a time, as a service does whose key was rotated. */
export class KeyGate {
  /** The accepted key. */
  key: string;
  /** The key of each request, in order. */
  readonly seen: string[] = [];
  readonly #sandbox: Sandbox;

  constructor(sandbox: Sandbox, key: string) {
    this.#sandbox = sandbox;
    this.key = key;
  }

  /** Starts the proxy until the test ends. Returns its base URL. */
  async open(): Promise<string> {
    const { url, close } = await listen(async (request, response) => {
      const key = request.headers.authorization?.replace('Bearer ', '') ?? '';
      this.seen.push(key);
      let body = '';
      for await (const chunk of request) body += chunk;
      const { method = 'GET', url: path = '' } = request;
      const forwarded = await fetch(new URL(path, this.#sandbox.url), {
        method,
        headers: {
          authorization: `Bearer ${key === this.key ? this.#sandbox.liveKey : 'rejected'}`,
          'content-type': 'application/json',
        },
        ...(method === 'POST' ? { body } : {}),
      });
      response.writeHead(forwarded.status, { 'content-type': 'application/json' });
      response.end(await forwarded.text());
    });
    onTestFinished(close);
    return `${url}/api/v1`;
  }
}
