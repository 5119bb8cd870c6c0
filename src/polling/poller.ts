import { verify } from '../api/operations.ts';
import type { Transaction } from '../api/transaction.ts';
import { ClosedError } from '../errors.ts';
import type { WaitEvent } from '../events.ts';
import type { CallResult } from '../http/attempt.ts';
import type { NormalizedOptions } from '../options.ts';
import { SharedAbortListeners } from '../support/abort-listeners.ts';
import { PollLimits } from './limits.ts';
import type { NormalizedWait } from './normalize-wait.ts';
import {
  addWaiter,
  createPollGroup,
  isTemporaryError,
  planNextPoll,
  planPollForNewWaiter,
  recordResult,
  removeWaiter,
} from './poll-group.ts';
import { PollLoop } from './poll-loop.ts';
import {
  callOnPoll,
  cloneTransaction,
  createPollEvent,
  createTimeoutError,
  createWaitEvent,
  createWaiter,
  getWaitResult,
  type PollGroup,
  type PollResult,
  type ResolveWaiter,
  type Waiter,
  type WaitResult,
} from './waiter.ts';

/**
 * Who waits for what: all waits of one client, by reference. They share one poll for each reference and one listener for each signal.
 * When a poll or a deadline is due, the {@link PollLoop} says so.
 *
 * One wait from start to end: `add` → `#startPoll` → `#handleResult` → `#end`.
 */
