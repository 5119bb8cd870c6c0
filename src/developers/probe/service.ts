import { randomUUID } from 'node:crypto';
import * as http from 'node:http';
import * as https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { findReferences } from '../../api/find-references.ts';
import { isRecord, parseJson, stringField } from '../../support/untrusted.ts';

/** What an assumption's check needs has not been there. The message says why. */
export class NotShown extends Error {}

/** The probe cannot begin: the address or the API key cannot be used. The message says what to change. */
export class ProbeError extends Error {}

export interface ProbeAccess {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly readsOnly: boolean;
  readonly signal: AbortSignal;
  /** Of one request, in milliseconds. */
  readonly timeout: number;
  /** How long the service has to show what it knows, in milliseconds. */
  readonly grace: number;
  /** Between the starts of two requests, in milliseconds. */
  readonly interval: number;
  /** How long an idle connection has to stay open, in milliseconds. */
  readonly idleTime: number;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
  /** The fields of the transaction, in an envelope or not. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly reference: string | undefined;
  /** When it was there, in epoch milliseconds. */
  readonly at: number;
}

interface SentRequest {
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly apiKey?: string | null;
}

const MAX_TRANSACTIONS = 12;

export const SMALLEST = { amount: 1, currency: 'GHS' } as const;

export const isRefusal = ({ status }: Reply) =>
  status >= 400 && status < 500 && status !== 408 && status !== 429;

/** The service over plain HTTP: slowly, and with nothing in a request but what a check puts there. */
export class Service {
  readonly options: ProbeAccess;
  readonly nobodys = `TXN-PROBE${randomUUID().slice(0, 8)}`;
  readonly refusals: Reply[] = [];
  /** The responses that name a transaction, each of another one. */
  readonly payments: Reply[] = [];
  transactions = 0;
  #nextAt = 0;
  #emails = 0;

  constructor(options: ProbeAccess) {
    this.options = options;
  }

  get(reference: string, sent: SentRequest = {}): Promise<Reply> {
    return this.#send('GET', `verify/${encodeURIComponent(reference)}`, sent);
  }

  /** Creates the smallest payment, but for what `body` changes. */
  initialize(body: object = {}, sent: SentRequest = {}): Promise<Reply> {
    return this.#post('initialize', { ...SMALLEST, customer_email: this.newEmail(), ...body }, sent);
  }

  /** No phone has this number. */
  charge(): Promise<Reply> {
    const phone = { phone: '0000000000', network: 'mtn' };
    return this.#post('charge-mobile-money', { ...SMALLEST, ...phone, customer_email: this.newEmail() });
  }

  newEmail(): string {
    return `probe-${++this.#emails}@probe.example`;
  }

  /** Reads until `isEnough`, or until the limit has passed. */
  async poll(
    reference: string,
    isEnough: (reply: Reply) => boolean,
    limit = this.options.grace,
  ): Promise<{ reply: Reply; took: number }> {
    let startedAt: number | undefined;
    for (;;) {
      const reply = await this.get(reference);
      startedAt ??= performance.now();
      const took = performance.now() - startedAt;
      if (isEnough(reply) || took >= limit) return { reply, took };
      await this.sleep(Math.min(500, limit / 4));
    }
  }

