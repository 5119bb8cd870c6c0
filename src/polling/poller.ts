import { ClosedError } from '../errors.ts';
import type { WaitEvent } from '../events.ts';
import type { NormalizedOptions } from '../options.ts';
import { NOTIFY_INTERVAL } from '../support/timing.ts';
import { SharedAbortListeners } from './abort-listeners.ts';
import { createPollCall, type PollResult, type SendPoll } from './check.ts';
import { PollingClock } from './clock.ts';
import { Heap } from './heap.ts';
import type { NormalizedWait } from './normalize-wait.ts';
import { callOnPoll, createPollEvent, createTimeoutError, createWaitEvent } from './poll-events.ts';
import {
  addWaiter,
  createPollGroup,
  hasLiveWaiters,
  isTemporaryError,
  planNextPoll,
  planPollForNewWaiter,
  recordResult,
  removeWaiter,
} from './poll-group.ts';
import { RateLimiter } from './rate-limiter.ts';
import {
  cloneTransaction,
  createWaiter,
  getWaitResult,
  isPastDeadline,
  type PollGroup,
  type ResolveWaiter,
  type Waiter,
  type WaitResult,
} from './waiter.ts';

/**
 * All waits of one client. They share one timer, one listener for each signal, one poll for each reference and one rate
 * limit. Polls and deadlines each have a heap, so that a deadline is kept even if no poll can leave.
 *
 * One wait from start to end: `add` → `#tick` → `#startDuePolls` → `#startPoll` → `#handleResult` → `#end`.
 */
