import { connect } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../../src/developers/sandbox/index.ts';
import { PaymentsClient, type PaymentsClientOptions } from '../../../../src/index.ts';
import { checkEveryExchange } from '../../../helpers/openapi/check-every-exchange.ts';
import { PATIENCE } from '../../../helpers/patience.ts';
import { charge, payment } from '../../../helpers/service.ts';
import { createTempFolder } from '../../../helpers/temp-folder.ts';

export { charge, payment };

/** Customer data with markup in it, from a shop that does not validate it. */
export const hostile = {
  customer_email: '<img/src=x/onerror=alert(1)>@example.com',
  phone: '"><img src=x onerror=alert(1)> 1',
};

/** Starts a sandbox for one test, with a client that does not retry, and with what a browser would send. */
export async function startTestSandbox(options?: SandboxOptions) {
  checkEveryExchange();
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  const client = (more: PaymentsClientOptions = {}) => {
    const payments = new PaymentsClient({
      baseUrl: sandbox.baseUrl,
      apiKey: sandbox.liveKey,
      maxRetries: 0,
      polling: { initialDelay: 20, minDelay: 20, maxDelay: 50 },
      ...more,
    });
    onTestFinished(() => payments.close());
    return payments;
  };
  const page = async (path: string) => (await fetch(sandbox.url + path)).text();
  /** Presses a button: posts a form, from a page of the sandbox's own origin by default. */
  const press = (path: string, fields: Record<string, string> = {}, origin: string | null = sandbox.url) =>
    fetch(sandbox.url + path, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: origin === null ? {} : { origin },
      redirect: 'manual',
    });
  return { sandbox, client, payments: client(), page, press };
}

/** Sends a GET to the API many times over one connection, without the cost of a client. Returns all that comes back. */
export async function getRepeatedly(
  { baseUrl, liveKey }: Pick<Sandbox, 'baseUrl' | 'liveKey'>,
  path: string,
  count: number,
): Promise<string> {
  const { host, hostname, port, pathname } = new URL(baseUrl);
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  const head = [`GET ${pathname}${path} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${liveKey}`];
  socket.end(`${head.join('\r\n')}\r\n\r\n`.repeat(count));
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text;
}

/** Returns the path of a state file that does not exist yet. It is deleted when the test ends. */
export function createStatePath(): string {
  const folder = createTempFolder();
  onTestFinished(folder.remove);
  return join(folder.path, 'state.db');
}

/** Yields the server-sent events of a page, until the test ends. */
export async function* receiveEvents(address: string): AsyncGenerator<string> {
  const disconnect = new AbortController();
  onTestFinished(() => disconnect.abort());
  const { body } = await fetch(address, { signal: disconnect.signal });
  let text = '';
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    yield* events;
  }
}

/** Returns the next event that contains a text. */
export async function findEvent(events: AsyncGenerator<string>, text: string): Promise<string> {
  const tooLate = Promise.withResolvers<never>();
  const timer = setTimeout(() => tooLate.reject(new Error(`There was no event with ${text}.`)), PATIENCE);
  try {
    for (;;) {
      const { value, done } = await Promise.race([events.next(), tooLate.promise]);
      if (done) throw new Error(`The events ended without ${text}.`);
      if (value.includes(text)) return value;
    }
  } finally {
    clearTimeout(timer);
  }
}
