import { ClosedError, RateLimitError } from '../errors.ts';
import type { Report, WaitEvent } from '../events.ts';
import { MAX_TIMEOUT_MS } from '../max-timeout.ts';
import type { ResolvedPolling } from '../options.ts';
import { Clock } from '../timing.ts';
import { SharedAbortListeners } from './abort-listeners.ts';
import { Heap } from './heap.ts';
import { notifyOnPoll, pollEvent, timeoutError, waitEvent } from './poll-events.ts';
import {
  cloneTransaction,
  completedWaiters,
  createPollGroup,
  createWaiter,
  deadlineOf,
  hasLiveWaiters,
  isAccepted,
  isOverdue,
  LAST_CHECK,
  NOTIFY_INTERVAL,
  nextPollAt,
  nextPollForNewWaiter,
  type PollGroup,
  type PollOnce,
  type PollResult,
  type ResolvedWait,
  recordResult,
  type Waiter,
  type WaitResult,
} from './poll-group.ts';
import { RateLimiter } from './rate-limiter.ts';

/**
 * Polls wait for each other this long after a wake-up, which costs as much as ten of them. Deadlines do not. In
 * milliseconds.
 */
const TICK_INTERVAL = 5;

/**
 * A deadline that is noticed this late was missed: the process was frozen, or its thread was busy. No process that runs
 * normally is so late. In milliseconds.
 */
const MISSED = 1_000;

/** The wall's clock ran ahead of the other by this much: the machine slept, or somebody set the clock. */
const SLEPT = 10_000;

/** The one check of a wait counts as due at its deadline, but not longer ago than this. In milliseconds. */
const LONGEST_OVERDUE = 60_000;

const TOO_OLD = new Error('The process was frozen meanwhile: this answer would be too old.');

const NO_WAITERS = new Error('Nobody waits for this answer any more.');

/**
 * All waits of one client. They share one timer, one listener for each signal, one poll for each reference, and one
 * limit. Polls and deadlines each have a heap, so that a deadline is kept also where no poll can leave.
 */
