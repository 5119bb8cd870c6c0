/**
 * The service, as freely as its description leaves it, and the network before it. It keeps a ledger of its own, which the shop is
 * compared with.
 */

import { channel } from 'node:diagnostics_channel';
import { type Host, hosts, type VirtualClock } from './clock.ts';
import { Random } from './random.ts';
import type { Swarm } from './swarm.ts';

export type Status = 'pending' | 'processing' | 'success' | 'failed' | 'abandoned';

/** A charge that the service made. */
export interface Charge {
  readonly reference: string;
  /** Who asked for it: the email of the request names the order and the press. */
  readonly order: string;
  readonly press: string;
  readonly phone: string | undefined;
  readonly amount: string;
  /** What the shop asked for. */
  readonly asked: string;
  readonly currency: string;
  readonly acceptedAt: number;
  readonly history: { readonly at: number; readonly status: Status }[];
}

/** A POST that left a process. */
export interface Post {
  readonly requestId: string;
  readonly order: string;
  readonly press: string;
  readonly sender: string | undefined;
  readonly calledAt: number;
  readonly sentAt: number;
  /** Of the charge that it made, or that it was answered with. */
  reference: string | undefined;
}

interface Request {
  readonly url: string;
  readonly isPost: boolean;
  readonly requestId: string;
  readonly body: { amount: number; customer_email: string; phone?: string; currency?: string };
  readonly calledAt: number;
  readonly host: Host | undefined;
  readonly signal: AbortSignal | null | undefined;
  readonly resolve: (response: Response) => void;
  readonly reject: (error: unknown) => void;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
}

/** What the service and the network tell the world. */
export interface ServiceListeners {
  /** A process is about to send, or has just sent. */
  readonly onHotSpot: (place: 'before a request leaves' | 'after a request left', host: Host) => void;
  readonly onSent: (post: Post) => void;
  readonly onAccepted: (charge: Charge) => void;
  readonly onChanged: (charge: Charge) => void;
  readonly say: (line: string) => void;
}

export const statusOf = ({ history }: Charge): Status => history.at(-1)?.status ?? 'pending';

export const isOpen = (charge: Charge) => ['pending', 'processing'].includes(statusOf(charge));

function findPress({ body }: Request): Pick<Post, 'order' | 'press'> {
  const [order = '', press = ''] = body.customer_email.replace(/@.*/, '').split('.');
  return { order, press };
}

const sendHeaders = channel('undici:client:sendHeaders');

export class SimulatedService {
  readonly charges: Charge[] = [];
  readonly posts: Post[] = [];
  /** The presses that a process has begun to connect for: it cannot know for all of them whether anything left. */
  readonly begun = new Set<string>();
  /** The transactions of which a check was told something old or unknown. */
  readonly misreported = new Set<string>();
  readonly #clock: VirtualClock;
  readonly #random: Random;
  readonly #swarm: Swarm;
  readonly #suppresses: 'equal' | 'any';
  readonly #listeners: ServiceListeners;

  constructor(seed: number, clock: VirtualClock, swarm: Swarm, listeners: ServiceListeners) {
    this.#clock = clock;
    this.#random = Random.of(seed, 'service');
    this.#swarm = swarm;
    this.#listeners = listeners;
    this.#suppresses = this.#random.pick(['equal', 'any'] as const);
  }

  find = (reference: string | undefined) =>
    this.charges.find((charge) => charge.reference === reference?.toUpperCase());

