import type { Clock } from './clock.ts';
import type { WebhookAttempt, WebhookDelivery } from './webhook-delivery.ts';
import { isAccepted, type Receiver } from './webhook-receiver.ts';

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** Where webhooks go, and how. */
export interface WebhookTarget {
  readonly receiver: Receiver;
  readonly retryDelays: readonly number[];
  readonly timeout: number;
}

/** A delivery of which parts are not known yet. */
export type OpenDelivery = Writable<Omit<WebhookDelivery, 'attempts'>> & {
  readonly attempts: WebhookAttempt[];
};

/** What is to be sent. */
export interface Shipment {
  readonly delivery: OpenDelivery;
  readonly text: string;
  readonly target: WebhookTarget;
  /** When it is sent. Default: now. */
  readonly at?: number;
  /** It is held until a later webhook was sent, or until `at`. */
  readonly isHeld?: boolean;
  /** It is sent after this one. */
  readonly after?: Job | undefined;
  /** It was made up: that it was sent does not end the hold of another. */
  readonly isForged?: boolean;
  /** Called when its first attempt has ended. */
  readonly onSent?: () => void;
}

/** A webhook that has been neither delivered nor given up. */
export interface Job extends Shipment {
  readonly number: number;
  retryDelays: readonly number[];
  isHeld: boolean;
  /** It is in the list of those that are sent next. */
  isReady: boolean;
  /** Its first attempt has ended, or its order no longer counts. */
  isSent: boolean;
  /** Its retries do not wait, because of a flush. */
  isHurried: boolean;
  /** How many flushes its handler waits for. */
  flushes: number;
  /** What is sent after it. */
  readonly followers: Job[];
  cancelAlarm(): void;
  /** Settles when it is final. */
  readonly end: PromiseWithResolvers<void>;
}

/** How many requests are sent at the same time. */
const MAX_CONCURRENT = 20;
/** How many webhooks can wait. Above that, the oldest ones fail. */
const MAX_WAITING = 10_000;

/**
 * Sends webhooks: each at its time, in order, with retries. Nothing is sent in the call that adds it, so that a receiver
 * cannot delay the service.
 */
export class WebhookQueue {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  /** In the order of creation. */
  readonly #jobs = new Set<Job>();
  #ready: Job[] = [];
  #held: Job[] = [];
  #inFlight = 0;
  #added = 0;
  #isSendScheduled = false;
  #lifetime = new AbortController();
  readonly #handling = createContext<Job>();

  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** How many webhooks are neither delivered nor given up. */
  get size(): number {
    return this.#jobs.size;
  }