export class Poller {
  readonly #client: PollerOptions;
  readonly #send: SendPoll;
  readonly #closing: AbortSignal;
  readonly #rateLimiter: RateLimiter;
  readonly #groups = new Map<string, PollGroup>();
  readonly #pollQueue = new Heap<PollGroup>();
  readonly #deadlines = new Heap<Waiter>();
  readonly #signals = new SharedAbortListeners<Waiter>((waiter, aborted) => {
    if (this.remove(waiter)) this.#reject(waiter, 'aborted', aborted);
  });
  readonly #clock = new PollingClock(() => this.#tick());
  readonly #endAll = () => {
    for (const group of [...this.#groups.values()]) {
      for (const waiter of [...group.waiters]) this.#fail(waiter, 'closed', new ClosedError('verify'));
    }
  };
  readonly #byOwner = new WeakMap<object, Poller>();
  /** How far the wall clock was ahead of the monotonic clock at the last tick. */
  #wallLead = 0;
  /** Until when a limit held back a poll that was due, as far as that is known. */
  #heldBackUntil = Number.NEGATIVE_INFINITY;
  /** When a poll last ended while `maxConcurrency` was reached. */
  #wasFullUntil = Number.NEGATIVE_INFINITY;
  #lastTick = Number.NEGATIVE_INFINITY;
  /** Whether the last tick came after a freeze, and started no poll. */
  #isResuming = false;
  #inFlight = 0;

  /** `closing` ends every wait when it is aborted, and refuses each later one. */
  constructor(
    client: PollerOptions,
    send: SendPoll,
    closing: AbortSignal,
    rateLimiter = new RateLimiter(client.polling.maxRequestsPerSecond),
  ) {
    this.#client = client;
    this.#send = send;
    this.#closing = closing;
    this.#rateLimiter = rateLimiter;
  }

  /**
   * Returns the poller of those waits that share an owner. In workerd (Cloudflare), timers and requests end with the request
   * in which they were started, so waits of different requests share no more than the rate limit.
   */
  selectFor(owner: object = {}): Poller {
    if (globalThis.navigator?.userAgent !== 'Cloudflare-Workers') return this;
    const known = this.#byOwner.get(owner);
    if (known) return known;
    const created = new Poller(this.#client, this.#send, this.#closing, this.#rateLimiter);
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
    const now = this.#clock.now();
    const wallNow = Date.now();
    if (this.#groups.size === 0) this.#wallLead = wallNow - now;
    const { startedAt = wallNow } = request;
    const startedMono = Math.round(now - Math.max(0, wallNow - startedAt));
    const group = this.#groups.get(reference) ?? this.#addGroup(request, startedMono);
    const waiter = createWaiter(group, request, { startedMono, startedAt }, resolve);
    addWaiter(group, waiter);
    if (signal) this.#signals.join(signal, waiter);
    if (waiter.deadline <= now) this.#grantFinalCheck(waiter, now);
    else {
      this.#deadlines.upsert(waiter, waiter.deadline);
      if (!group.inFlight) this.#schedulePoll(group, planPollForNewWaiter(waiter, request, now));
      else if (waiter.until === 'response') group.isNotified = true;
    }
    this.#setTimer(now);
    return waiter;
  }

  /** Ends a wait and leaves its promise pending. The last wait on a reference takes the poll in flight with it. */
  remove(waiter: Waiter): boolean {
    if (!removeWaiter(waiter)) return false;
    this.#signals.leave(waiter);
    this.#deadlines.remove(waiter);
    if (waiter.group.waiters.length === 0) this.#removeGroup(waiter.group);
    return true;
  }

  /** Polls a reference now if a wait is on it, and at most once in {@link NOTIFY_INTERVAL}. */
  notify(reference: string): void {
    const group = this.#groups.get(reference);
    if (!group) return;
    const now = this.#clock.now();
    if (group.inFlight) group.isNotified = true;
    else this.#expedite(group, now);
    this.#setTimer(now);
  }

  /** Records a 429 to any call of the client. */
  onRateLimited(retryAfter: number | undefined): void {
    this.#rateLimiter.onRateLimited(this.#clock.now(), retryAfter);
  }

  #addGroup(request: NormalizedWait, startedMono: number): PollGroup {
    if (this.#groups.size === 0) this.#closing.addEventListener('abort', this.#endAll, { once: true });
    const group = createPollGroup(request, startedMono);
    this.#groups.set(request.reference, group);
    return group;
  }

  #removeGroup(group: PollGroup): void {
    this.#groups.delete(group.reference);
    this.#pollQueue.remove(group);
    this.#abortPoll(group, NO_WAITERS);
    if (this.#groups.size > 0) return;
    this.#clock.clear();
    this.#closing.removeEventListener('abort', this.#endAll);
  }

  #schedulePoll(group: PollGroup, time: number): void {
    const dueAt = Math.ceil(time);
    if (group.heapIndex === -1 || dueAt < group.dueAt) this.#pollQueue.upsert(group, dueAt);
  }

  /** Brings the next poll forward to now, or to the end of {@link NOTIFY_INTERVAL}. */
  #expedite(group: PollGroup, now: number): void {
    const time = Math.ceil(Math.max(now, group.notifiedAt + NOTIFY_INTERVAL));
    if (group.heapIndex !== -1 && group.dueAt <= time) return;
    group.notifiedAt = time;
    this.#schedulePoll(group, time);
  }

  /** Grants one check, whose result ends the wait: its deadline passed while the process could not check. */
  #grantFinalCheck(waiter: Waiter, now: number): void {
    const { group, deadline } = waiter;
    this.#deadlines.upsert(waiter, Math.ceil(now) + FINAL_CHECK_TIMEOUT);
    if (group.inFlight) return;
    if (group.attempts > 0) this.#expedite(group, now);
    // Ahead of the polls that became due later.
    else this.#schedulePoll(group, Math.max(deadline, now - MAX_OVERDUE));
  }

  #setTimer(now: number): void {
    const waiter = this.#deadlines.first;
    if (waiter) this.#clock.wakeAt(waiter.dueAt, now);
    const group = this.#pollQueue.first;
    if (!group) return;
    const hasSlot = this.#hasFreeSlot();
    const allowedAt = this.#rateLimiter.getNextStart(now);
    if (!hasSlot || allowedAt > Math.max(group.dueAt, now))
      this.#heldBackUntil = Math.max(
        this.#heldBackUntil,
        Math.ceil(hasSlot ? allowedAt : Math.max(allowedAt, now + 1)),
      );
    if (hasSlot) this.#clock.wakeAt(Math.max(group.dueAt, allowedAt, this.#lastTick + TICK_INTERVAL), now);
  }

  #tick(): void {
    const now = this.#clock.now();
    this.#lastTick = now;
    const hasSlept = this.#handleSleep(now);
    const hasMissed = this.#expireDeadlines(now);
    // After a freeze polls wait for one turn of the event loop: until then a connection that has closed looks open.
    // Not twice in a row: each step of a fake clock can look like a freeze.
    this.#isResuming = (hasSlept || hasMissed) && !this.#isResuming;
    if (this.#isResuming) this.#clock.clear();
    else this.#startDuePolls();
    this.#setTimer(this.#clock.now());
  }

  /** If the machine has slept, polls every reference soon. Requests from before the sleep are given up. */
  #handleSleep(now: number): boolean {
    const wallLead = Date.now() - now;
    const hasSlept = wallLead - this.#wallLead >= SLEEP_THRESHOLD;
    this.#wallLead = wallLead;
    if (!hasSlept) return false;
    for (const group of this.#groups.values()) {
      this.#abortPoll(group, TOO_OLD);
      this.#expedite(group, now);
    }
    return true;
  }

  /** Ends each wait whose deadline has passed. Returns whether any deadline was missed: that wait gets a check instead. */
  #expireDeadlines(now: number): boolean {
    const expired: Waiter[] = [];
    let hasMissed = false;
    // All are taken out first: a caller who waits again when a wait ends would keep this loop going for ever.
    for (let waiter = this.#deadlines.first; waiter && waiter.dueAt <= now; waiter = this.#deadlines.first) {
      this.#deadlines.remove(waiter);
      if (this.#isMissed(waiter, now)) {
        hasMissed = true;
        this.#abortPoll(waiter.group, TOO_OLD);
        this.#grantFinalCheck(waiter, now);
      } else expired.push(waiter);
    }
    for (const waiter of expired) this.#fail(waiter, 'timeout', this.#createTimeoutError(waiter, now), now);
    return hasMissed;
  }

  /** Whether this process, and not the service or a limit, kept a wait from its checks until its deadline. */
  #isMissed(waiter: Waiter, now: number): boolean {
    const { group, dueAt } = waiter;
    if (isPastDeadline(waiter)) return now - dueAt >= FINAL_CHECK_TIMEOUT;
    if (now - dueAt >= MISSED_THRESHOLD) return true;
    // A poll that ends at the deadline can free a slot in this very tick, too late for a check.
    return (
      group.attempts === 0 &&
      group.dueAt >= this.#heldBackUntil &&
      this.#hasFreeSlot() &&
      this.#wasFullUntil < dueAt
    );
  }

  /** Gives up the request in flight. */
  #abortPoll(group: PollGroup, reason: Error): void {
    group.inFlight?.abort(reason);
    group.inFlight = undefined;
  }

  #startDuePolls(): void {
    // The time is read for each poll: the caller's code can run in between, and take long.
    for (let now = this.#clock.now(); this.#canStartPoll(now); now = this.#clock.now()) {
      const group = this.#pollQueue.first;
      if (!group) return;
      if (hasLiveWaiters(group, now)) this.#startPoll(group, now);
      else this.#pollQueue.remove(group);
    }
  }

  #canStartPoll(now: number): boolean {
    const group = this.#pollQueue.first;
    if (!group || group.dueAt > now || !this.#hasFreeSlot()) return false;
    return this.#rateLimiter.getNextStart(now) <= now;
  }

  #hasFreeSlot(): boolean {
    return this.#inFlight < this.#client.polling.maxConcurrency;
  }

  #startPoll(group: PollGroup, now: number): void {
    const lag = Math.round(now - group.dueAt);
    const inFlight = new AbortController();
    this.#pollQueue.remove(group);
    this.#rateLimiter.recordRequest(now);
    this.#inFlight++;
    group.attempts++;
    group.inFlight = inFlight;
    const endPoll = (result: PollResult) => {
      const endedAt = this.#clock.now();
      if (!this.#hasFreeSlot()) this.#wasFullUntil = endedAt;
      this.#inFlight--;
      if (group.inFlight === inFlight) {
        group.inFlight = undefined;
        this.#handleResult(group, result, { lag, age: endedAt - now }, endedAt);
      }
      this.#tick();
    };
    this.#send(createPollCall(this.#client, group, inFlight.signal)).then(
      (callResult) => endPoll({ callResult, error: undefined }),
      (error: unknown) => endPoll({ callResult: undefined, error }),
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
    this.#schedulePoll(group, planNextPoll(group, now));
    if (group.isNotified) this.#expedite(group, now);
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

  #fail(waiter: Waiter, result: WaitEvent['result'], reason: unknown, now = this.#clock.now()): void {
    if (this.remove(waiter)) this.#reject(waiter, result, Promise.reject(reason), now);
  }

  #reject(
    waiter: Waiter,
    result: WaitEvent['result'],
    rejection: Promise<never>,
    now = this.#clock.now(),
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

/** The client's options that the poller reads. */
export type PollerOptions = Pick<
  NormalizedOptions,
  'polling' | 'report' | 'redactReference' | 'timeout' | 'headers'
>;

/** Polls leave at most this often, in milliseconds: one wake-up costs as much as ten polls. Deadlines are exact. */
const TICK_INTERVAL = 5;

/**
 * A deadline that is noticed this late, in milliseconds, was missed: the process was frozen, or its thread was busy. A
 * process that runs normally is never so late.
 */
const MISSED_THRESHOLD = 1_000;

/** The machine slept, or its clock was set, if the wall clock got ahead by this many milliseconds. */
const SLEEP_THRESHOLD = 10_000;

/** How long the one check after a missed deadline can take, in milliseconds. */
const FINAL_CHECK_TIMEOUT = 10_000;

/** That check counts as due at the deadline, but at most this many milliseconds ago. */
const MAX_OVERDUE = 60_000;

const TOO_OLD = /* @__PURE__ */ new Error(
  'The process was frozen while this request was in flight: its result would be too old.',
);

const NO_WAITERS = /* @__PURE__ */ new Error('Every wait on this reference has ended.');
