import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { pickWeighted, seededRandom } from '../seeded-random.ts';
import { type Charge, json, reset } from '../service.ts';
import { type PaymentLife, type Reading, readPayment, startLife } from './payment-life.ts';

/** How often the service responds to a check in each way, in percent. */
const checkWeights = {
  ok: 76,
  /** With a `Retry-After`, as every response can have. */
  'ok, later': 1,
  /** In time. */
  'slow body': 2,
  'body too slow': 1,
  'body cut short': 2,
  'reset before': 2,
  'reset after': 2,
  hang: 1,
  '500': 2,
  '502 HTML': 2,
  '503': 1.5,
  '408': 1.5,
  '429': 0.4,
  '404': 1,
  '400': 0.6,
  'HTML as JSON': 1.5,
  'no body': 1.5,
  'status false': 1,
};

type CheckKind = keyof typeof checkWeights;

/** A request for a status, as the service saw it. Times are in milliseconds since 1970. */
export interface Get {
  readonly reference: string;
  /** The process that sent it. */
  readonly generation: number;
  readonly at: number;
  readonly kind: CheckKind;
  /** When the last byte of the response was sent; `at` if there was no whole response. */
  endedAt: number;
  /** In milliseconds. */
  readonly retryAfter: number;
  /** What a whole response said. */
  told: Reading | 'not found' | undefined;
}

interface VerifyOptions {
  readonly seed: number;
  /** The deadline of the follow-ups, in milliseconds. */
  readonly deadline: number;
  /** The timeout of one check, in milliseconds. */
  readonly timeout: number;
  /** How many payments have no more faults in the last third before the deadline, from 0 to 1. */
  readonly calm: number;
  onRequest(point: 'request received' | 'response sent', generation: number): void;
  /** A payment has become final, or a webhook says so. */
  onWebhook(reference: string, at: number): void;
}

