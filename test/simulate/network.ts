/** The network between the processes of the shop and the service. It loses, delays and cuts what it carries. */

import { channel } from 'node:diagnostics_channel';
import { type Host, hosts } from './clock.ts';
import { Random } from './random.ts';
import type { Answer } from './service.ts';
import type { World } from './world.ts';

export interface Request {
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

/** A POST that left a process. */
export interface Post {
  readonly requestId: string;
  readonly order: string;
  readonly press: string;
  readonly sender: Host | undefined;
  readonly calledAt: number;
  readonly sentAt: number;
  /** Of the charge that it made, or that it was answered with. */
  reference: string | undefined;
  /** A whole response that named it reached the process that sent it. */
  isHeard: boolean;
}

const sendHeaders = channel('undici:client:sendHeaders');

function findPress({ body }: Request): Pick<Post, 'order' | 'press'> {
  const [order = '', press = ''] = body.customer_email.replace(/@.*/, '').split('.');
  return { order, press };
}

export class SimulatedNetwork {
  readonly posts: Post[] = [];
  readonly #world: World;
  readonly #random: Random;

  constructor(seed: number, world: World) {
    this.#world = world;
    this.#random = Random.of(seed, 'network');
  }

  readonly fetch: typeof globalThis.fetch = (input, init) =>
    new Promise((resolve, reject) => {
      const { swarm, clock, judge, facts } = this.#world;
      const signal = init?.signal;
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      const request: Request = {
        url: String(input),
        isPost: init?.method === 'POST',
        requestId: new Headers(init?.headers).get('x-request-id') ?? '',
        body: init?.method === 'POST' ? JSON.parse(String(init.body)) : {},
        calledAt: clock.now,
        host: hosts.getStore(),
        ...{ signal, resolve, reject },
      };
      judge('asked', request);
      const press = request.isPost && facts.presses.get(findPress(request).press);
      if (press) press.hasConnected = true;
      const isSlow = swarm.happens('network: slow to connect');
      if (swarm.happens('network: refused')) this.#fail(request, 'ECONNREFUSED');
      else this.#connect(request, this.#random.between(0, isSlow ? 40_000 : 5));
    });

  #connect(request: Request, delay: number): void {
    const { host, signal, isPost } = request;
    const { clock, harm } = this.#world;
    clock.deliver(host, delay, () => {
      if (signal?.aborted) return;
      if (host && isPost) harm(host, 0.2);
      if (host?.isDead) return;
      if (host && host.frozenUntil > clock.now) return this.#connect(request, 0);
      this.#leave(request);
    });
  }

  /** A process can keep a request back until right before its headers are written. */
  #leave(request: Request): void {
    const { isPost, requestId, body, host, signal, calledAt } = request;
    const { clock, say, judge, harm } = this.#world;
    sendHeaders.publish({ request: { headers: ['x-request-id', requestId] } });
    if (signal?.aborted) return;
    let post: Post | undefined;
    if (isPost) {
      const known = { requestId, ...findPress(request), sender: host, calledAt };
      post = { ...known, sentAt: clock.now, reference: undefined, isHeard: false };
      this.posts.push(post);
      say(`${host?.name}: sends ${post.press} ${requestId.slice(-4)} ${body.phone ?? 'page'}`);
      judge('sent', post);
    }
    clock.after(this.#takeLatency(), () => this.#arrive(request, post));
    if (host && isPost) harm(host, 0.1);
  }

  #takeLatency(): number {
    return this.#random.between(1, this.#world.swarm.happens('network: slow') ? 28_000 : 400);
  }

  #fail({ host, reject }: Request, code: string): void {
    const cause = Object.assign(new Error(code), { code });
    const error = new TypeError('fetch failed', { cause });
    this.#world.clock.deliver(host, this.#takeLatency(), () => reject(error));
  }

  #arrive(request: Request, post: Post | undefined): void {
    const { swarm, service, say } = this.#world;
    if (swarm.happens('network: reset before the service')) return void this.#fail(request, 'ECONNRESET');
    const answer = service.handle(request, post);
    if (swarm.happens('network: response lost')) return void this.#fail(request, 'ECONNRESET');
    if (swarm.happens('network: no response')) return;
    if (post) say(`service: ${answer.status} to ${post.press} ${post.reference ?? ''}`);
    this.#answer(request, answer, post);
  }

  #answer({ host, resolve, signal }: Request, answer: Answer, post: Post | undefined): void {
    const { swarm, clock } = this.#world;
    const { status, body, headers } = answer;
    const isCut = answer.isCut || swarm.happens('response: cut');
    const isSlow = swarm.happens('response: slow');
    const isHuge = swarm.happens('response: huge');
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const bytes = new TextEncoder().encode(text + (isHuge ? ' '.repeat(1_100_000) : ''));
    const isWhole = !isCut && !isSlow;
    const half = isWhole ? bytes.length : Math.floor(bytes.length / 2);
    const end = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      if (isCut) return controller.error(new TypeError('terminated'));
      if (post?.reference && text.includes(post.reference) && !isHuge && !signal?.aborted)
        post.isHeard = true;
      controller.enqueue(bytes.subarray(half));
      controller.close();
    };
    const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      controller.enqueue(bytes.subarray(0, half));
      if (isWhole) end(controller);
      else clock.deliver(host, isSlow ? this.#random.between(1_000, 40_000) : 5, () => end(controller));
    };
    clock.deliver(host, this.#takeLatency(), () =>
      resolve(new Response(new ReadableStream({ start }), { status, ...(headers && { headers }) })),
    );
  }
}