export class Poller {
  /** What else the close ends: it may have no wait just then. */
  readonly onClose = new Set<(reason: ClosedError) => void>();
  readonly #pollOnce: PollOnce;
  readonly #report: Report;
  readonly #maxConcurrency: number;
  readonly #pace: RateLimiter;
  readonly #groups = new Map<string, PollGroup>();
  readonly #pollQueue = new Heap<PollGroup>();
  readonly #deadlines = new Heap<Waiter>();
  readonly #signals = new SharedAbortListeners<Waiter>((wait, reason) => this.#fail(wait, 'aborted', reason));
  readonly #clock = new Clock();
  readonly #alarm = new WakeTimer((moment) => {
    this.#clock.reach(moment);
    this.#tick();
  });
  /** How far the wall's clock was ahead of the other when that was last noted. */
  #lead = 0;
  /** Until when the limits held back a poll that was due, as far as that is known. */
  #heldBackUntil = Number.NEGATIVE_INFINITY;
  #lastTick = Number.NEGATIVE_INFINITY;
  #inFlight = 0;
  #closed = false;

  constructor(pollOnce: PollOnce, { maxConcurrency, maxRequestsPerSecond }: ResolvedPolling, report: Report) {
    this.#pollOnce = pollOnce;
    this.#report = report;
    this.#maxConcurrency = maxConcurrency;
    this.#pace = new RateLimiter(maxRequestsPerSecond);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Begins a wait; what it returns can leave before the end. */
  add(request: ResolvedWait, resolve: Waiter['resolve'], reject: Waiter['reject']): Waiter | undefined {
    if (this.#closed || request.signal?.aborted) {
      reject(this.#closed ? new ClosedError('verify') : request.signal?.reason);
      return undefined;
    }
    const now = this.#clock.now();
    const wallNow = Date.now();
    if (this.#groups.size === 0) this.#lead = wallNow - now;
    const { startedAt = wallNow, signal } = request;
    const began = Math.round(now - Math.max(0, wallNow - startedAt));
    const poll = this.#groups.get(request.reference) ?? this.#newPoll(request, began);
    const wait = createWaiter(poll, request, { began, startedAt, resolve, reject });
    if (wait.index === 0) poll.waits = [wait];
    else poll.waits.push(wait);
    if (signal) this.#signals.join(signal, wait);
    if (deadlineOf(wait) <= now) this.#checkOnce(wait, now);
    else {
      this.#deadlines.upsert(wait, deadlineOf(wait));
      if (!poll.inFlight) this.#schedulePoll(poll, nextPollForNewWaiter(poll, wait, now));
    }
    this.#setAlarm(now);
    return wait;
  }

  /** Ends a wait without a word to its caller. Nothing is asked for one that nobody waits for. */
  remove(wait: Waiter): boolean {
    const { group: poll, index: place } = wait;
    if (place === -1) return false;
    const last = poll.waits.pop();
    if (last && last !== wait) {
      poll.waits[place] = last;
      last.index = place;
    }
    wait.index = -1;
    this.#signals.leave(wait);
    this.#deadlines.remove(wait);
    if (poll.waits.length === 0) this.#drop(poll);
    return true;
  }

  /** A hint that something may have happened: ask again now, if somebody waits, and at most once in a second. */
  notify(reference: string): void {
    const poll = this.#groups.get(reference);
    if (!poll) return;
    const now = this.#clock.now();
    if (poll.inFlight) poll.notified = true;
    else this.#expedite(poll, now);
    this.#setAlarm(now);
  }

  /** The service answered 429 to any call of the client: about this reference, or about none. */
  rateLimited(retryAfter: number | undefined, reference: string | undefined): void {
    this.#pace.onRateLimited(this.#clock.now(), retryAfter, reference);
  }

  /** Ends every wait, and each that comes later. */
  close(): void {
    this.#closed = true;
    for (const poll of [...this.#groups.values()]) {
      for (const wait of [...poll.waits]) this.#fail(wait, 'closed', new ClosedError('verify'));
    }
    for (const stop of [...this.onClose]) stop(new ClosedError('verify'));
  }

  #newPoll(request: ResolvedWait, began: number): PollGroup {
    const poll = createPollGroup(request, began);
    this.#groups.set(request.reference, poll);
    return poll;
  }

  #drop(poll: PollGroup): void {
    this.#groups.delete(poll.reference);
    this.#pollQueue.remove(poll);
    poll.inFlight?.abort(NO_WAITERS);
    poll.inFlight = undefined;
    if (this.#groups.size === 0) this.#alarm.clear();
  }

  #schedulePoll(poll: PollGroup, moment: number): void {
    const due = Math.ceil(Math.max(moment, this.#pace.heldUntil(poll.reference)));
    if (poll.heapIndex === -1 || due < poll.dueAt) this.#pollQueue.upsert(poll, due);
  }

  /** The deadline of this wait has passed without it: it gets one check, whose result ends it. */
  #checkOnce(wait: Waiter, now: number): void {
    const { group: poll } = wait;
    this.#deadlines.upsert(wait, Math.ceil(now) + LAST_CHECK);
    if (poll.inFlight) return;
    if (poll.attempts > 0) this.#expedite(poll, now);
    // Ahead of those that became due later.
    else this.#schedulePoll(poll, Math.max(deadlineOf(wait), now - LONGEST_OVERDUE));
  }

  #expedite(poll: PollGroup, now: number): void {
    const moment = Math.ceil(Math.max(now, poll.notifiedAt + NOTIFY_INTERVAL));
    if (poll.heapIndex !== -1 && poll.dueAt <= moment) return;
    poll.notifiedAt = moment;
    this.#schedulePoll(poll, moment);
  }

  #tick(): void {
    const now = this.#clock.now();
    this.#lastTick = now;
    const slept = this.#noticeSleep(now);
    const missed = this.#expireDeadlines(now);
    // After a freeze polls rest first: until the event loop has turned, a connection that has closed looks open.
    if (slept || missed) this.#alarm.clear();
    else this.#startDue();
    this.#setAlarm(this.#clock.now());
  }

  #startDue(): void {
    // Whoever heard of a deadline may have taken his time: no poll leaves on an old clock.
    for (let now = this.#clock.now(); this.#mayStart(now); now = this.#clock.now()) {
      const poll = this.#pace.isPaused(now) ? this.#probe(now) : this.#pollQueue.first;
      if (!poll) return;
      if (hasLiveWaiters(poll, now)) this.#start(poll, now);
      else this.#pollQueue.remove(poll);
    }
  }

  /** Asks for all again soon if the machine has slept, on connections that are not from before. */
  #noticeSleep(now: number): boolean {
    const lead = Date.now() - now;
    const slept = lead - this.#lead >= SLEPT;
    this.#lead = lead;
    if (!slept) return false;
    for (const poll of this.#groups.values()) {
      this.#giveUp(poll);
      this.#expedite(poll, now);
    }
    return true;
  }

  /**
   * All of them are taken out first: a caller who hears of one and waits again would otherwise never let this end.
   * Returns whether the deadline of any was missed, so that it gets a check instead.
   */
  #expireDeadlines(now: number): boolean {
    const expired: Waiter[] = [];
    let missed = false;
    for (let wait = this.#deadlines.first; wait && wait.dueAt <= now; wait = this.#deadlines.first) {
      this.#deadlines.remove(wait);
      if (this.#isMissed(wait, now)) {
        missed = true;
        this.#giveUp(wait.group);
        this.#checkOnce(wait, now);
      } else expired.push(wait);
    }
    for (const wait of expired) this.#fail(wait, 'timeout', timeoutError(wait, now), now);
    return missed;
  }

  /** Whether this process, and not the service or a limit, kept a wait from its checks until its deadline. */
  #isMissed(wait: Waiter, now: number): boolean {
    const { group: poll, dueAt: due } = wait;
    if (isOverdue(wait)) return now - due >= LAST_CHECK;
    if (now - due >= MISSED) return true;
    // A poll that was due later was held back by a 429 to its reference.
    return poll.attempts === 0 && poll.dueAt <= due && poll.dueAt >= this.#heldBackUntil && this.#isFree;
  }

  /** Leaves the request that is under way: another will be made in its place. */
  #giveUp(poll: PollGroup): void {
    poll.inFlight?.abort(TOO_OLD);
    poll.inFlight = undefined;
  }

  get #isFree(): boolean {
    return this.#inFlight < this.#maxConcurrency;
  }

  #mayStart(now: number): boolean {
    const poll = this.#pollQueue.first;
    if (!poll || poll.dueAt > now || !this.#isFree) return false;
    return this.#pace.readyAt(now) <= now;
  }

  /** Any poll that is due, rather than the first: those that the service refuses may be the first ones. */
  #probe(now: number): PollGroup | undefined {
    for (let count = 0; count < 5; count++) {
      const poll = this.#pollQueue.any(Math.random());
      if (poll && poll.dueAt <= now && !(poll.lastError instanceof RateLimitError)) return poll;
    }
    return this.#pollQueue.first;
  }

  #setAlarm(now: number): void {
    const deadline = this.#deadlines.first;
    if (deadline) this.#alarm.scheduleAt(deadline.dueAt, now);
    const poll = this.#pollQueue.first;
    if (!poll) return;
    const isFree = this.#isFree;
    const readyAt = this.#pace.readyAt(now);
    if (!isFree || readyAt > Math.max(poll.dueAt, now))
      this.#heldBackUntil = Math.max(this.#heldBackUntil, Math.ceil(isFree ? readyAt : now + 1));
    if (isFree) this.#alarm.scheduleAt(Math.max(poll.dueAt, readyAt, this.#lastTick + TICK_INTERVAL), now);
  }

  #start(poll: PollGroup, now: number): void {
    const lag = Math.round(now - poll.dueAt);
    const inFlight = new AbortController();
    this.#pollQueue.remove(poll);
    this.#pace.recordRequest(now, poll.reference);
    this.#inFlight++;
    poll.attempts++;
    poll.inFlight = inFlight;
    const ended = (outcome: PollResult) => {
      const endedAt = this.#clock.now();
      this.#inFlight--;
      if (isAccepted(outcome)) this.#pace.onAccepted(endedAt, now, poll.reference);
      if (poll.inFlight === inFlight) {
        poll.inFlight = undefined;
        this.#handleResult(poll, outcome, lag, endedAt);
      }
      this.#tick();
    };
    this.#pollOnce(poll.reference, { signal: inFlight.signal, headers: poll.headers }).then(
      (answer) => ended({ answer, error: undefined }),
      (error: unknown) => ended({ answer: undefined, error }),
    );
  }

  #handleResult(poll: PollGroup, outcome: PollResult, lag: number, now: number): void {
    recordResult(poll, outcome, now);
    const transaction = outcome.answer?.result;
    const ending = completedWaiters(poll, outcome, now);
    for (const { wait } of ending) this.remove(wait);
    const remaining = [...poll.waits];
    const next = remaining.length === 0 ? Number.POSITIVE_INFINITY : this.#planNext(poll, now);

    // All is in order again, so a caller who hears of this may begin, end and close whatever he likes.
    const delay = remaining.some(({ dueAt: due }) => next < due) ? Math.ceil(next - now) : null;
    this.#report(pollEvent(poll, outcome, lag, delay));
    for (const { wait, how: waitResult } of ending) {
      notifyOnPoll(wait, outcome, now, null);
      this.#end(wait, waitResult, now);
    }
    for (const wait of remaining) {
      if (wait.index !== -1) notifyOnPoll(wait, outcome, now, next < wait.dueAt ? delay : null);
      if (wait.index !== -1 && transaction) wait.request.onTransaction?.(cloneTransaction(transaction));
    }
  }

  #planNext(poll: PollGroup, now: number): number {
    this.#schedulePoll(poll, nextPollAt(poll, now));
    if (poll.notified) this.#expedite(poll, now);
    poll.notified = false;
    return poll.dueAt;
  }

  #end(wait: Waiter, waitResult: WaitResult, now: number): void {
    if (waitResult.result === 'timeout' && waitResult.transaction)
      wait.request.onTransaction?.(waitResult.transaction);
    if (waitResult.result === 'final') wait.resolve(waitResult.transaction);
    else wait.reject(waitResult.result === 'failed' ? waitResult.reason : timeoutError(wait, now));
    this.#report(waitEvent(wait, waitResult.result, now));
  }

  #fail(wait: Waiter, result: WaitEvent['result'], reason: unknown, now = this.#clock.now()): void {
    if (!this.remove(wait)) return;
    wait.reject(reason);
    this.#report(waitEvent(wait, result, now));
  }
}