/** The part of the service that says how payments are. It is in the harness's own process, which is never killed. */
export class VerifyService {
  readonly gets: Get[] = [];
  readonly #options: VerifyOptions;
  readonly #lives = new Map<string, PaymentLife>();
  readonly #counts = new Map<string, number>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(options: VerifyOptions) {
    this.#options = options;
  }

  readonly onCharge = (charge: Charge): void => {
    const { seed, deadline } = this.#options;
    const life = startLife(seed, charge, deadline);
    this.#lives.set(charge.reference, life);
    this.#planWebhook(life);
  };

  lifeOf(reference: string): PaymentLife | undefined {
    return this.#lives.get(reference);
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  readonly onVerify = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { seed, onRequest } = this.#options;
    const reference = decodeURIComponent(request.url?.split('/').at(-1) ?? '');
    const generation = Number(request.headers['x-generation']);
    const life = this.#lives.get(reference);
    if (!life) throw new Error(`A process checked ${reference}, which was never charged.`);
    const count = (this.#counts.get(reference) ?? 0) + 1;
    this.#counts.set(reference, count);
    const at = Date.now();
    const kind = this.#pickKind(life, count, at);
    const retryAfter = kind === '429' || kind === '503' || kind === 'ok, later' ? 1_000 : 0;
    const get: Get = { reference, generation, at, kind, endedAt: at, retryAfter, told: undefined };
    this.gets.push(get);
    response.once('finish', () => onRequest('response sent', generation));
    onRequest('request received', generation);
    await sleep(seededRandom(seed, 'check delay', reference, count) * 10);
    await this.#respond(get, life, request, response);
  };

  #pickKind({ charge, chargedAt }: PaymentLife, count: number, at: number): CheckKind {
    const { seed, deadline, calm } = this.#options;
    const isCalm = seededRandom(seed, 'calm', charge.key) < calm;
    if (isCalm && at - chargedAt > 0.6 * deadline) return 'ok';
    return pickWeighted(checkWeights, seededRandom(seed, 'check', charge.reference, count));
  }

  async #respond(get: Get, life: PaymentLife, request: IncomingMessage, response: ServerResponse) {
    const { timeout } = this.#options;
    const reading = readPayment(life, Date.now());
    const { key } = life.charge;
    const body = reading ? successBody(key, reading) : { status: false, message: 'No such transaction' };
    const text = JSON.stringify(body);
    const status = reading ? 200 : 404;
    /** Nothing of it is taken back: the service has said it from now on. */
    const tell = () => {
      get.told = reading ?? 'not found';
      get.endedAt = Date.now();
    };
    const headers = get.retryAfter > 0 ? { 'retry-after': String(get.retryAfter / 1_000) } : {};
    // A service might repeat what it was sent: none of it may get into a record.
    const echo = { message: 'Failed', ...request.headers, customer: createCustomer(key) };
    const end = (code: number, type: string, content: string) => {
      get.endedAt = Date.now();
      response.writeHead(code, { 'content-type': type, ...headers }).end(content);
    };
    switch (get.kind) {
      case 'ok':
      case 'ok, later':
        tell();
        return end(status, 'application/json', text);
      case 'slow body':
        return dribble(response, status, text, 0.3 * timeout, tell);
      case 'body too slow':
        if (!reading) tell();
        return dribble(response, status, text, 3 * timeout, () => {});
      case 'body cut short':
        // A client that got the headers knows of the 404, whatever becomes of the body.
        if (!reading) tell();
        response.writeHead(status, { 'content-type': 'application/json', 'content-length': text.length });
        response.write(text.slice(0, text.length / 2));
        await sleep(5);
        return reset(response);
      case 'reset before':
        return reset(response);
      case 'reset after':
        if (!reading) tell();
        response.writeHead(status, { 'content-type': 'application/json', 'content-length': text.length });
        response.flushHeaders();
        await sleep(5);
        return reset(response);
      case 'hang':
        return;
      case '500':
      case '503':
      case '408':
      case '429':
      case '400':
        return end(Number(get.kind), 'application/json', JSON.stringify(echo));
      case '404':
        get.told = 'not found';
        return end(404, 'application/json', JSON.stringify(echo));
      case '502 HTML':
        return end(502, 'text/html', `<h1>Bad gateway</h1><pre>${JSON.stringify(echo)}</pre>`);
      case 'HTML as JSON':
        return end(200, 'application/json', `<html>${JSON.stringify(echo)}</html>`);
      case 'no body':
        return end(200, 'application/json', '');
      case 'status false':
        return json(response, 200, { status: false, ...echo });
    }
  }

  /** Webhooks come for one payment in five: when it is final, and for one in twenty too early. */
  #planWebhook({ charge, chargedAt, finalAt, finalStatus }: PaymentLife): void {
    const { seed, deadline, onWebhook } = this.#options;
    const at = seededRandom(seed, 'webhook', charge.key);
    if (at >= 0.25) return;
    const isEarly = at >= 0.2 || finalStatus === undefined;
    const delay = isEarly ? at * 4 * deadline : finalAt - chargedAt;
    const timer = setTimeout(() => onWebhook(charge.reference, at * 4), delay);
    this.#timers.add(timer);
  }
}

async function dribble(
  response: ServerResponse,
  status: number,
  text: string,
  time: number,
  tell: () => void,
) {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': text.length });
  const parts = 4;
  const size = Math.ceil(text.length / parts);
  for (let part = 0; part < parts; part++) {
    await sleep(time / parts);
    if (response.destroyed) return;
    if (part === parts - 1) tell();
    response.write(text.slice(part * size, (part + 1) * size));
  }
  response.end();
}

function createCustomer(key: string) {
  return { customer_email: `${key}@example.com`, phone: '024 412 3456' };
}

function successBody(key: string, { reference, status, amount, currency, isFinal }: Reading) {
  const paid_at = isFinal && status === 'success' ? '2026-11-22T10:00:00+00:00' : null;
  return { status: true, data: { reference, status, amount, currency, paid_at, ...createCustomer(key) } };
}
