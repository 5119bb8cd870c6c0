import type { Clock } from './clock.ts';
import type { WebhookAttempt, WebhookDelivery } from './webhook-delivery.ts';
import { isAccepted, type Receiver, type Writable } from './webhook-receiver.ts';

export interface WebhookTarget {
  readonly receiver: Receiver;
  readonly retryDelays: readonly number[];
  readonly timeout: number;
}

/** A delivery of which parts are not known yet. */
export type OpenDelivery = Writable<Omit<WebhookDelivery, 'attempts'>> & {
  readonly attempts: WebhookAttempt[];
};

/** A webhook that has been neither delivered nor given up. */
interface Job {
  readonly delivery: OpenDelivery;
  readonly target: WebhookTarget;
  /** Neither its time nor its retries are waited for, because of a flush. */
  isHurried: boolean;
  /** It is not sent again, because there is no receiver any more. */
  isGivenUp: boolean;
  wake(): void;
  readonly end: PromiseWithResolvers<void>;
}

/** Sends webhooks: each at its time, with retries. Nothing is sent in the call that adds it. */
export class WebhookQueue {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #jobs = new Set<Job>();
  /** What the next webhook of a transaction waits for: the first attempt of the one before it. */
  readonly #latest = new Map<string, Promise<void>>();
  #lifetime = new AbortController();

  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** How many webhooks are neither delivered nor given up. */
  get size(): number {
    return this.#jobs.size;
  }

  /** Sends a webhook: without a delay after the first attempts of the earlier ones of its transaction. */
  add(delivery: OpenDelivery, target: WebhookTarget, delay: number): void {
    const at = this.#clock.now() + delay;
    const isInOrder = delay === 0;
    const job: Job = {
      delivery,
      target,
      isHurried: false,
      isGivenUp: false,
      wake: () => {},
      end: Promise.withResolvers(),
    };
    this.#jobs.add(job);
    delivery.dueAt = at;
    const { reference } = delivery;
    const sent = this.#sendFirst(job, at, isInOrder ? this.#latest.get(reference) : undefined);
    if (!isInOrder) return;
    this.#latest.set(reference, sent);
    void sent.then(() => {
      if (this.#latest.get(reference) === sent) this.#latest.delete(reference);
    });
  }

  /** Sends what waits now, with its retries, and resolves when all of it is delivered or given up. */
  async flush(): Promise<void> {
    const jobs = [...this.#jobs].sort(
      (one, other) => (one.delivery.dueAt ?? 0) - (other.delivery.dueAt ?? 0),
    );
    for (const job of jobs) {
      job.isHurried = true;
      job.wake();
    }
    await Promise.all(jobs.map(({ end }) => end.promise));
  }

  /** Gives up what waits. What has been sent can still be accepted, and is not sent again. */
  giveUp(): void {
    for (const job of this.#jobs) {
      job.isGivenUp = true;
      if (job.delivery.state === 'waiting') this.#end(job, 'failed');
    }
  }

  /** Gives up everything, and breaks the connections. The attempts in flight have no end. */
  abort(): void {
    for (const job of this.#jobs) this.#end(job, 'failed');
    this.#lifetime.abort();
    this.#lifetime = new AbortController();
  }

  async #sendFirst(job: Job, at: number, after: Promise<void> | undefined): Promise<void> {
    await after;
    const wait = this.#waitUntil(job, at);
    // What is due is sent before what a flush sends ahead of its time.
    if (wait) await wait;
    await this.#attempt(job);
    void this.#retry(job);
  }

  async #retry(job: Job): Promise<void> {
    for (const delay of job.target.retryDelays) {
      if (!this.#jobs.has(job) || job.isGivenUp) break;
      job.delivery.state = 'waiting';
      const wait = this.#waitUntil(job, this.#clock.now() + (job.isHurried ? 0 : delay));
      this.#onChange();
      await wait;
      await this.#attempt(job);
    }
    this.#end(job, 'failed');
  }

  #waitUntil(job: Job, at: number): Promise<void> | undefined {
    if (!this.#jobs.has(job)) return undefined;
    job.delivery.dueAt = at;
    if (job.isHurried || at <= this.#clock.now()) return undefined;
    return new Promise((resolve) => {
      const cancel = this.#clock.schedule(at, resolve);
      job.wake = () => {
        cancel();
        resolve();
      };
    });
  }

  async #attempt(job: Job): Promise<void> {
    if (!this.#jobs.has(job)) return;
    const { delivery, target } = job;
    const at = this.#clock.now();
    const attempt: Writable<WebhookAttempt> = { at, duration: null, status: null, body: null, error: null };
    const startedAt = performance.now();
    delivery.state = 'sending';
    delivery.dueAt = null;
    delivery.attempts.push(attempt);
    this.#onChange();
    const message = { headers: delivery.headers, body: JSON.stringify(delivery.body) };
    const reception = await target.receiver.post(message, target.timeout, this.#lifetime.signal);
    if (!this.#jobs.has(job)) return;
    Object.assign(attempt, reception, { duration: performance.now() - startedAt });
    if (isAccepted(reception)) this.#end(job, 'delivered');
  }

  #end(job: Job, state: 'delivered' | 'failed'): void {
    if (!this.#jobs.delete(job)) return;
    job.delivery.state = state;
    job.delivery.dueAt = null;
    job.wake();
    job.end.resolve();
    this.#onChange();
  }
}
