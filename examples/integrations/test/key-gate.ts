import type { Sandbox } from 'payment-collection-client/sandbox';
import { onTestFinished } from 'vitest';
import { listening } from './listening.ts';

/** The sandbox behind a gate that takes one key at a time, as a service does whose key was rotated. */
export class KeyGate {
  /** The key that is taken from now on. */
  key: string;
  /** Each key that came in, in order. */
  readonly seen: string[] = [];
  readonly #sandbox: Sandbox;

  constructor(sandbox: Sandbox, key: string) {
    this.#sandbox = sandbox;
    this.key = key;
  }

  /** The base URL of the gate, until the test ends. */
  async open(): Promise<string> {
    const { url, close } = await listening(async (request, response) => {
      const key = request.headers.authorization?.replace('Bearer ', '') ?? '';
      this.seen.push(key);
      let body = '';
      for await (const chunk of request) body += chunk;
      const { method = 'GET', url: path = '' } = request;
      const answer = await fetch(new URL(path, this.#sandbox.url), {
        method,
        headers: {
          authorization: `Bearer ${key === this.key ? this.#sandbox.liveKey : 'refused'}`,
          'content-type': 'application/json',
        },
        ...(method === 'POST' ? { body } : {}),
      });
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(await answer.text());
    });
    onTestFinished(close);
    return `${url}/api/v1`;
  }
}