export class Poller {
  readonly #client: PollerOptions;
  readonly #send: SendPoll;
  readonly #closing: AbortSignal;
  readonly #limits: PollLimits;
  readonly #loop: PollLoop;
  readonly #groups = new Map<string, PollGroup>();
  readonly #signals = new SharedAbortListeners<Waiter>((waiter, aborted) => {
    if (this.remove(waiter)) this.#reject(waiter, 'aborted', aborted);
  });
  readonly #endAll = () => {
    for (const group of [...this.#groups.values()]) {
      for (const waiter of [...group.waiters]) this.#fail(waiter, 'closed', new ClosedError('verify'));
    }
  };
  readonly #byOwner = new WeakMap<object, Poller>();

  /** `closing` ends every wait when it is aborted, and refuses each later one. */
  constructor(
    client: PollerOptions,
    send: SendPoll,
    closing: AbortSignal,
    limits = new PollLimits(client.polling),
  ) {
    this.#client = client;
    this.#send = send;
    this.#closing = closing;
    this.#limits = limits;
    this.#loop = new PollLoop(
      {
        startPoll: (group, lag, now) => this.#startPoll(group, lag, now),
        giveUpPoll: (group) => this.#abortPoll(group, TOO_OLD),
        endWait: (waiter, now) => this.#fail(waiter, 'timeout', this.#createTimeoutError(waiter, now), now),
        listGroups: () => this.#groups.values(),
      },
      limits,
    );
  }

  /**
   * Returns the poller of those waits that share an owner. In workerd (Cloudflare), timers and requests end with the request
   * in which they were started, so waits of different requests share no more than the rate limit.
   */
  selectFor(owner: object = {}): Poller {
    if (globalThis.navigator?.userAgent !== 'Cloudflare-Workers') return this;
    const known = this.#byOwner.get(owner);
    if (known) return known;
    const created = new Poller(this.#client, this.#send, this.#closing, this.#limits.shareRate());
    this.#byOwner.set(owner, created);
    return created;
  }

  /** Starts a wait. Returns what {@link remove} takes, or `undefined` if the wait was refused. */
  add(request: NormalizedWait, resolve: ResolveWaiter): Waiter | undefined {
    const { reference, signal } = request;
    if (this.#closing.aborted || signal?.aborted) {
      resolve(Promise.reject(this.#closing.aborted ? new ClosedError('verify') : signal?.reason));
      return undefined;
    }
    const now = this.#loop.now();
    const wallNow = Date.now();
    if (this.#groups.size === 0) this.#loop.begin(now);
    const { startedAt = wallNow } = request;
    const startedMono = Math.round(now - Math.max(0, wallNow - startedAt));
    const group = this.#groups.get(reference) ?? this.#addGroup(request, startedMono);
    const waiter = createWaiter(group, request, { startedMono, startedAt }, resolve);
    addWaiter(group, waiter);
    if (signal) this.#signals.join(signal, waiter);
    if (waiter.deadline <= now) this.#loop.grantFinalCheck(waiter, now);
    else {
      this.#loop.setDeadline(waiter);
      if (!group.inFlight) this.#loop.schedulePoll(group, planPollForNewWaiter(waiter, request, now));
      else if (waiter.until === 'response') group.isNotified = true;
    }
    this.#loop.setTimer(now);
    return waiter;
  }

  /** Ends a wait and leaves its promise pending. The last wait on a reference takes the poll in flight with it. */
  remove(waiter: Waiter): boolean {
    if (!removeWaiter(waiter)) return false;
    this.#signals.leave(waiter);
    this.#loop.removeDeadline(waiter);
    if (waiter.group.waiters.length === 0) this.#removeGroup(waiter.group);
    return true;
  }

  /** Polls a reference now if a wait is on it, and at most once a second. */
  notify(reference: string): void {
    const group = this.#groups.get(reference);
    if (!group) return;
    const now = this.#loop.now();
    if (group.inFlight) group.isNotified = true;
    else this.#loop.expedite(group, now);
    this.#loop.setTimer(now);
  }

  /** Records a 429 to any call of the client. */
  onRateLimited(retryAfter: number | undefined): void {
    this.#limits.onRateLimited(this.#loop.now(), retryAfter);
  }

  #addGroup(request: NormalizedWait, startedMono: number): PollGroup {
    if (this.#groups.size === 0) this.#closing.addEventListener('abort', this.#endAll, { once: true });
    const group = createPollGroup(request, startedMono);
    this.#groups.set(request.reference, group);
    return group;
  }

  #removeGroup(group: PollGroup): void {
    this.#groups.delete(group.reference);
    this.#loop.removePoll(group);
    this.#abortPoll(group, NO_WAITERS);
    if (this.#groups.size > 0) return;
    this.#loop.stop();
    this.#closing.removeEventListener('abort', this.#endAll);
  }

  #abortPoll(group: PollGroup, reason: Error): void {
    group.inFlight?.abort(reason);
    group.inFlight = undefined;
  }

  #startPoll(group: PollGroup, lag: number, now: number): void {
    const inFlight = new AbortController();
    group.attempts++;
    group.inFlight = inFlight;
    const onEnd = (result: PollResult) =>
      this.#loop.endPoll((endedAt) => {
        if (group.inFlight !== inFlight) return;
        group.inFlight = undefined;
        this.#handleResult(group, result, { lag, age: endedAt - now }, endedAt);
      });
    this.#send(createPollCall(this.#client, group, inFlight.signal)).then(
      (callResult) => onEnd({ callResult, error: undefined }),
      (error: unknown) => onEnd({ callResult: undefined, error }),
    );
  }

  #handleResult(
    group: PollGroup,
    pollResult: PollResult,
    { lag, age }: { lag: number; age: number },
    now: number,
  ): void {
    recordResult(group, pollResult, now);
    const ended = this.#removeEnded(group, pollResult, now);
    const remaining = [...group.waiters];
    const nextAt = remaining.length === 0 ? Number.POSITIVE_INFINITY : this.#scheduleNext(group, now);
    const delay = remaining.some(({ dueAt }) => nextAt < dueAt) ? Math.ceil(nextAt - now) : null;

    // The state is complete from here on: the caller's code can start and end waits, and close the client.
    this.#client.report(createPollEvent(group, pollResult, lag, delay));
    for (const { waiter, waitResult } of ended) {
      callOnPoll(waiter, pollResult, now, null);
      this.#end(waiter, waitResult, age, now);
    }
    const transaction = pollResult.callResult?.result;
    for (const waiter of remaining) {
      if (waiter.index !== -1) callOnPoll(waiter, pollResult, now, nextAt < waiter.dueAt ? delay : null);
      if (waiter.index !== -1 && transaction) waiter.onTransaction?.(cloneTransaction(transaction));
    }
  }

  /** Removes the waits that end with this poll. The result of each is decided before any caller learns of one. */
  #removeEnded(
    group: PollGroup,
    pollResult: PollResult,
    now: number,
  ): { waiter: Waiter; waitResult: WaitResult }[] {
    const isTemporary = isTemporaryError(group, pollResult.error, now);
    const ended: { waiter: Waiter; waitResult: WaitResult }[] = [];
    for (const waiter of group.waiters) {
      const waitResult = getWaitResult(waiter, pollResult, isTemporary, this.#client.redactReference);
      if (waitResult) ended.push({ waiter, waitResult });
    }
    for (const { waiter } of ended) this.remove(waiter);
    return ended;
  }

  #scheduleNext(group: PollGroup, now: number): number {
    this.#loop.schedulePoll(group, planNextPoll(group, now));
    if (group.isNotified) this.#loop.expedite(group, now);
    group.isNotified = false;
    return group.dueAt;
  }

  #end(waiter: Waiter, waitResult: WaitResult, age: number, now: number): void {
    if (waitResult.result === 'timeout' && waitResult.transaction)
      waiter.onTransaction?.(waitResult.transaction);
    if (waitResult.result === 'final') {
      waiter.resolve(waitResult.transaction, waitResult.retryAfter, age);
      this.#reportEnd(waiter, 'final', now);
    } else {
      const isFailed = waitResult.result === 'failed';
      const reason = isFailed ? waitResult.reason : this.#createTimeoutError(waiter, now);
      this.#reject(waiter, waitResult.result, Promise.reject(reason), now);
    }
  }

  #fail(waiter: Waiter, result: WaitEvent['result'], reason: unknown, now = this.#loop.now()): void {
    if (this.remove(waiter)) this.#reject(waiter, result, Promise.reject(reason), now);
  }

  #reject(
    waiter: Waiter,
    result: WaitEvent['result'],
    rejection: Promise<never>,
    now = this.#loop.now(),
  ): void {
    waiter.resolve(rejection);
    this.#reportEnd(waiter, result, now);
  }

  /** A single check is no wait. Its poll has an event of its own. */
  #reportEnd(waiter: Waiter, result: WaitEvent['result'], now: number): void {
    if (waiter.until !== 'response') this.#client.report(createWaitEvent(waiter, result, now));
  }

  #createTimeoutError(waiter: Waiter, now: number) {
    return createTimeoutError(waiter, now, this.#client.redactReference);
  }
}

export type PollerOptions = Pick<
  NormalizedOptions,
  'polling' | 'report' | 'redactReference' | 'timeout' | 'headers'
>;

/**
 * Builds the call of one poll. Its reference and headers were validated when the wait started. It has no retries: the
 * schedule is its retry.
 */
function createPollCall(
  client: Pick<NormalizedOptions, 'timeout' | 'headers'>,
  { reference, headers }: { reference: string; headers: Readonly<Record<string, string>> | undefined },
  signal: AbortSignal,
) {
  return {
    operation: verify,
    request: { reference },
    body: undefined,
    signal,
    timeout: client.timeout,
    maxRetries: 0,
    headers: { ...client.headers, ...headers },
  };
}

type SendPoll = (call: ReturnType<typeof createPollCall>) => Promise<CallResult<Transaction>>;

const TOO_OLD = /* @__PURE__ */ new Error(
  'The process was frozen while this request was in flight: its result would be too old.',
);

const NO_WAITERS = /* @__PURE__ */ new Error('Every wait on this reference has ended.');
