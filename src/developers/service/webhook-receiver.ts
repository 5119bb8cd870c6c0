import { redactUnknownSecrets } from '../../support/redact.ts';
import { sanitizeError } from '../../support/sanitize-error.ts';
import { DeadlineExceeded, withTimeout } from '../../support/timing.ts';
import { isObject, orUndefined } from '../../support/untrusted.ts';
import { isHttpAddress } from './validate-request.ts';
import type { WebhookAttempt, WebhookReceiver } from './webhook-delivery.ts';

/** One request to a receiver, before it is sent. */
interface WebhookMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

export type Reception = Pick<WebhookAttempt, 'status' | 'body' | 'error'>;

export interface Receiver {
  /** Its address without a user name and a password, or `'handler'`. */
  readonly url: string;
  /** Sends one request, and returns what came of it. It never rejects, and takes no longer than `timeout`. */
  post(message: WebhookMessage, timeout: number, signal: AbortSignal): Promise<Reception>;
}

/** Whether a request was accepted. A handler can accept without a response. */
export function isAccepted({ status, error }: Reception): boolean {
  return error === null && (status === null || (status >= 200 && status <= 299));
}

/** Of the body of a response, no more than this is kept. */
const MAX_REPLY_CHARS = 4_096;
const MAX_ERROR_CHARS = 200;
/** A `Request` needs an address. No request is sent to this one. */
const HANDLER_URL = 'http://localhost/webhooks';

/** @throws {TypeError} if it is neither a function nor an http or https address */
export function createReceiver(receiver: WebhookReceiver): Receiver {
  return typeof receiver === 'function' ? createHandlerReceiver(receiver) : createHttpReceiver(receiver);
}

function createHandlerReceiver(handler: (request: Request) => unknown): Receiver {
  return {
    url: 'handler',
    post: ({ headers, body }, timeout, lifetime) =>
      receive(timeout, lifetime, describeThrown, async () =>
        handler(new Request(HANDLER_URL, { method: 'POST', headers, body })),
      ),
  };
}

function createHttpReceiver(address: string): Receiver {
  if (!isHttpAddress(address)) {
    // An address can contain a password, so it is not shown.
    throw new TypeError('A receiver of webhooks must be an http or https address, a function, or null.');
  }
  const url = new URL(address);
  // fetch refuses an address with a user name.
  const authorization = createAuthorization(url);
  url.username = '';
  url.password = '';
  url.hash = '';
  return {
    url: url.href,
    post: ({ headers, body }, timeout, lifetime) =>
      receive(timeout, lifetime, describeConnectionError, (signal) =>
        fetch(url, {
          method: 'POST',
          headers: { ...headers, ...authorization },
          body,
          signal,
          redirect: 'manual',
        }),
      ),
  };
}

function createAuthorization({ username, password }: URL): { authorization?: string } {
  if (username === '' && password === '') return {};
  const [user, pass] = [username, password].map(
    (text) => orUndefined(() => decodeURIComponent(text)) ?? text,
  );
  const bytes = new TextEncoder().encode(`${user}:${pass}`);
  return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` };
}

async function receive(
  timeout: number,
  lifetime: AbortSignal,
  describe: (error: unknown) => string,
  send: (signal: AbortSignal) => Promise<unknown>,
): Promise<Reception> {
  const reception: Writable<Reception> = { status: null, body: null, error: null };
  try {
    await withTimeout(timeout, lifetime, async (signal) => {
      const response = await send(signal);
      // Too late, its body is not read.
      if (signal.aborted || !isResponse(response)) return;
      if (response.status === 0) throw new Error('The response is an error.');
      reception.status = response.status;
      reception.body = '';
      reception.body = (await response.text()).slice(0, MAX_REPLY_CHARS);
    });
  } catch (error) {
    // A status counts, also if the body after it breaks or has no end.
    if (reception.status === null) {
      const text = error instanceof DeadlineExceeded ? `No response within ${timeout} ms.` : describe(error);
      reception.error = text.slice(0, MAX_ERROR_CHARS);
    }
  }
  return reception;
}

/** What a `Response` has, also one of another realm or library. */
interface ResponseLike {
  readonly status: number;
  text(): Promise<string>;
}

function isResponse(value: unknown): value is ResponseLike {
  return isObject(value) && 'status' in value && Number.isInteger(value.status) && 'text' in value;
}

/** Describes what a handler threw. It is the merchant's own code, and can name a customer. */
function describeThrown(thrown: unknown): string {
  const { name, message } = sanitizeError(thrown, redactUnknownSecrets);
  return `${name}: ${message}`;
}

/** Describes why there is no response, without the address: it can contain a token. */
function describeConnectionError(thrown: unknown): string {
  const { cause } = sanitizeError(thrown, redactUnknownSecrets);
  const code = isObject(cause) && 'code' in cause ? String(cause.code) : '';
  return /^[A-Z][A-Z\d_]+$/.test(code) ? `The connection failed: ${code}.` : 'The connection failed.';
}
