import { onTestFinished } from 'vitest';
import { PaymentsClient, type PaymentsClientOptions } from '../../../src/index.ts';
import { type SandboxOptions, startSandbox } from '../../../src/sandbox/index.ts';

export const payment = { amount: '25.50', customer_email: 'ama.serwaa@example.com' } as const;
export const charge = { ...payment, phone: '024 412 3456', network: 'mtn' } as const;

/** Markup where a shop lets its customers type what they like. */
export const hostile = {
  customer_email: '<img/src=x/onerror=alert(1)>@example.com',
  phone: '"><img src=x onerror=alert(1)> 1',
};

/** A sandbox that ends with the test, a client of it that retries nothing, and what a browser would send. */
export async function start(options?: SandboxOptions) {
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
  /** Presses a button: a form that is posted from a page of this origin, unless another is named. */
  const press = (path: string, fields: Record<string, string> = {}, origin: string | null = sandbox.url) =>
    fetch(sandbox.url + path, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: origin === null ? {} : { origin },
      redirect: 'manual',
    });
  return { sandbox, client, payments: client(), page, press };
}

/** What a page that moves is told, event by event, until the test ends. */
export async function* newsFrom(address: string): AsyncGenerator<string> {
  const leave = new AbortController();
  onTestFinished(() => leave.abort());
  const { body } = await fetch(address, { signal: leave.signal });
  let text = '';
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    yield* events;
  }
}

/** The first event that tells of something. */
export async function newsOf(news: AsyncGenerator<string>, sought: string): Promise<string> {
  for (;;) {
    const { value, done } = await news.next();
    if (done) throw new Error(`The news ended without ${sought}.`);
    if (value.includes(sought)) return value;
  }
}