  add(shipment: Shipment): Job {
    const { delivery, target, at = this.#clock.now(), isHeld = false, after } = shipment;
    const job: Job = {
      ...shipment,
      number: ++this.#added,
      retryDelays: target.retryDelays,
      isHeld,
      isReady: false,
      isSent: false,
      isHurried: false,
      flushes: 0,
      followers: [],
      cancelAlarm: () => {},
      end: Promise.withResolvers(),
    };
    if (this.#jobs.size >= MAX_WAITING) this.#giveUpOldest();
    this.#jobs.add(job);
    delivery.dueAt = at;
    if (isHeld) this.#held.push(job);
    if (after && !after.isSent) after.followers.push(job);
    else this.#wake(job, at);
    return job;
  }

  /**
   * Sends what waits now, with its retries, and resolves when all of it is delivered or given up. A handler can call it:
   * it does not wait for that handler, nor for one that waits for a flush itself.
   */
  async flush(): Promise<void> {
    const current = this.#handling.getStore();
    const own = current?.delivery.state === 'sending' ? current : undefined;
    const jobs = [...this.#jobs].filter((job) => !own || (job !== own && job.flushes === 0));
    const waiting = jobs.filter((job) => job.delivery.state === 'waiting' && !job.isHeld);
    for (const job of jobs) job.isHurried = true;
    for (const job of waiting.sort((one, other) => compareDueAt(one, other))) {
      if (!job.after || job.after.isSent) this.#makeReady(job);
    }
    if (own) {
      // What its handler waits for must find a free place, and must not wait for it.
      this.#passOrder(own);
      own.flushes++;
      this.#inFlight--;
      this.#scheduleSend();
    }
    const newest = this.#held.at(-1);
    const hasLater = jobs.some((job) => newest && job.number > newest.number && !job.isSent && !job.isForged);
    if (newest && !hasLater) this.#makeReady(newest);
    await Promise.all(jobs.map(({ end }) => end.promise));
    if (own) {
      own.flushes--;
      this.#inFlight++;
    }
  }

  /** Gives up what waits. What has been sent can still be accepted, and is not sent again. */
  giveUp(): void {
    for (const job of this.#jobs) {
      job.retryDelays = [];
      if (job.delivery.state === 'waiting') this.#end(job, 'failed');
    }
  }

  /** Gives up everything, and breaks the connections. The attempts in flight have no end. */
  abort(): void {
    for (const job of this.#jobs) this.#end(job, 'failed');
    this.#lifetime.abort();
    this.#lifetime = new AbortController();
  }

  #wake(job: Job, at: number): void {
    job.delivery.dueAt = at;
    if (at <= this.#clock.now()) this.#makeReady(job);
    else job.cancelAlarm = this.#clock.schedule(at, () => this.#makeReady(job));
  }

  #makeReady(job: Job): void {
    if (job.isReady || !this.#jobs.has(job)) return;
    job.cancelAlarm();
    this.#unhold(job);
    job.isReady = true;
    this.#ready.push(job);
    this.#scheduleSend();
  }

  #unhold(job: Job): void {
    if (!job.isHeld) return;
    job.isHeld = false;
    this.#held = this.#held.filter((held) => held !== job);
  }

  /** Sends in a later microtask. */
  #scheduleSend(): void {
    if (this.#isSendScheduled) return;
    this.#isSendScheduled = true;
    Promise.resolve().then(() => {
      this.#isSendScheduled = false;
      while (this.#inFlight < MAX_CONCURRENT) {
        const job = this.#ready.shift();
        if (!job) break;
        if (this.#jobs.has(job)) void this.#send(job);
      }
    });
  }

  async #send(job: Job): Promise<void> {
    const { delivery, text, target } = job;
    const attempt: Writable<WebhookAttempt> = {
      at: this.#clock.now(),
      duration: null,
      status: null,
      body: null,
      error: null,
    };
    const startedAt = performance.now();
    this.#inFlight++;
    job.isReady = false;
    delivery.state = 'sending';
    delivery.dueAt = null;
    delivery.attempts.push(attempt);
    this.#onChange();
    const message = { headers: delivery.headers, body: text };
    const reception = await this.#handling.run(job, () =>
      target.receiver.post(message, target.timeout, this.#lifetime.signal),
    );
    this.#inFlight--;
    this.#scheduleSend();
    if (!this.#jobs.has(job)) return;
    Object.assign(attempt, reception, { duration: performance.now() - startedAt });
    if (isAccepted(reception)) this.#end(job, 'delivered');
    else this.#retry(job);
  }

  #retry(job: Job): void {
    const delay = job.retryDelays[job.delivery.attempts.length - 1];
    if (delay === undefined) {
      this.#end(job, 'failed');
      return;
    }
    job.delivery.state = 'waiting';
    this.#passOrder(job);
    this.#wake(job, this.#clock.now() + (job.isHurried ? 0 : delay));
    this.#onChange();
  }

  #end(job: Job, state: 'delivered' | 'failed'): void {
    job.delivery.state = state;
    job.delivery.dueAt = null;
    job.cancelAlarm();
    this.#jobs.delete(job);
    this.#unhold(job);
    this.#passOrder(job);
    job.end.resolve();
    this.#onChange();
  }

  /** Lets those go that were to be sent after this one. */
  #passOrder(job: Job): void {
    if (job.isSent) return;
    job.isSent = true;
    job.onSent?.();
    for (const follower of job.followers) this.#makeReady(follower);
    if (job.isForged) return;
    // The newest first, so that webhooks that were held one after the other are out of order too.
    const held = this.#held.findLast(({ number }) => number < job.number);
    if (held) this.#makeReady(held);
  }

  #giveUpOldest(): void {
    for (const job of this.#jobs) {
      if (job.delivery.state !== 'waiting') continue;
      this.#end(job, 'failed');
      return;
    }
  }
}

function compareDueAt(one: Job, other: Job): number {
  return (one.delivery.dueAt ?? 0) - (other.delivery.dueAt ?? 0) || one.number - other.number;
}

/** Which call a piece of code runs in. */
interface Context<T> {
  getStore(): T | undefined;
  run<R>(store: T, call: () => R): R;
}

/**
 * Creates a context that follows a handler through its awaits. Where there is none, as in browsers, a flush that a handler
 * awaits ends only after the timeout of its attempts.
 */
function createContext<T>(): Context<T> {
  const isNode = typeof process !== 'undefined' && typeof process.getBuiltinModule === 'function';
  if (isNode) return new (process.getBuiltinModule('node:async_hooks').AsyncLocalStorage)<T>();
  return { getStore: () => undefined, run: (_, call) => call() };
}