/**
 * A timer stands still while the machine sleeps, so a long one rings in between to let that be noticed: after 9 s, in
 * milliseconds, or after this part of a very long one.
 */
const LONGEST_UNNOTICED = 9_000;
const UNNOTICED_PART = 1 / 64;

function delayUntil(moment: number, now: number): number {
  const delay = Math.max(0, Math.ceil(moment - now));
  if (delay <= LONGEST_UNNOTICED) return delay;
  const inBetween = Math.max(Math.min(LONGEST_UNNOTICED, delay / 2), delay * UNNOTICED_PART);
  return Math.min(MAX_TIMEOUT_MS, Math.ceil(inBetween));
}

/** One timer for a whole client, set to the earliest moment that anything is due. It rings early rather than late. */
class WakeTimer {
  readonly #onWake: (moment: number) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #at = Number.POSITIVE_INFINITY;

  /** `ring` gets the moment that has been reached: that of the alarm, or an earlier one. */
  constructor(ring: (moment: number) => void) {
    this.#onWake = ring;
  }

  /** Rings at `moment`, on the clock that `now` is read from, unless it will ring before that anyway. */
  scheduleAt(moment: number, now: number): void {
    if (moment >= this.#at) return;
    clearTimeout(this.#timer);
    this.#at = moment;
    const delay = delayUntil(moment, now);
    this.#timer = setTimeout(() => {
      this.#at = Number.POSITIVE_INFINITY;
      this.#onWake(now + delay);
    }, delay);
  }

  /** Nothing is due any more: a process that has nothing else to do can end. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#at = Number.POSITIVE_INFINITY;
  }
}