  async sleep(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.options.signal });
  }

  /** Watches an idle connection for `idleTime`, or as long as the service announces less a second, as `fetch` keeps it. */
  async watchIdleConnection(): Promise<{
    announced: string | undefined;
    watched: number;
    isClosed: boolean;
  }> {
    const { baseUrl, apiKey, idleTime, timeout } = this.options;
    await this.#takeTurn();
    const { Agent, request } = baseUrl.startsWith('https:') ? https : http;
    const agent = new Agent({ keepAlive: true });
    const headers = { authorization: `Bearer ${apiKey}` };
    const url = `${baseUrl}/transactions/verify/${this.nobodys}`;
    const signal = this.#limit(timeout + idleTime);
    return new Promise<Awaited<ReturnType<Service['watchIdleConnection']>>>((resolve, reject) => {
      const sent = request(url, { agent, headers, signal }, (response) => {
        const { connection, 'keep-alive': keepAlive } = response.headers;
        const [announced, seconds = 1] =
          /close|timeout=(\d{1,5})/i.exec(`${connection} ${keepAlive}`.toLowerCase()) ?? [];
        const watched = announced ? Math.min(idleTime, Math.max(0, Number(seconds) - 1) * 1000) : idleTime;
        const end = (isClosed: boolean) => resolve({ announced, watched, isClosed });
        const timer = setTimeout(end, watched, false);
        response.resume().socket.once('close', () => {
          clearTimeout(timer);
          end(watched > 0);
        });
      });
      sent.on('error', reject).end();
    }).finally(() => agent.destroy());
  }

  #limit(timeout: number): AbortSignal {
    return AbortSignal.any([this.options.signal, AbortSignal.timeout(timeout)]);
  }

  async #takeTurn(): Promise<void> {
    await this.sleep(Math.max(0, this.#nextAt - performance.now()));
    this.#nextAt = performance.now() + this.options.interval;
  }

  async #post(operation: string, body: object, sent: SentRequest = {}): Promise<Reply> {
    if (this.options.readsOnly) throw new NotShown('with --live it only reads');
    if (this.transactions >= MAX_TRANSACTIONS)
      throw new NotShown(`${MAX_TRANSACTIONS} transactions are the most`);
    // Until the response says otherwise, there is one.
    this.transactions++;
    const reply = await this.#send('POST', operation, { body, ...sent });
    if (isRefusal(reply)) this.refusals.push(reply);
    const isKnown = this.payments.some(({ reference }) => reference === reply.reference);
    if (isKnown || (isRefusal(reply) && reply.reference === undefined)) this.transactions--;
    else if (reply.reference !== undefined) this.payments.push(reply);
    return reply;
  }

  async #send(method: string, path: string, sent: SentRequest): Promise<Reply> {
    const { body, headers, apiKey = this.options.apiKey } = sent;
    const { baseUrl, timeout } = this.options;
    await this.#takeTurn();
    const response = await fetch(`${baseUrl}/transactions/${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: this.#limit(timeout),
    });
    const text = await response.text();
    const json = parseJson(text);
    const envelope = isRecord(json) ? json : {};
    const data = isRecord(envelope.data) ? envelope.data : envelope;
    const reference = stringField(data, 'reference') ?? findReferences(text)[0];
    return {
      status: response.status,
      headers: response.headers,
      text,
      json,
      data,
      reference,
      at: Date.now(),
    };
  }
}

const CAUSES: readonly (readonly [RegExp, string])[] = [
  [/timeout/i, 'does not respond in time'],
  [/ENOTFOUND|EAI_AGAIN/, 'has no such host name: look for a typing error'],
  [/ECONNREFUSED/, 'refuses the connection: is the port right, and does the service run?'],
  [
    /CERT|SIGNED|SIGNATURE/,
    'has a TLS certificate that is expired, of another host, or of an unknown authority',
  ],
  [/SSL|EPROTO|TLS/, 'does not speak TLS: is it an address with http, or a proxy?'],
  [/./, 'cannot be reached, cuts the connection, or does not speak HTTP'],
];

/** Says what keeps a response away, without a value of the request. */
export function explainFailure(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  // The code of a DOMException is a number.
  const codes: unknown[] = [Reflect.get(Object(cause), 'code'), Reflect.get(Object(cause), 'name')];
  const plain = codes.find((code) => typeof code === 'string' && /^\w{1,48}$/.test(code)) ?? 'Error';
  const [, words = ''] = CAUSES.find(([pattern]) => pattern.test(`${plain}`)) ?? [];
  return `${words} (${plain})`;
}