  move(charge: Charge, status: Status): void {
    if (statusOf(charge) === status) return;
    charge.history.push({ at: this.#clock.now, status });
    this.#listeners.say(`service: ${charge.reference} (${charge.order}) is ${status}`);
    this.#swarm.count(`status: ${status}`);
    this.#listeners.onChanged(charge);
  }

  // The network

  readonly fetch: typeof globalThis.fetch = (input, init) =>
    new Promise((resolve, reject) => {
      const signal = init?.signal;
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      const request: Request = {
        url: String(input),
        isPost: init?.method === 'POST',
        requestId: new Headers(init?.headers).get('x-request-id') ?? '',
        body: init?.method === 'POST' ? JSON.parse(String(init.body)) : {},
        calledAt: this.#clock.now,
        host: hosts.getStore(),
        signal,
        resolve,
        reject,
      };
      if (request.isPost) this.begun.add(findPress(request).press);
      const isSlow = this.#swarm.happens('network: slow to connect', 0.1);
      if (this.#swarm.happens('network: refused', 0.1))
        this.#fail(request, 'ECONNREFUSED', 'connect ECONNREFUSED');
      else this.#connect(request, this.#random.between(0, isSlow ? 40_000 : 5));
    });

  #connect(request: Request, delay: number): void {
    const { host, signal } = request;
    this.#clock.deliver(host, delay, () => {
      if (signal?.aborted) return;
      if (host && request.isPost) this.#listeners.onHotSpot('before a request leaves', host);
      if (host?.isDead) return;
      if (host && host.frozenUntil > this.#clock.now) return this.#connect(request, 0);
      this.#leave(request);
    });
  }

  /** A process can keep a request back until right before its headers are written. */
  #leave(request: Request): void {
    const { isPost, requestId, body, host, signal, calledAt } = request;
    sendHeaders.publish({ request: { headers: ['x-request-id', requestId] } });
    if (signal?.aborted) return;
    let post: Post | undefined;
    if (isPost) {
      const sentAt = this.#clock.now;
      post = { requestId, ...findPress(request), sender: host?.name, calledAt, sentAt, reference: undefined };
      this.posts.push(post);
      this.#listeners.say(
        `${host?.name}: sends ${post.press} ${requestId.slice(-4)} ${body.phone ?? 'page'}`,
      );
      this.#listeners.onSent(post);
    }
    this.#clock.after(this.#latency(), () => this.#arrive(request, post));
    if (host && isPost) this.#listeners.onHotSpot('after a request left', host);
  }

  #latency(): number {
    return this.#random.between(1, this.#swarm.happens('network: slow', 0.1) ? 28_000 : 400);
  }

  #fail({ host, reject }: Request, code: string, message: string): void {
    const cause = Object.assign(new Error(message), { code });
    this.#clock.deliver(host, this.#latency(), () => reject(new TypeError('fetch failed', { cause })));
  }

  #arrive(request: Request, post: Post | undefined): void {
    const swarm = this.#swarm;
    const lose = () => this.#fail(request, 'ECONNRESET', 'read ECONNRESET');
    if (swarm.happens('network: reset before the service', 0.05)) return void lose();
    const answer = this.#refuse(request) ?? (post ? this.#charge(request, post) : this.#verify(request));
    const often = post ? 0.1 : 0.03;
    if (swarm.happens('network: response lost', often)) return void lose();
    if (swarm.happens('network: no response', often)) return;
    if (post) this.#listeners.say(`service: ${answer.status} to ${post.press} ${post.reference ?? ''}`);
    this.#answer(request, answer);
  }

  #answer({ host, resolve }: Request, { status, body, headers }: Answer): void {
    const swarm = this.#swarm;
    const isCut = swarm.happens('response: cut', 0.05);
    const isSlow = swarm.happens('response: slow', 0.05);
    const isHuge = swarm.happens('response: huge', 0.01);
    const text = JSON.stringify(body) + (isHuge ? ' '.repeat(1_100_000) : '');
    const init = { status, ...(headers && { headers }) };
    if (!isCut && !isSlow) {
      this.#clock.deliver(host, this.#latency(), () => resolve(new Response(text, init)));
      return;
    }
    const half = Math.floor(text.length / 2);
    const bytes = new TextEncoder().encode(text);
    this.#clock.deliver(host, this.#latency(), () => {
      const stream = new ReadableStream<Uint8Array>({
        start: (controller) => {
          controller.enqueue(bytes.subarray(0, half));
          this.#clock.deliver(host, isSlow ? this.#random.between(1_000, 40_000) : 5, () => {
            if (isCut) return controller.error(new TypeError('terminated'));
            controller.enqueue(bytes.subarray(half));
            controller.close();
          });
        },
      });
      resolve(new Response(stream, init));
    });
  }

  // The service

  /** Says no before it does anything. */
  #refuse({ isPost, body }: Request): Answer | undefined {
    const swarm = this.#swarm;
    if (swarm.happens('service: unavailable', 0.07))
      return { status: 503, body: { status: false, message: 'later' } };
    if (swarm.happens('service: API key refused', 0.03))
      return { status: 401, body: { status: false, message: 'unknown key' } };
    if (swarm.happens('service: rate limit', 0.05))
      return { status: 429, body: { status: false }, headers: { 'retry-after': '2' } };
    if (!isPost) return undefined;
    if (swarm.happens('service: rejects', 0.1))
      return { status: 422, body: { status: false, message: 'wrong number' } };
    const other = this.charges.find(({ phone }) => phone === body.phone);
    if (other && swarm.happens('service: rejects and names another', 0.4))
      return { status: 409, body: { status: false, message: `see ${other.reference}` } };
    return undefined;
  }

  #charge({ url, body }: Request, post: Post): Answer {
    const { phone, currency = 'GHS' } = body;
    const { order, press } = post;
    const asked = body.amount.toFixed(2);
    const twin = this.#findTwin(phone, asked);
    const isOther = this.#swarm.happens('service: charges another amount', 0.25);
    const charge: Charge = twin ?? {
      reference: `TXN-${String(this.charges.length + 1).padStart(6, '0')}`,
      order,
      press,
      phone,
      amount: isOther ? '9.00' : asked,
      asked,
      currency,
      acceptedAt: this.#clock.now,
      history: [{ at: this.#clock.now, status: phone ? 'processing' : 'pending' }],
    };
    const { reference } = charge;
    post.reference = reference;
    this.#listeners.say(`service: ${twin ? 'has' : 'makes'} ${reference} for ${press}`);
    if (!twin) {
      this.charges.push(charge);
      this.#plan(charge);
      this.#listeners.onAccepted(charge);
    }
    if (this.#swarm.happens('service: error after acceptance', 0.1))
      return { status: this.#random.pick([500, 502, 504]), body: { status: false } };
    if (this.#swarm.happens('service: error with reference', 0.1))
      return { status: 500, body: { status: false, data: { reference } } };
    const amount = this.#swarm.happens('service: shows another amount', 0.15) ? '3.00' : charge.amount;
    const more = url.endsWith('initialize')
      ? { checkout_url: `https://pay.example/checkout/${reference}` }
      : { status: 'processing' };
    return {
      status: 200,
      body: { status: true, message: 'sent', data: { reference, amount, currency, ...more } },
    };
  }

  #findTwin(phone: string | undefined, amount: string): Charge | undefined {
    const isTwin = (charge: Charge) =>
      charge.phone === phone &&
      (this.#suppresses === 'any' || charge.asked === amount) &&
      this.#clock.now - charge.acceptedAt < 60_000 &&
      isOpen(charge);
    const twin = phone === undefined ? undefined : this.charges.find(isTwin);
    return twin && this.#swarm.happens('service: suppresses a duplicate', 1) ? twin : undefined;
  }

  /** The customer approves, declines, forgets, or pays after all. */
  #plan(charge: Charge): void {
    const random = this.#random;
    const first = random.pick(['success', 'success', 'failed', 'abandoned', 'pending'] as const);
    const delay = random.chance(0.7) ? random.between(500, 60_000) : random.between(60_000, 600_000);
    this.#clock.after(delay, () => {
      this.move(charge, first);
      if (first !== 'failed' && first !== 'abandoned') return;
      if (this.#swarm.happens('service: paid after its end', 0.5))
        this.#clock.after(random.between(500, 600_000), () => this.move(charge, 'success'));
    });
  }

  #verify({ url }: Request): Answer {
    const swarm = this.#swarm;
    const charge = this.find(url.slice(url.lastIndexOf('/') + 1));
    const age = charge && this.#clock.now - charge.acceptedAt;
    const isUnknown =
      age === undefined || (age < 30_000 && swarm.happens('service: not found at first', 0.5));
    if (!charge || isUnknown) return { status: 404, body: { status: false, message: 'not found' } };
    const { reference, amount, currency, history } = charge;
    const isOld = history.length > 1 && swarm.happens('service: old status', 0.1);
    const known = isOld ? (history.at(-2)?.status ?? 'pending') : statusOf(charge);
    const status = swarm.happens('service: unknown status', 0.03) ? 'queued' : known;
    if (status !== statusOf(charge)) this.misreported.add(reference);
    const paid_at = status === 'success' ? '2026-11-01T10:15:00+00:00' : null;
    const data = { reference, status, amount, currency, customer_email: 'ama@example.com', paid_at };
    return { status: 200, body: { status: true, data } };
  }
}
